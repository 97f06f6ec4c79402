//! The facts of a text, found in one pass over its bytes.
//!
//! Every statement of the text is read: its first words say what it is (`verb`), and the rest may make it stricter (`body`). Where
//! the same bytes may be read in more than one way, because the session's sql_mode or character set is not known or changes
//! within the text, they are read in every way (`readings`). Each fact then has two sides: what **may be** true, in any reading and
//! of any statement, and what is **certainly** true, in every reading and of all statements.

mod arms;
mod body;
mod keyword;
mod program_body;
mod reader;
mod readings;
mod seen;
mod set;
mod verb;

pub(crate) use self::reader::Reader;
pub(crate) use self::readings::{Readings, Segment};

use self::readings::{Candidates, ModeChange};
use crate::lexer::{Met, Position};
use crate::locks::LockEffects;
use crate::{Charset, CharsetChange, Class, Classes, Kind, Lexer, Mode, Server, Shapes, charset};
use bitflags::bitflags;
use std::ops::Range;

/// Everything that a verdict needs to know of a text. All ranges are of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The strictest class of all statements in all readings.
    pub class: Class,
    /// The classes that any statement may have in any reading, those of statements that are never delayed left out.
    pub classes: Classes,
    /// Certainly nothing in the text is ever delayed: control, the SETs and SELECT @@… of a connect, SELECTs without a table
    /// whose functions are all on the written list.
    pub free: bool,
    /// The shapes that some statement may have.
    pub shapes: Shapes,
    /// The shapes that every statement certainly has.
    pub certain_shapes: Shapes,
    pub transaction: TransactionEffect,
    /// The first statement is ROLLBACK, not TO a savepoint.
    pub rolls_back: bool,
    /// The first statement is SET, whose effect on a transaction shows in the flags of its reply.
    pub begins_with_set: bool,
    /// A transaction may begin or end in the text, with a data statement behind that: `COMMIT; BEGIN; UPDATE …`.
    pub crosses_boundary: bool,
    /// Some statement may commit what was open before it: DDL and the others of the manual's list.
    pub commits_implicitly: bool,
    /// The number of statements, empty ones aside. It stops at 255.
    pub statements: u8,
    /// An error may be that of another statement than the first: there are several, or something behind a `;` that is none.
    pub several: bool,
    /// What stands before the first token: white space, `;` and comments. Empty where two readings of the text differ.
    pub leading: Range<usize>,
    /// What stands after the last token of the last statement: white space, `;` and comments.
    pub trailing: Range<usize>,
    /// The inside of the first plain comment between the first token and the last: `insert /* gh-ost … */ ignore into`.
    pub infix: Option<Range<usize>>,
    /// Why a fact is not certain.
    pub doubts: Doubts,
    /// PREPARE, EXECUTE or DEALLOCATE as the only statement of the text.
    pub named: Option<NamedStatement>,
    /// Some statement is a PREPARE in some reading.
    pub prepares: bool,
    /// The name in the last USE x, with its quotes if it has any. Only if the whole text succeeds does it count.
    pub schema: Option<Range<usize>>,
    /// The default schema may change within the text, for its further statements or for those behind it.
    pub changes_schema: bool,
    /// Some statement may create, change or rename a view, a routine or a trigger.
    pub defines: Defines,
    /// What the text sets the client's character set to.
    pub charset: Option<CharsetChange>,
    /// A SET sets several things.
    sets_several: bool,
    /// What it does to the session's sql_mode.
    pub sql_mode: SqlModeChange,
    /// GET_LOCK, LOCK TABLES, FLUSH … WITH READ LOCK and the like: such a text is at least `write`.
    pub takes_lock: bool,
    /// What the text does to the locks that no status flag shows.
    pub locks: LockEffects,
    /// Some statement may take or release such a lock.
    pub(crate) may_lock: bool,
    /// Some statement is a KILL.
    pub(crate) may_kill: bool,
    /// A routine, trigger or event is created, whose body may go on behind a `;`.
    pub(crate) has_program: bool,
    /// A sequence is used, which is a table that the parser does not know.
    pub(crate) has_sequence: bool,
    pub(crate) readings: Readings,
}

bitflags! {
    /// Why a fact of a text is not certain.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct Doubts: u8 {
        /// The bytes mean different things in different modes or character sets.
        const READINGS = 1;
        /// The text is longer than what is inspected.
        const CUT = 1 << 1;
        /// A word before `(` that is neither a keyword nor one of the server's own functions: the parser may know better.
        const FUNCTIONS = 1 << 2;
        /// A routine is called, whose statements are not in the text.
        const ROUTINE = 1 << 3;
        /// The text is not here: EXECUTE of a string that was built by the server, or a statement that no reader knows.
        const UNSEEN = 1 << 4;
        /// The tables are not known, or only that they are among its names. A scan never says so: it is found when a rule asks.
        const TABLES = 1 << 5;
    }
}

impl Doubts {
    /// Names for metrics and messages.
    pub const NAMES: [(&'static str, Doubts); 6] = [
        ("readings", Doubts::READINGS),
        ("cut", Doubts::CUT),
        ("functions", Doubts::FUNCTIONS),
        ("routine", Doubts::ROUTINE),
        ("unseen", Doubts::UNSEEN),
        ("tables", Doubts::TABLES),
    ];
}

/// What the last transaction control of a text does, if all of the text succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TransactionEffect {
    #[default]
    None,
    Begins,
    Ends,
}

/// The mode in which a text has the facts that were found. `None`: in every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeDependence {
    charset: Option<Charset>,
    no_backslash_escapes: Option<bool>,
}

impl ModeDependence {
    #[inline]
    pub fn holds_in(&self, mode: Mode) -> bool {
        self.charset.is_none_or(|charset| charset == mode.charset)
            && self.no_backslash_escapes.is_none_or(|escapes| escapes == mode.no_backslash_escapes)
    }

    /// In every mode.
    pub fn is_none(&self) -> bool {
        *self == ModeDependence::default()
    }
}

/// Routines may set the sql_mode too, but only for as long as they run (checked).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SqlModeChange {
    #[default]
    None,
    /// By a SET.
    Set,
    /// The text does not show it.
    Unknown,
}

/// What a text defines that other statements may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Defines {
    #[default]
    Nothing,
    Triggers,
    /// Also new names for tables, which take their triggers along.
    Views,
    Routines,
}

/// Text that names another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedStatement {
    Prepare {
        name: Range<usize>,
        from: Source,
    },
    /// The class is `unparsed`; whoever remembers what was prepared under the name knows better.
    Execute {
        name: Range<usize>,
    },
    Deallocate {
        name: Range<usize>,
    },
}

/// Where the text that is prepared comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A string with its quotes: see [`unquote`](crate::unquote).
    Literal(Range<usize>),
    /// A variable or, in MariaDB, any expression.
    Variable,
}

/// One pass where there is one reading; no allocation there; never panics.
pub fn scan(sql: &[u8], mode: Mode) -> Scan {
    let mut scan = Scan::of_nothing(sql, mode);
    let read = Reader::new(sql, Position::START, mode, &mut scan).run(&mut None);
    let candidates = Candidates::at_start(sql, mode, read.met);
    if candidates.is_some() || read.stopped.is_some() {
        return finished(all_readings(sql, mode, candidates), sql, mode);
    }
    if mode.charset.is_multibyte() {
        scan.forget_comments();
    }
    scan.finish(sql);
    scan
}

#[inline(never)]
fn finished(mut scan: Scan, sql: &[u8], mode: Mode) -> Scan {
    if mode.charset.is_multibyte() {
        scan.forget_comments();
    }
    scan.finish(sql);
    scan
}

/// Like [`scan`], where the sql_mode is not known.
pub fn scan_in_any_sql_mode(sql: &[u8], mode: Mode) -> Scan {
    let candidates = Candidates::after(sql, mode, ModeChange { sql_mode: true, charset: None });
    if candidates.number() == 1 {
        return scan(sql, mode);
    }
    finished(all_readings(sql, mode, Some(candidates)), sql, mode)
}

/// Bytes that one text is read at the most, all readings taken together, if they are more than two.
const BUDGET: usize = 512 << 10;
const MOST_SEGMENTS: usize = 128;

/// A text with more than one reading: every segment is read, and the facts of all are merged.
#[inline(never)]
fn all_readings(sql: &[u8], mode: Mode, candidates: Option<Candidates>) -> Scan {
    let mut found: Vec<Segment> = Vec::new();
    let mut open: Vec<(Position, Mode)> = match candidates {
        Some(candidates) => candidates.modes().map(|mode| (Position::START, mode)).collect(),
        None => vec![(Position::START, mode)],
    };
    let (mut merged, mut known, mut bytes): (Option<Scan>, _, _) = (None, open.clone(), 0_usize);
    let mut is_split = false;
    while let Some((start, mode)) = open.pop() {
        bytes += sql.len() - start.offset.min(sql.len());
        if known.len() > MOST_SEGMENTS || (found.len() >= 2 && bytes > BUDGET) {
            return Scan::of_too_many(sql, mode);
        }
        let mut scan = Scan::of_nothing(sql, mode);
        let read = Reader::new(sql, start, mode, &mut scan).run(&mut None);
        let end = read.stopped.map_or(sql.len(), |stopped| stopped.at.offset);
        found.push(Segment { start, end, mode });
        if let Some(stopped) = read.stopped {
            if stopped.too_often {
                return Scan::of_too_many(sql, mode);
            }
            let rest = sql.get(stopped.at.offset..).unwrap_or_default();
            let candidates = Candidates::after(rest, stopped.mode, stopped.change);
            is_split |= candidates.number() > 1;
            for next in candidates.modes() {
                if !known.contains(&(stopped.at, next)) {
                    known.push((stopped.at, next));
                    open.push((stopped.at, next));
                }
            }
        }
        match &mut merged {
            None => merged = Some(scan),
            Some(merged) => merged.merge(scan, start),
        }
    }
    let mut scan = merged.unwrap_or_else(|| Scan::of_nothing(sql, mode));
    if is_split {
        scan.doubts |= Doubts::READINGS;
    }
    scan.readings = Readings::Several(found.into());
    scan
}

impl Scan {
    /// Before anything of the text is read.
    pub(crate) fn of_nothing(sql: &[u8], mode: Mode) -> Scan {
        Scan {
            class: Class::Control,
            classes: Classes::NONE,
            free: true,
            shapes: Shapes::empty(),
            certain_shapes: Shapes::all(),
            transaction: TransactionEffect::None,
            rolls_back: false,
            begins_with_set: false,
            crosses_boundary: false,
            commits_implicitly: false,
            statements: 0,
            several: false,
            leading: 0..sql.len(),
            trailing: sql.len()..sql.len(),
            infix: None,
            doubts: Doubts::empty(),
            named: None,
            prepares: false,
            schema: None,
            changes_schema: false,
            defines: Defines::Nothing,
            charset: None,
            sets_several: false,
            sql_mode: SqlModeChange::None,
            takes_lock: false,
            locks: LockEffects::default(),
            may_lock: false,
            may_kill: false,
            has_program: false,
            has_sequence: false,
            readings: Readings::One(mode),
        }
    }

    /// A text that would take too long to be read in every way.
    fn of_too_many(sql: &[u8], mode: Mode) -> Scan {
        Scan {
            class: Class::Ddl,
            classes: Classes::ANY,
            free: false,
            shapes: Shapes::all(),
            certain_shapes: Shapes::empty(),
            crosses_boundary: true,
            commits_implicitly: true,
            statements: u8::MAX,
            leading: 0..0,
            trailing: sql.len()..sql.len(),
            doubts: Doubts::READINGS,
            prepares: true,
            changes_schema: true,
            defines: Defines::Routines,
            charset: Some(CharsetChange::Unknown),
            sets_several: true,
            sql_mode: SqlModeChange::Unknown,
            takes_lock: true,
            may_lock: true,
            may_kill: true,
            readings: Readings::TooMany,
            ..Scan::of_nothing(sql, mode)
        }
    }

    /// Adds another segment, which may stand beside this one or behind it.
    fn merge(&mut self, other: Scan, start: Position) {
        let beside = start == Position::START;
        if beside && !self.tells_the_same_as(&other) {
            self.doubts |= Doubts::READINGS;
        }
        self.class = self.class.or_stricter(other.class);
        self.classes = self.classes.union(other.classes);
        // A transaction that ends in one segment may go on in another.
        let boundary = |scan: &Scan| scan.transaction != TransactionEffect::None || scan.commits_implicitly;
        self.crosses_boundary |=
            other.crosses_boundary || (!beside && (boundary(self) || boundary(&other)) && !(self.free && other.free));
        self.free &= other.free;
        self.shapes |= other.shapes;
        self.certain_shapes &= other.certain_shapes;
        if other.transaction != TransactionEffect::None {
            self.transaction = other.transaction;
        }
        self.commits_implicitly |= other.commits_implicitly;
        self.rolls_back &= other.rolls_back || !beside;
        self.begins_with_set &= other.begins_with_set || !beside;
        self.statements = if beside {
            self.statements.max(other.statements)
        } else {
            self.statements.saturating_add(other.statements)
        };
        if !beside || (&self.leading, &self.trailing, &self.infix) != (&other.leading, &other.trailing, &other.infix) {
            self.forget_comments();
        }
        self.doubts |= other.doubts;
        if !beside || self.named != other.named {
            self.named = None;
        }
        if !beside || self.schema != other.schema {
            self.schema = None;
        }
        self.changes_schema |= other.changes_schema;
        self.charset = match (self.charset, other.charset) {
            (one, two) if one == two => one,
            (one, None) | (None, one) if !beside => one,
            _ => Some(CharsetChange::Unknown),
        };
        self.prepares |= other.prepares;
        self.defines = self.defines.max(other.defines);
        self.sets_several |= other.sets_several;
        self.sql_mode = self.sql_mode.max(other.sql_mode);
        self.takes_lock |= other.takes_lock;
        self.may_lock |= other.may_lock;
        self.may_kill |= other.may_kill;
        self.has_program |= other.has_program;
        self.has_sequence |= other.has_sequence;
    }

    /// Whether another reading of the same text makes no difference.
    fn tells_the_same_as(&self, other: &Scan) -> bool {
        let work = |scan: &Scan| (scan.class, scan.classes, scan.free, scan.shapes);
        let session =
            |scan: &Scan| (scan.transaction, scan.changes_schema, scan.charset, scan.takes_lock, scan.may_kill);
        work(self) == work(other)
            && session(self) == session(other)
            && (&self.named, &self.schema) == (&other.named, &other.schema)
    }

    /// What follows from the facts of all segments.
    fn finish(&mut self, sql: &[u8]) {
        self.several = self.statements > 1
            || ((self.charset.is_some() || self.changes_schema || self.may_lock)
                && memchr::memchr(b';', sql).is_some());
        if self.may_lock {
            self.locks = self.find_locks(sql);
            self.takes_lock |= self.locks.takes_any();
        }
        if self.takes_lock {
            self.free = false;
            self.class = self.class.or_stricter(Class::Write);
            if !self.classes.iter().any(Class::locks_or_writes) {
                self.classes.insert(Class::Write);
            }
        }
        if self.classes.contains(Class::Call) {
            self.doubts |= Doubts::ROUTINE;
        }
        if self.classes.contains(Class::Unparsed) {
            self.doubts |= Doubts::UNSEEN;
        }
        if self.doubts.contains(Doubts::UNSEEN) {
            self.shapes = Shapes::all();
            self.certain_shapes = Shapes::empty();
        }
    }

    /// Whether every statement of the text is here, whatever the ways to read it.
    pub(crate) fn text_is_known(&self) -> bool {
        !self.doubts.intersects(Doubts::CUT | Doubts::UNSEEN) && !matches!(self.readings, Readings::TooMany)
    }

    fn forget_comments(&mut self) {
        self.leading = 0..0;
        self.trailing = self.trailing.end..self.trailing.end;
        self.infix = None;
    }

    /// Whether a name in the text is another for the server than its bytes say, because of its character set.
    pub(crate) fn has_odd_names(&self, sql: &[u8]) -> bool {
        let is_odd = |segment: Segment| has_odd_name(segment.lexer(sql), Tokens::Names);
        let is_file = charset::mentions_file(sql);
        let may_be_odd = |segment: &Segment| !sql.is_ascii() || is_file || segment.mode.charset == Charset::Swe7;
        self.readings.segments(sql).filter(may_be_odd).any(is_odd)
    }

    /// Whether an error means that nothing of the text has had an effect. MariaDB has compound statements outside of routines,
    /// and an unseen text may have been one. A SET of several things may have set some.
    pub fn fails_whole(&self) -> bool {
        let is_compound = self.classes.contains(Class::Unparsed) && !matches!(self.mode().server, Server::MySql(_));
        !self.several && !self.sets_several && !is_compound && !matches!(self.readings, Readings::TooMany)
    }

    /// What the facts of the text depend on, beside its bytes.
    pub fn depends_on(&self, sql: &[u8]) -> ModeDependence {
        let mode = self.mode();
        let mut charsets = self.readings.segments(sql).map(|segment| segment.mode.charset);
        let every_charset = mode.charset == Charset::Unknown || charsets.any(|charset| charset != mode.charset);
        let is_plain = sql.is_ascii() && !readings::has_swe7_letters(sql);
        ModeDependence {
            charset: (!every_charset && !is_plain).then_some(mode.charset),
            no_backslash_escapes: memchr::memchr(b'\\', sql).is_some().then_some(mode.no_backslash_escapes),
        }
    }

    /// The mode of the whole text. `None`: it has several readings.
    pub fn only_mode(&self) -> Option<Mode> {
        match &self.readings {
            Readings::One(mode) => Some(*mode),
            Readings::Several(_) | Readings::TooMany => None,
        }
    }

    /// The mode in which the text, or its first part, is read.
    pub fn mode(&self) -> Mode {
        match &self.readings {
            Readings::One(mode) => *mode,
            Readings::Several(segments) => segments.first().map(|segment| segment.mode).unwrap_or_default(),
            Readings::TooMany => Mode::default(),
        }
    }

    /// Whether a fact of it differs between what may be and what is certain.
    pub fn is_doubtful(&self) -> bool {
        !self.doubts.is_empty()
    }
}

/// Tokens that are searched for odd names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tokens {
    Names,
    /// Also strings in double quotes, which are names under ANSI_QUOTES.
    NamesAndDoubleQuoted,
}

/// Whether one of the tokens is another name for the server than its bytes say.
pub(crate) fn has_odd_name(mut lexer: Lexer<'_>, searched: Tokens) -> bool {
    let charset = lexer.mode().charset;
    std::iter::from_fn(move || lexer.next().map(|token| (token.kind, lexer.text(&token)))).any(|(kind, text)| {
        let is_name = match kind {
            Kind::Word | Kind::QuotedWord | Kind::Variable => true,
            Kind::String => searched == Tokens::NamesAndDoubleQuoted && text.first() == Some(&b'"'),
            Kind::Number | Kind::Symbol(_) => false,
        };
        is_name && !charset.keeps_name(text)
    })
}

#[cfg(test)]
mod tests;
