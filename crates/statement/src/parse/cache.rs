use super::{Outcome, Parsed, parse_in};
use crate::fingerprint::spelling;
use crate::{Class, Fingerprint, Mode, scan};
use memchr::memchr;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// What was parsed before, by fingerprint: for 10,000 of them, and those that are not asked for leave first.
#[derive(Debug)]
pub struct ParseCache {
    parsed: Cache<Key, Arc<Parsed>>,
}

const CAPACITY: usize = 10_000;

/// All that an answer depends on. Two texts of one fingerprint may touch and call different things: `user` and `system_user` are
/// synonyms to MySQL's digests, and `count(1)` is the server's where `count (1)` is not. And the class may come from a
/// literal: in EXECUTE IMMEDIATE, or where the text can be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    fingerprint: Fingerprint,
    spelling: u128,
    class: Class,
    mode: Mode,
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

    /// `fingerprint` must be the text's own, in this mode.
    pub fn get_or_parse(&self, fingerprint: Fingerprint, sql: &[u8], mode: Mode) -> Arc<Parsed> {
        let parsed = self.get_or_parse_in(fingerprint, sql, mode);
        if parsed.outcome == Outcome::Read || memchr(b'"', sql).is_none() {
            return parsed;
        }
        // The names in double quotes are literals to the fingerprint, so they need one in which they are not.
        let other = Mode { ansi_quotes: !mode.ansi_quotes, ..mode };
        let other = self.get_or_parse_in(crate::fingerprint(sql, other), sql, other);
        if other.outcome == Outcome::Read { other } else { parsed }
    }

    fn get_or_parse_in(&self, fingerprint: Fingerprint, sql: &[u8], mode: Mode) -> Arc<Parsed> {
        let key = Key { fingerprint, spelling: spelling(sql, mode), class: scan(sql, mode).class, mode };
        if let Some(parsed) = self.parsed.get(&key) {
            return parsed;
        }
        // Two at once parse twice: nobody waits for a text of somebody else.
        let parsed = Arc::new(parse_in(sql, mode));
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
