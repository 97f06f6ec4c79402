use super::{Outcome, Parsed, parse_all, parse_one};
use crate::fingerprint::spelling;
use crate::scan::{Readings, Tokens, has_odd_name};
use crate::{Class, Lexer, Mode, Scan};
use memchr::memchr;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// What was parsed before, by spelling: for 10,000 texts; those that are not asked for leave first.
#[derive(Debug)]
pub struct ParseCache {
    parsed: Cache<Key, Arc<Parsed>>,
}

const CAPACITY: usize = 10_000;

/// All that an answer depends on. A fingerprint would not do: `user` and `system_user` are synonyms to MySQL's digests, and
/// `count(1)` is the server's where `count (1)` is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    spelling: u128,
    mode: Mode,
    is_control: bool,
    may_call: bool,
}

impl Default for ParseCache {
    fn default() -> Self {
        Self { parsed: Cache::new(CAPACITY) }
    }
}

impl ParseCache {
    pub fn new() -> Self {
        Self::default()
    }

    /// The tables of a scanned text and its calls, from the parser where they are not known already.
    pub fn get_or_parse(&self, scan: &Scan, sql: &[u8]) -> Arc<Parsed> {
        match &scan.readings {
            Readings::TooMany => Arc::new(Parsed::unknown()),
            Readings::One(_) | Readings::Several(_) if scan.has_sequence || scan.has_odd_names(sql) => {
                Arc::new(parse_all(scan, sql).unsure())
            }
            Readings::One(mode) if scan.statements <= 1 && scan.text_is_known() => self.one(scan, sql, *mode),
            Readings::One(_) | Readings::Several(_) => Arc::new(parse_all(scan, sql)),
        }
    }

    /// A text that cannot be read as it is may be one under ANSI_QUOTES, which does not show: `SELECT * FROM "t"`.
    fn one(&self, scan: &Scan, sql: &[u8], mode: Mode) -> Arc<Parsed> {
        let is_control = scan.class == Class::Control;
        let may_call = scan.classes.contains(Class::Call);
        let key = |mode| Key { spelling: spelling(sql, mode), mode, is_control, may_call };
        let parsed = self.one_in(sql, key(mode));
        if (parsed.outcome == Outcome::Read && !may_call) || memchr(b'"', sql).is_none() {
            return parsed;
        }
        let ansi = Mode { ansi_quotes: !mode.ansi_quotes, ..mode };
        let other = self.one_in(sql, key(ansi));
        if has_odd_name(Lexer::new(sql, ansi), Tokens::NamesAndDoubleQuoted) {
            return Arc::new(Parsed::clone(&parsed).with(&other).unsure());
        }
        match (parsed.outcome, other.outcome) {
            (Outcome::Read, _) if parsed.calls == other.calls => parsed,
            (Outcome::Read, _) => Arc::new(parsed.and_calls_of(&other)),
            _ => Arc::new(Parsed::clone(&parsed).with(&other)),
        }
    }

    fn one_in(&self, sql: &[u8], key: Key) -> Arc<Parsed> {
        if let Some(parsed) = self.parsed.get(&key) {
            return parsed;
        }
        // Two at once parse twice: no session waits for a text of another.
        let parsed = Arc::new(parse_one(sql, key.mode, key.is_control, key.may_call));
        self.parsed.insert(key, Arc::clone(&parsed));
        parsed
    }

    pub fn len(&self) -> usize {
        self.parsed.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parsed.is_empty()
    }
}
