//! What only a parser can tell: which tables a text touches, and whether what looks like a call of somebody's own function is
//! one.
//!
//! The parser (`sqlparser`) never sees the text itself, but one that was put together from our own tokens: without comments, with
//! one literal for all, with lists cut short. So it cannot disagree with MySQL about where a literal or a comment ends,
//! and its work does not grow with the length of a list.

mod cache;
mod walk;

pub use cache::ParseCache;

use self::walk::{Names, names};
use crate::normalize::simplify;
use crate::program::effects;
use crate::scan::scan_hearing;
use crate::{Class, Doubt, Mode};
use memchr::memchr;
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::thread;

/// What a parser says of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub outcome: Outcome,
    /// Each once, in the order of their names. What a statement calls by a name of its own (WITH) is none.
    pub tables: Box<[Table]>,
    /// Names that may be stored routines, of a text that calls some; names of tables may be among them.
    pub calls: BTreeSet<Table>,
    /// A function is called, or may be, that is not the server's own.
    pub foreign_functions: bool,
    /// The scanner's class. If the scanner had doubts: at least `call` where they were right, and at least `unparsed` where the
    /// parser could not tell.
    pub class: Class,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    Read,
    /// The parser does not know this grammar, does not tell the tables of such a statement, or the text is too long or too
    /// deep for it: the tables are not known.
    Failed,
}

/// Names in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Table {
    /// As far as it is written.
    pub schema: Option<Box<str>>,
    pub name: Box<str>,
}

/// Slow, and it allocates: see [`ParseCache`].
///
/// A text that cannot be read as it is may be one under ANSI_QUOTES, which does not show: `SELECT * FROM "t"`.
pub fn parse(sql: &[u8], mode: Mode) -> Parsed {
    let parsed = parse_in(sql, mode);
    if parsed.outcome == Outcome::Read || memchr(b'"', sql).is_none() {
        return parsed;
    }
    let other = parse_in(sql, Mode { ansi_quotes: !mode.ansi_quotes, ..mode });
    if other.outcome == Outcome::Read { other } else { parsed }
}

fn parse_in(sql: &[u8], mode: Mode) -> Parsed {
    let mut calls = Vec::new();
    let mut hear = |name: &[u8]| calls.push(String::from_utf8_lossy(name).to_lowercase());
    let scan = scan_hearing(sql, mode, &mut Some(&mut hear));
    let may_call = !calls.is_empty() || scan.class.or_stricter(Class::Call) == scan.class;
    let called = if may_call { calls_of(sql, mode) } else { BTreeSet::new() };
    let Some(names) = simplify(sql, mode, LIMIT).and_then(read) else {
        return Parsed {
            outcome: Outcome::Failed,
            tables: Box::default(),
            calls: called,
            foreign_functions: !calls.is_empty(),
            class: if scan.doubt == Doubt::None { scan.class } else { scan.class.or_stricter(Class::Unparsed) },
        };
    };
    let foreign_functions = calls.iter().any(|name| !names.clears(name));
    let is_complete = names.is_complete || scan.class == Class::Control;
    Parsed {
        outcome: if is_complete { Outcome::Read } else { Outcome::Failed },
        tables: if is_complete { names.tables.into_iter().collect() } else { Box::default() },
        calls: called,
        foreign_functions,
        class: if foreign_functions { scan.class.or_stricter(Class::Call) } else { scan.class },
    }
}

/// Names that may be routines, whether ANSI_QUOTES is set or not, which does not show.
fn calls_of(sql: &[u8], mode: Mode) -> BTreeSet<Table> {
    let mut calls = effects(sql, mode).calls;
    if memchr(b'"', sql).is_some() {
        calls.extend(effects(sql, Mode { ansi_quotes: !mode.ansi_quotes, ..mode }).calls);
    }
    calls
}

/// Of the simplified text, in bytes. Most have some hundred.
const LIMIT: usize = 16 << 10;
/// `1 + 1 + …` becomes a tree as deep as it is long, which is walked and dropped by recursion: up to here it fits into the stack
/// of any thread, beyond it gets one of its own.
const SHORT: usize = 1 << 10;
const STACK: usize = 64 << 20;

fn read(text: String) -> Option<Names> {
    let length = text.len();
    let parse = move || Parser::parse_sql(&MySqlDialect {}, &text).ok().map(|statements| names(&statements));
    if length <= SHORT {
        return parse();
    }
    thread::Builder::new().stack_size(STACK).spawn(parse).ok()?.join().ok()?
}

#[cfg(test)]
mod tests;
