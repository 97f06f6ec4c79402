//! What only a parser can tell: which tables a text touches, and whether what looks like a call of somebody's own function is
//! one.
//!
//! The parser (`sqlparser`) never sees the text itself, but one that was put together from our own tokens: without comments, with
//! one literal for all, with lists cut short. So it cannot disagree with MySQL about where a literal or a comment ends,
//! and its work does not grow with the length of a list.

mod among;
mod cache;
mod walk;

pub use cache::ParseCache;

use self::among::{Ends, may_touch};
use self::walk::{Names, names};
use crate::lexer::Position;
use crate::normalize::simplify;
use crate::program::effects;
use crate::scan::{Reader, Segment, Tokens, has_odd_name};
use crate::{Class, Classes, Doubts, Lexer, Mode, Scan};
use memchr::memchr;
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use std::collections::{BTreeSet, HashSet};
use std::thread;

/// What a parser says of a text, all its statements in all readings taken together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub outcome: Outcome,
    /// Each once, in the order of their names. If the text was read, what a statement calls by a name of its own (WITH) is
    /// none.
    pub tables: Box<[Table]>,
    /// Names that may be stored routines, of a text that calls some; names of tables may be among them.
    pub calls: BTreeSet<Table>,
    /// A function is called, or may be, that is not the server's own.
    pub foreign_functions: bool,
}

/// From what is known best to what is known least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The text touches these tables and no others.
    Read,
    /// The parser does not know the grammar of some statement, or the text is too long or too deep for it. But the statement is of
    /// a kind that names its tables, so they are among its names, and those are the tables.
    Among,
    /// The tables are not known.
    Failed,
}

/// Names in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Table {
    /// As far as it is written.
    pub schema: Option<Box<str>>,
    /// [`Table::ANY`] stands for every table of the schema, as in DROP DATABASE.
    pub name: Box<str>,
}

impl Table {
    pub const ANY: &str = "*";
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

    /// What the names of the statement tell where the parser failed.
    fn or_among(self, statement: Lexer<'_>, ends: Ends) -> Parsed {
        let tables = if self.outcome == Outcome::Failed { may_touch(statement, ends) } else { None };
        match tables {
            Some(tables) => Parsed { outcome: Outcome::Among, tables: tables.into_iter().collect(), ..self },
            None => self,
        }
    }

    /// What cannot be read as it is may be text under ANSI_QUOTES, which does not show: `SELECT * FROM "t"`.
    fn or_under_ansi_quotes(self, mut statement: Lexer<'_>, end: Position, called: bool) -> Parsed {
        let mode = statement.mode();
        statement.set_mode(Mode { ansi_quotes: !mode.ansi_quotes, ..mode });
        let Some((rest, text)) = simplify(statement.clone(), LIMIT) else { return self };
        if rest.stands_at() != end {
            // Another statement, which has a segment of its own.
            return self;
        }
        let other = parse_statement(statement.clone(), text, called);
        if has_odd_name(statement, Tokens::NamesAndDoubleQuoted) {
            return self.with(&other).unsure();
        }
        self.with(&other)
    }

    fn and_calls_of(&self, other: &Parsed) -> Parsed {
        let calls = self.calls.union(&other.calls).cloned().collect();
        Parsed { calls, ..self.clone() }
    }

    fn with(mut self, other: &Parsed) -> Parsed {
        self.outcome = self.outcome.max(other.outcome);
        if self.outcome == Outcome::Failed {
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
    /// All names in the text, of tables, columns, routines and whatever else, in lower case. `None`: not all are known.
    pub fn names(&self, sql: &[u8]) -> Option<HashSet<Box<str>>> {
        if !self.text_is_known() || self.has_odd_names(sql) {
            return None;
        }
        let mut names = HashSet::new();
        for segment in self.readings.segments(sql) {
            for ansi_quotes in [false, true] {
                let found = effects(segment.text(sql), Mode { ansi_quotes, ..segment.mode });
                if found.truncated {
                    return None;
                }
                let tables = found.names.into_iter().chain(found.calls);
                names.extend(tables.flat_map(|table| [Some(table.name), table.schema]).flatten());
            }
        }
        Some(names)
    }

    /// The classes with what the parser knows of the functions that the scanner doubts.
    pub fn classes_with(&self, parsed: &Parsed) -> Classes {
        let mut classes = self.classes;
        if self.doubts.contains(Doubts::FUNCTIONS) && parsed.foreign_functions {
            classes.insert(if parsed.outcome == Outcome::Failed { Class::Unparsed } else { Class::Call });
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
        while let Some((rest, text)) = simplify(lexer.clone(), LIMIT) {
            let statement = std::mem::replace(&mut lexer, rest);
            count += 1;
            let mut one = parse_statement(statement.clone(), text, called);
            if one.outcome != Outcome::Read && has_double_quotes(&statement, &lexer) {
                one = one.or_under_ansi_quotes(statement, lexer.stands_at(), called);
            }
            all = Some(match all {
                Some(all) => all.with(&one),
                None => one,
            });
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

/// One statement of several, with its simplified text.
fn parse_statement(statement: Lexer<'_>, text: Option<String>, called: bool) -> Parsed {
    let names = text.as_ref().and_then(|text| read(text.clone()));
    let is_control = text.is_some_and(|text| crate::scan(text.as_bytes(), Mode::default()).class == Class::Control);
    parsed(names.as_ref(), called, is_control).or_among(statement, Ends::AtSemicolon)
}

/// Whether there are double quotes between two positions of a text.
fn has_double_quotes(statement: &Lexer<'_>, end: &Lexer<'_>) -> bool {
    let range = statement.stands_at().offset..end.stands_at().offset;
    statement.sql().get(range).is_some_and(|text| memchr(b'"', text).is_some())
}

/// One statement in one reading. Slow, and it allocates: see [`ParseCache`].
fn parse_one(sql: &[u8], mode: Mode, is_control: bool, may_call: bool) -> Parsed {
    let segment = Segment { start: Position::START, end: sql.len(), mode };
    let calls = calls(sql, segment);
    let text = simplify(segment.lexer(sql), LIMIT).and_then(|(_, text)| text);
    let names = text.and_then(read);
    let foreign = calls.iter().any(|name| names.as_ref().is_none_or(|names| !names.clears(name)));
    let calls = if !calls.is_empty() || may_call { effects(sql, mode).calls } else { BTreeSet::new() };
    Parsed { calls, ..parsed(names.as_ref(), foreign, is_control).or_among(segment.lexer(sql), Ends::WithText) }
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
