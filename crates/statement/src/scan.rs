//! What a text asks for, in one pass over its bytes.
//!
//! Every statement of the text is read: its first words say what it is (`verb`), and the rest may make it stricter (`body`). Where
//! the same bytes may be read in more than one way, because the session's sql_mode or character set is not known or changes
//! within the text, all of them are, and the stricter stands.

mod arms;
mod body;
mod keyword;
mod seen;
mod set;
mod verb;
mod ways;

use self::body::Found;
use self::verb::{Rest, Verb};
use self::ways::{Changes, Way, Ways};
use crate::literal::unescaped;
use crate::locks;
use crate::starts::SEMICOLON;
use crate::{Charset, CharsetChange, Class, Extent, Lexer, Mode, Shapes, Token};
use std::ops::Range;

/// Everything that a verdict needs to know of a text. All ranges are of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The strictest of all statements of the text.
    pub class: Class,
    /// Nothing in the text is ever delayed: control, the SETs and SELECT @@… of a connect, SELECTs without a table whose
    /// functions are all on the written list.
    pub free: bool,
    pub shapes: Shapes,
    pub transaction: TransactionEffect,
    /// A transaction begins or ends in the text, and a data statement follows: `COMMIT; BEGIN; UPDATE …`.
    pub crosses_boundary: bool,
    /// Some statement commits what was open before it: DDL and the others of the manual's list.
    pub commits_implicitly: bool,
    /// How many, empty ones aside. It stops at 255.
    pub statements: u8,
    /// What stands before the first token: white space, `;` and comments. Empty where two readings of the text differ.
    pub leading: Range<usize>,
    /// What stands after the last token of the last statement: white space, `;` and comments.
    pub trailing: Range<usize>,
    /// The inside of the first plain comment between the first token and the last: `insert /* gh-ost … */ ignore into`.
    pub infix: Option<Range<usize>>,
    pub doubt: Doubt,
    /// PREPARE, EXECUTE or DEALLOCATE as the only statement of the text.
    pub named: Option<NamedStatement>,
    /// The name in USE x as the only statement, with its quotes if it has any.
    pub schema: Option<Range<usize>>,
    /// What the text sets the client's character set to.
    pub charset: Option<CharsetChange>,
    /// GET_LOCK, LOCK TABLES, FLUSH … WITH READ LOCK and the like: such a text is at least `write`.
    pub takes_lock: bool,
}

/// What the last transaction control of a text does, if all of the text succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TransactionEffect {
    #[default]
    None,
    Begins,
    Ends,
}

/// What the scanner cannot settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Doubt {
    #[default]
    None,
    /// A word before `(` that is neither a keyword nor one of the server's own functions: ask the parser.
    Functions,
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

impl Doubt {
    fn or(self, other: Doubt) -> Doubt {
        match self {
            Doubt::None => other,
            Doubt::Functions => Doubt::Functions,
        }
    }
}

/// One pass, no allocation, never panics.
pub fn scan(sql: &[u8], mode: Mode) -> Scan {
    scan_hearing(sql, mode, &mut None)
}

/// Hears the name of every call that may be of somebody's own function, in order, without quotes.
pub(crate) type Listener<'a> = Option<&'a mut dyn FnMut(&[u8])>;

/// As [`scan`], with somebody listening.
pub(crate) fn scan_hearing(sql: &[u8], mode: Mode, calls: &mut Listener<'_>) -> Scan {
    let usual = Way { mode, reading: Default::default() };
    let mut scan = Scan::of_nothing(sql);
    let first = Reader::new(sql, usual, Nesting::Outer, &mut scan).run(calls);
    if let Some(ways) = Ways::of(sql, mode, first.changes) {
        match ways.bounded(sql) {
            Some(ways) => {
                for way in ways {
                    let mut other = Scan::of_nothing(sql);
                    Reader::new(sql, way, Nesting::Outer, &mut other).run(calls);
                    scan.merge(other);
                }
            }
            None => scan.forget(),
        }
    }
    if mode.charset == Charset::Ambiguous {
        scan.forget_comments();
    }
    if scan.takes_lock || (!first.calls_show && locks::effect(sql, mode).takes_any()) {
        scan.takes_lock = true;
        scan.free = false;
        scan.class = scan.class.or_stricter(Class::Write);
    }
    scan
}

impl Scan {
    /// Before anything of the text is read.
    fn of_nothing(sql: &[u8]) -> Scan {
        Scan {
            class: Class::Control,
            free: true,
            shapes: Shapes::empty(),
            transaction: TransactionEffect::None,
            crosses_boundary: false,
            commits_implicitly: false,
            statements: 0,
            leading: 0..sql.len(),
            trailing: sql.len()..sql.len(),
            infix: None,
            doubt: Doubt::None,
            named: None,
            schema: None,
            charset: None,
            takes_lock: false,
        }
    }

    /// What can be said if either reading may be the server's.
    fn merge(&mut self, other: Scan) {
        self.class = self.class.or_stricter(other.class);
        self.free &= other.free;
        self.shapes |= other.shapes;
        if self.transaction != other.transaction {
            self.transaction = TransactionEffect::None;
        }
        self.crosses_boundary |= other.crosses_boundary;
        self.commits_implicitly |= other.commits_implicitly;
        self.statements = self.statements.max(other.statements);
        if (&self.leading, &self.trailing, &self.infix) != (&other.leading, &other.trailing, &other.infix) {
            self.forget_comments();
        }
        self.doubt = self.doubt.or(other.doubt);
        if self.named != other.named {
            self.named = None;
        }
        if self.schema != other.schema {
            self.schema = None;
        }
        if self.charset != other.charset {
            self.charset = Some(CharsetChange::Unknown);
        }
        self.takes_lock |= other.takes_lock;
    }

    /// What can be said of a text that would take too long to be read in every way.
    fn forget(&mut self) {
        self.class = Class::Ddl;
        self.free = false;
        self.transaction = TransactionEffect::None;
        self.crosses_boundary = true;
        self.commits_implicitly = true;
        self.named = None;
        self.schema = None;
        self.charset = Some(CharsetChange::Unknown);
        self.forget_comments();
    }

    fn forget_comments(&mut self) {
        self.leading = 0..0;
        self.trailing = self.trailing.end..self.trailing.end;
        self.infix = None;
    }
}

/// Whether a text is itself the literal of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Outer,
    Literal,
}

/// Reads all statements of a text in one way.
#[derive(Debug)]
struct Reader<'a> {
    lexer: Lexer<'a>,
    /// Written where it is wanted: it is too large to be handed around for every text.
    scan: &'a mut Scan,
    nesting: Nesting,
    last_end: usize,
    /// A statement so far began or ended a transaction.
    passed_boundary: bool,
    /// What the statements so far may have changed for those that follow.
    changes: Changes,
}

struct Read {
    changes: Changes,
    /// Of every statement all tokens were read for calls, so that none takes a lock but by a call that was seen: those that
    /// take one by themselves do not begin like that.
    calls_show: bool,
}

impl<'a> Reader<'a> {
    fn new(sql: &'a [u8], way: Way, nesting: Nesting, scan: &'a mut Scan) -> Self {
        let lexer = Lexer::reading(sql, way.mode, way.reading);
        Self { lexer, scan, nesting, last_end: 0, passed_boundary: false, changes: Changes::default() }
    }

    fn run(&mut self, calls: &mut Listener<'_>) -> Read {
        let mut changes = Changes::default();
        let mut calls_show = true;
        while let Some(first) = self.next() {
            if first.kind == SEMICOLON {
                continue;
            }
            if self.scan.statements == 0 {
                let code = self.lexer.comments().first_code;
                self.scan.leading = 0..code.map_or(first.start, |code| code.min(first.start));
                self.lexer.comments().wanted = true;
            }
            // What a statement changes matters only to those behind it.
            changes = self.changes;
            self.scan.statements = self.scan.statements.saturating_add(1);
            let verb = match self.usual_verb(&first) {
                Some(verb) => verb,
                None => self.verb(first),
            };
            calls_show &= verb.from.is_some_and(|from| from.start == first.start);
            let mut nobody = None;
            let calls = if verb.rest == Rest::Irrelevant { &mut nobody } else { &mut *calls };
            let (found, end) = body::read(&mut self.lexer, verb.from, verb.rest.kept(), calls);
            self.last_end = self.last_end.max(end);
            self.settle(&verb, &found);
        }
        changes.add(self.lexer.met());
        self.finish();
        Read { changes, calls_show }
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.lexer.next()?;
        if token.kind != SEMICOLON {
            self.last_end = token.end;
        }
        Some(token)
    }

    /// Adds a whole statement to what the text is.
    fn settle(&mut self, verb: &Verb, found: &Found) {
        let class = class_of(verb, found);
        let matters = verb.rest != Rest::Irrelevant;
        let doubt = matters && found.foreign && class.or_stricter(Class::Call) != class;
        let is_free = !doubt
            && match verb.rest {
                Rest::Query => class == Class::Read && !found.table && !found.heavy && !found.pattern,
                Rest::Irrelevant | Rest::Change | Rest::Calls | Rest::Values | Rest::Show | Rest::Explain => {
                    class == Class::Control
                }
            };
        let scan = &mut *self.scan;
        scan.class = scan.class.or_stricter(class);
        scan.free &= is_free;
        if doubt {
            scan.doubt = Doubt::Functions;
        }
        scan.shapes |= found.shapes;
        scan.takes_lock |= verb.takes_lock || found.takes_lock;
        scan.commits_implicitly |= verb.commits;
        scan.crosses_boundary |= self.passed_boundary && !is_free;
        if verb.transaction != TransactionEffect::None {
            scan.transaction = verb.transaction;
        }
        self.passed_boundary |= verb.commits || verb.transaction != TransactionEffect::None;
    }

    fn finish(&mut self) {
        let in_code_comment = self.lexer.in_code_comment();
        let length = self.lexer.sql().len();
        let comments = self.lexer.comments();
        let after = self.last_end.max(comments.last_code_end).min(length);
        let found = comments.found.filter(|(start, _)| *start < self.last_end);
        let scan = &mut *self.scan;
        if scan.statements > 0 {
            scan.trailing = after..length;
            scan.infix = found.map(|(start, end)| start..end);
        } else if let Some(code) = comments.first_code {
            scan.leading = 0..code;
        }
        if in_code_comment {
            scan.trailing = length..length;
        }
        if scan.statements != 1 {
            scan.named = None;
            scan.schema = None;
        }
        if self.lexer.extent() == Extent::Cut {
            scan.class = scan.class.or_stricter(Class::Write);
            scan.free = false;
            scan.trailing = length..length;
            scan.named = None;
            scan.schema = None;
        }
    }

    /// What the text in a string literal is, if it can be read without much ado.
    fn scan_literal(&self, literal: &Token) -> Option<Scan> {
        if self.nesting == Nesting::Literal {
            return None;
        }
        let mut text = [0; 1024];
        let mut length = 0;
        for byte in unescaped(self.lexer.text(literal), self.lexer.mode()) {
            *text.get_mut(length)? = byte;
            length += 1;
        }
        let mode = Mode { extent: Extent::Whole, ..self.lexer.mode() };
        let way = Way { mode, reading: Default::default() };
        let text = text.get(..length)?;
        let mut scan = Scan::of_nothing(text);
        Reader::new(text, way, Nesting::Literal, &mut scan).run(&mut None);
        Some(scan)
    }
}

fn class_of(verb: &Verb, found: &Found) -> Class {
    let mut class = verb.class;
    let raise = |class: Class, when: bool, to: Class| if when { class.or_stricter(to) } else { class };
    match verb.rest {
        Rest::Irrelevant => return class,
        Rest::Change | Rest::Calls => {}
        Rest::Query => class = raise(class, found.locking || found.writes, Class::Write),
        Rest::Values => {
            class = raise(class, found.table || found.heavy || found.pattern || found.foreign, Class::Read);
            class = raise(class, found.locking || found.writes, Class::Write);
        }
        Rest::Show => {
            let works = found.queries > 0 || found.heavy || found.foreign || (found.pattern && found.filtered);
            class = raise(class, works, Class::Read);
            class = raise(class, found.locking, Class::Write);
        }
        Rest::Explain => {
            class = raise(class, found.queries > 1 || found.foreign, Class::Read);
            class = raise(class, found.locking && found.queries > 1, Class::Write);
        }
    }
    raise(class, found.qualified, Class::Call)
}

#[cfg(test)]
mod tests;
