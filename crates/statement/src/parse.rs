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
use crate::lexer::Position;
use crate::normalize::simplify;
use crate::program::effects;
use crate::scan::{Reader, Segment};
use crate::{Class, Classes, Doubts, Mode, Scan};
use memchr::memchr;
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::thread;

/// What a parser says of a text, all its statements in all readings taken together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub outcome: Outcome,
    /// Each once, in the order of their names. What a statement calls by a name of its own (WITH) is none.
    pub tables: Box<[Table]>,
    /// Names that may be stored routines, of a text that calls some; names of tables may be among them.
    pub calls: BTreeSet<Table>,
    /// A function is called, or may be, that is not the server's own.
    pub foreign_functions: bool,
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

impl Parsed {
    /// Nothing is known.
    pub fn unknown() -> Parsed {
        Parsed { outcome: Outcome::Failed, tables: Box::default(), calls: BTreeSet::new(), foreign_functions: true }
    }

    /// The names are not what they seem.
    fn unsure(self) -> Parsed {
        Parsed { outcome: Outcome::Failed, tables: Box::default(), ..self }
    }

    fn with(mut self, other: &Parsed) -> Parsed {
        if self.outcome == Outcome::Failed || other.outcome == Outcome::Failed {
            self.outcome = Outcome::Failed;
            self.tables = Box::default();
        } else {
            let mut tables = self.tables.into_vec();
            tables.extend(other.tables.iter().cloned());
            tables.sort_unstable();
            tables.dedup();
            self.tables = tables.into();
        }
        self.calls.extend(other.calls.iter().cloned());
        self.foreign_functions |= other.foreign_functions;
        self
    }
}

impl Scan {
    /// The classes with what the parser knows of the functions that the scanner doubts.
    pub fn classes_with(&self, parsed: &Parsed) -> Classes {
        let mut classes = self.classes;
        if self.doubts.contains(Doubts::FUNCTIONS) && parsed.foreign_functions {
            classes.insert(if parsed.outcome == Outcome::Read { Class::Call } else { Class::Unparsed });
        }
        classes
    }
}

/// Statements of one text that are parsed, in all readings together.
const MOST_STATEMENTS: usize = 64;

/// The statements of a text with several of them or several readings. Slow, and it allocates.
fn parse_all(scan: &Scan, sql: &[u8]) -> Parsed {
    let mut all: Option<Parsed> = None;
    let mut count = 0;
    for segment in scan.readings.segments(sql) {
        let called = !calls(sql, segment).is_empty();
        let mut lexer = segment.lexer(sql);
        while let Some((rest, text)) = simplify(lexer, LIMIT) {
            lexer = rest;
            count += 1;
            let names = text.as_ref().and_then(|text| read(text.clone()));
            let is_control =
                text.is_some_and(|text| crate::scan(text.as_bytes(), Mode::default()).class == Class::Control);
            let one = parsed(names.as_ref(), called, is_control);
            all = Some(all.map_or_else(|| one.clone(), |all| all.with(&one)));
            if count > MOST_STATEMENTS {
                return Parsed::unknown();
            }
        }
    }
    match all {
        Some(parsed) if scan.text_is_known() => {
            let calls = scan.readings.segments(sql).flat_map(|segment| calls_of(segment.text(sql), segment.mode));
            Parsed { calls: calls.collect(), ..parsed }
        }
        Some(_) | None => Parsed::unknown(),
    }
}

/// One statement in one reading. Slow, and it allocates: see [`ParseCache`].
fn parse_one(sql: &[u8], mode: Mode, is_control: bool, may_call: bool) -> Parsed {
    let segment = Segment { start: Position::START, end: sql.len(), mode };
    let calls = calls(sql, segment);
    let text = simplify(segment.lexer(sql), LIMIT).and_then(|(_, text)| text);
    let names = text.and_then(read);
    let foreign = calls.iter().any(|name| names.as_ref().is_none_or(|names| !names.clears(name)));
    let calls = if !calls.is_empty() || may_call { calls_of(sql, mode) } else { BTreeSet::new() };
    Parsed { calls, ..parsed(names.as_ref(), foreign, is_control) }
}

/// Names that may be routines, whether ANSI_QUOTES is set or not, which does not show.
fn calls_of(sql: &[u8], mode: Mode) -> BTreeSet<Table> {
    let mut calls = effects(sql, mode).calls;
    if memchr(b'"', sql).is_some() {
        calls.extend(effects(sql, Mode { ansi_quotes: !mode.ansi_quotes, ..mode }).calls);
    }
    calls
}

fn parsed(names: Option<&Names>, foreign_functions: bool, is_control: bool) -> Parsed {
    let unknown = Parsed { foreign_functions, ..Parsed::unknown() };
    match names.filter(|names| names.is_complete || is_control) {
        Some(names) => Parsed { outcome: Outcome::Read, tables: names.tables.iter().cloned().collect(), ..unknown },
        None if is_control => Parsed { outcome: Outcome::Read, ..unknown },
        None => unknown,
    }
}

/// The names of what may be calls of stored or loaded functions.
fn calls(sql: &[u8], segment: Segment) -> Vec<String> {
    let mut calls = Vec::new();
    let mut hear = |name: &[u8]| calls.push(String::from_utf8_lossy(name).to_lowercase());
    let text = sql.get(..segment.end).unwrap_or(sql);
    let mut scan = Scan::of_nothing(text, segment.mode);
    Reader::new(text, segment.start, segment.mode, &mut scan).run(&mut Some(&mut hear));
    calls
}

/// Of the simplified text, in bytes. Most have some hundred.
const LIMIT: usize = 16 << 10;
/// `1 + 1 + …` becomes a tree as deep as it is long, which is walked and dropped by recursion: up to here it fits into the stack
/// of any thread, beyond it gets one of its own.
const SHORT: usize = 1 << 10;
const STACK: usize = 64 << 20;

/// Whether a definition may name tables that the walk does not visit: LIKE, REFERENCES, and UNION of MERGE tables.
fn defines_by_others(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_any = |word: &str, any: &[&str]| any.iter().any(|one| word.eq_ignore_ascii_case(one));
    let defines = words.next().is_some_and(|first| is_any(first, &["CREATE", "ALTER"]));
    defines && words.any(|word| is_any(word, &["LIKE", "REFERENCES", "UNION", "EXCHANGE"]))
}

fn read(text: String) -> Option<Names> {
    let length = text.len();
    let hides = defines_by_others(&text);
    let parse = move || {
        let mut names = names(&Parser::parse_sql(&MySqlDialect {}, &text).ok()?);
        names.is_complete &= !hides;
        Some(names)
    };
    if length <= SHORT {
        return parse();
    }
    thread::Builder::new().stack_size(STACK).spawn(parse).ok()?.join().ok()?
}

#[cfg(test)]
mod tests;
