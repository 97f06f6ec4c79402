//! Reads the statements of a text in one mode, one after the other.

use super::body::{self, Found, Start};
use super::readings::{Candidates, ModeChange};
use super::verb::{Rest, Verb};
use super::{
    CharsetChange, Class, Classes, Defines, Doubts, Met, Mode, Position, Scan, Shapes, SqlModeChange, TransactionEffect,
};
use crate::literal::unescaped;
use crate::starts::SEMICOLON;
use crate::{Extent, Lexer, Server, Token};

/// Hears the name of every call that may be of a stored or loaded function, in order, without quotes.
pub(crate) type Listener<'a> = Option<&'a mut dyn FnMut(&[u8])>;

/// Whether a text is itself the literal of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Outer,
    Literal,
}

#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(super) lexer: Lexer<'a>,
    /// Written in place, since it is too large to be handed around for every text.
    pub(super) scan: &'a mut Scan,
    nesting: Nesting,
    pub(super) last_end: usize,
    /// A statement so far began or ended a transaction.
    passed_boundary: bool,
    /// What the present statement may change for those behind it.
    pub(super) change: ModeChange,
    /// How many statements so far have changed the mode.
    changes: u8,
    last: Last,
    /// Every token was read for calls, so that no lock is taken but by a call that was seen.
    calls_show: bool,
    lock_calls: bool,
    /// The text goes on in a way that is not followed.
    pub(super) rest_is_unseen: bool,
    /// The statement runs by settings of its own (SET STATEMENT).
    pub(super) under_settings: bool,
}

/// The last statement, as far as a text that is cut within it depends on it.
#[derive(Debug, Clone, Copy)]
struct Last {
    rest: Rest,
    class: Class,
    shapes_are_settled: bool,
}

/// How the reading of a segment ended.
#[derive(Debug)]
pub(crate) struct Read {
    pub(super) met: Met,
    /// The rest must be read in several modes.
    pub(super) stopped: Option<Stopped>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopped {
    pub(super) at: Position,
    pub(super) mode: Mode,
    pub(super) change: ModeChange,
    /// The text changes its mode more often than is followed, or goes on in a way that is not followed.
    pub(super) too_often: bool,
}

/// Changes of the mode that are followed in one segment: for each, the rest of the text is looked through.
const MOST_CHANGES: u8 = 32;

impl<'a> Reader<'a> {
    pub(crate) fn new(sql: &'a [u8], start: Position, mode: Mode, scan: &'a mut Scan) -> Self {
        let lexer = Lexer::resumed(sql, start, mode);
        Self {
            lexer,
            scan,
            nesting: Nesting::Outer,
            last_end: start.offset,
            passed_boundary: false,
            change: ModeChange::default(),
            changes: 0,
            last: Last { rest: Rest::Irrelevant, class: Class::Control, shapes_are_settled: false },
            calls_show: true,
            lock_calls: false,
            rest_is_unseen: false,
            under_settings: false,
        }
    }

    pub(crate) fn run(&mut self, calls: &mut Listener<'_>) -> Read {
        let mut stopped = None;
        while let Some(first) = self.next() {
            if first.kind == SEMICOLON {
                continue;
            }
            if self.scan.statements == 0 {
                let code = self.lexer.comments().first_code;
                self.scan.leading = 0..code.map_or(first.start, |code| code.min(first.start));
                self.lexer.comments().wanted = true;
            }
            self.scan.statements = self.scan.statements.saturating_add(1);
            self.statement(first, calls);
            stopped = self.change_mode();
            if stopped.is_some() {
                break;
            }
        }
        self.finish();
        Read { met: self.lexer.met(), stopped }
    }

    fn statement(&mut self, first: Token, calls: &mut Listener<'_>) {
        self.under_settings = false;
        let verb = match self.usual_verb(&first) {
            Some(verb) => verb,
            None => self.verb(first),
        };
        self.calls_show &= verb.from.is_some_and(|from| from.start == first.start);
        let mut nothing = None;
        let calls = if self.may_call(&verb, calls) { &mut *calls } else { &mut nothing };
        let (found, end) = body::read(&mut self.lexer, verb.from, verb.start(), calls);
        self.last_end = self.last_end.max(end);
        self.settle(&verb, &found);
    }

    /// Whether names before a `(` may be calls, which only listeners want to know.
    fn may_call(&self, verb: &Verb, calls: &Listener<'_>) -> bool {
        match verb.rest {
            Rest::Irrelevant => false,
            Rest::Definition if calls.is_some() => {
                let (found, _) = body::read(&mut self.lexer.clone(), verb.from, verb.start(), &mut None);
                fills_table(verb, &found)
            }
            Rest::Query
            | Rest::Expressions
            | Rest::Change
            | Rest::Calls
            | Rest::Values
            | Rest::Show
            | Rest::Explain
            | Rest::Definition => true,
        }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.lexer.next()?;
        if token.kind != SEMICOLON {
            self.last_end = token.end;
        }
        Some(token)
    }

    /// Adds a whole statement to the facts of the text.
    fn settle(&mut self, verb: &Verb, found: &Found) {
        let takes_lock = verb.takes_lock || found.takes_lock;
        let class = class_of(verb, found).or_stricter(if takes_lock { Class::Write } else { Class::Control });
        let unsure = match verb.rest {
            Rest::Irrelevant => false,
            Rest::Definition => fills_table(verb, found) && found.foreign,
            Rest::Query
            | Rest::Expressions
            | Rest::Change
            | Rest::Calls
            | Rest::Values
            | Rest::Show
            | Rest::Explain => found.foreign && class.or_stricter(Class::Call) != class,
        };
        let is_free = !unsure
            && match verb.rest {
                Rest::Query | Rest::Expressions => {
                    class == Class::Read && !found.table && !found.heavy && !found.pattern
                }
                Rest::Irrelevant
                | Rest::Change
                | Rest::Calls
                | Rest::Values
                | Rest::Show
                | Rest::Explain
                | Rest::Definition => class == Class::Control,
            };
        let scan = &mut *self.scan;
        scan.class = scan.class.or_stricter(class);
        scan.free &= is_free;
        if !is_free {
            scan.classes.insert(class);
            scan.certain_shapes &= found.shapes;
        }
        if unsure {
            scan.doubts |= Doubts::FUNCTIONS;
        }
        if verb.rest == Rest::Definition && fills_table(verb, found) && found.qualified {
            scan.classes.insert(Class::Call);
        }
        scan.shapes |= found.shapes;
        if verb.creates && found.queries > 0 && found.table {
            // CREATE TABLE … SELECT.
            scan.shapes = Shapes::all();
        }
        scan.takes_lock |= takes_lock;
        scan.commits_implicitly |= verb.commits;
        scan.crosses_boundary |= self.passed_boundary && !is_free;
        if verb.transaction != TransactionEffect::None {
            scan.transaction = verb.transaction;
        }
        self.passed_boundary |= verb.commits || verb.transaction != TransactionEffect::None;
        scan.has_sequence |= found.sequence;
        self.lock_calls |= found.lock_call;
        self.last = Last { rest: verb.rest, class, shapes_are_settled: found.shapes_are_settled };
        if class == Class::Unparsed && has_compound_statements(self.lexer.mode().server) {
            self.may_do_anything();
        }
    }

    /// Dynamic SQL and compound statements may change the mode and the schema; routines cannot (checked).
    pub(super) fn may_do_anything(&mut self) {
        self.change = ModeChange::ANYTHING;
        self.scan.charset = Some(CharsetChange::Unknown);
        self.scan.sql_mode = SqlModeChange::Unknown;
        self.scan.changes_schema = true;
        self.scan.schema = None;
    }

    /// Takes up the mode that the statement may have set. `Some`: there are several possible ones.
    fn change_mode(&mut self) -> Option<Stopped> {
        let change = std::mem::take(&mut self.change);
        if change.is_none() && !self.rest_is_unseen {
            return None;
        }
        let (at, mode) = (self.lexer.stands_at(), self.lexer.mode());
        if self.rest_is_unseen {
            return Some(Stopped { at, mode, change, too_often: true });
        }
        self.changes += 1;
        if self.changes > MOST_CHANGES {
            return Some(Stopped { at, mode, change, too_often: true });
        }
        let rest = self.lexer.sql().get(at.offset..).unwrap_or_default();
        let candidates = Candidates::after(rest, mode, change);
        // A new mode begins a segment where it could matter: whatever reads the text again must change there too.
        let differs = candidates.base().charset != mode.charset && !candidates.reads_alike(rest);
        if candidates.number() > 1 || differs {
            return Some(Stopped { at, mode, change, too_often: false });
        }
        self.lexer.set_mode(candidates.base());
        None
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
        }
        if !self.calls_show || self.lock_calls {
            scan.may_lock = true;
        }
        if self.lexer.extent().is_cut() {
            self.finish_cut();
        }
    }

    /// The rest of the text is not seen.
    #[inline(never)]
    fn finish_cut(&mut self) {
        let extent = self.lexer.extent();
        let length = self.lexer.sql().len();
        let scan = &mut *self.scan;
        scan.class = scan.class.or_stricter(Class::Write);
        scan.free = false;
        scan.trailing = length..length;
        scan.named = None;
        scan.schema = None;
        scan.doubts |= Doubts::CUT;
        let seen =
            if extent == Extent::CutInStatement && scan.statements > 0 { classes_of_cut(&self.last) } else { None };
        if seen.is_none() || !self.last.shapes_are_settled {
            scan.shapes = Shapes::all();
            scan.certain_shapes = Shapes::empty();
        }
        match seen {
            Some(classes) => scan.classes = scan.classes.union(classes),
            None => {
                scan.classes = Classes::ANY;
                scan.prepares = true;
                scan.defines = Defines::Routines;
                scan.crosses_boundary = true;
                scan.commits_implicitly = true;
                scan.changes_schema = true;
                scan.charset = Some(CharsetChange::Unknown);
                scan.sql_mode = SqlModeChange::Unknown;
            }
        }
    }

    /// What the text in a string literal is, if it is short enough.
    pub(super) fn scan_literal(&self, literal: &Token) -> Option<Scan> {
        if self.nesting == Nesting::Literal {
            return None;
        }
        let mut text = [0; 1024];
        let mut length = 0;
        for byte in unescaped(self.lexer.text(literal), self.lexer.mode()) {
            *text.get_mut(length)? = byte;
            length += 1;
        }
        if !self.lexer.mode().charset.keeps_text(text.get(..length)?) {
            return None;
        }
        let mode = Mode { extent: Extent::Whole, ..self.lexer.mode() };
        let text = text.get(..length)?;
        let mut scan = Scan::of_nothing(text, mode);
        let mut reader = Reader::new(text, Position::START, mode, &mut scan);
        reader.nesting = Nesting::Literal;
        let read = reader.run(&mut None);
        // What may be read otherwise is not looked at here.
        let is_sure = read.stopped.is_none() && Candidates::at_start(text, mode, read.met).is_none();
        is_sure.then_some(scan)
    }
}

/// Whether the server takes statements outside of routines that no reader here knows: MariaDB's BEGIN NOT ATOMIC and IF, and what
/// servers to come may have. For the others such a text is a syntax error; EXECUTE is read by its own name.
fn has_compound_statements(server: Server) -> bool {
    !matches!(server, Server::MySql(..100_000))
}

/// The classes of a statement of which only the beginning is seen. `None`: any.
fn classes_of_cut(last: &Last) -> Option<Classes> {
    let classes: &[Class] = match last.rest {
        Rest::Query => &[Class::Read, Class::Write, Class::Call],
        Rest::Change => &[Class::Write, Class::Call],
        Rest::Irrelevant if last.class == Class::Ddl => &[Class::Ddl],
        Rest::Definition => &[Class::Ddl, Class::Call],
        Rest::Irrelevant | Rest::Expressions | Rest::Calls | Rest::Values | Rest::Show | Rest::Explain => return None,
    };
    Some(classes.iter().copied().collect())
}

/// CREATE TABLE … SELECT, TABLE or VALUES.
fn fills_table(verb: &Verb, found: &Found) -> bool {
    verb.creates && (found.queries > 0 || found.rows)
}

fn class_of(verb: &Verb, found: &Found) -> Class {
    let mut class = verb.class;
    let raise = |class: Class, when: bool, to: Class| if when { class.or_stricter(to) } else { class };
    match verb.rest {
        Rest::Irrelevant | Rest::Definition => return class,
        Rest::Change | Rest::Calls => {}
        Rest::Query | Rest::Expressions => class = raise(class, found.locking || found.writes, Class::Write),
        Rest::Values => {
            class = raise(class, found.table || found.heavy || found.pattern || found.foreign, Class::Read);
            class = raise(class, found.locking || found.writes, Class::Write);
        }
        Rest::Show => {
            let works = found.queries > 0 || found.heavy || found.foreign || (found.pattern && found.filtered);
            class = raise(class, works, Class::Read);
            class = raise(class, found.locking || found.writes, Class::Write);
        }
        Rest::Explain => {
            // The optimiser reads the rows of unique keys, and shows them (checked); MariaDB's runs functions of views.
            let reads = found.table || found.writes || found.queries > 1 || found.foreign;
            class = raise(class, reads, Class::Read);
            class = raise(class, (found.locking && found.queries > 1) || found.sequence, Class::Write);
        }
    }
    raise(class, found.qualified, Class::Call)
}

impl Verb {
    /// Where the rest of the statement begins, as its body must know.
    fn start(&self) -> Start {
        match self.rest {
            Rest::Query | Rest::Change => Start::Statement,
            Rest::Explain => Start::StatementWithoutShapes,
            Rest::Irrelevant | Rest::Expressions | Rest::Calls | Rest::Values | Rest::Show | Rest::Definition => {
                Start::Expression
            }
        }
    }
}
