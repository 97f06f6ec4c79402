//! What the rest of a statement holds, whatever its first word is.

use super::arms::Arms;
use super::keyword::Keyword;
use super::reader::Listener;
use super::seen::{Seen, Set};
use crate::starts::SEMICOLON;
use crate::words::{Own, look_up};
use crate::{Kind, Lexer, Server, Shapes, Token};

#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE, at any depth.
    pub(super) locking: bool,
    /// INTO OUTFILE, the next value of a sequence, INSERT, UPDATE, DELETE, REPLACE.
    pub(super) writes: bool,
    /// FROM something other than DUAL, or TABLE.
    pub(super) table: bool,
    pub(super) filtered: bool,
    /// A function that is not on the list of what is free.
    pub(super) heavy: bool,
    /// LIKE and REGEXP, which may take exponential time.
    pub(super) pattern: bool,
    /// SELECT, TABLE and WITH, up to 255.
    pub(super) queries: u8,
    /// VALUES where a query may stand.
    pub(super) rows: bool,
    /// A call of what may be somebody's own function.
    pub(super) foreign: bool,
    /// `x.f(`, which certainly is.
    pub(super) qualified: bool,
    /// GET_LOCK and its like.
    pub(super) takes_lock: bool,
    /// A value of a sequence, which is a table that no parser here knows.
    pub(super) sequence: bool,
    /// A call that takes or releases such a lock.
    pub(super) lock_call: bool,
    pub(super) shapes: Shapes,
    /// Nothing behind the last token can change the shapes.
    pub(super) shapes_are_settled: bool,
}

/// What the first token of a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The first word of a query or a change.
    Statement,
    /// That of one that is only explained.
    StatementWithoutShapes,
    /// Behind the first words of another statement, where INSERT and REPLACE are functions.
    Expression,
}

const BEGINNINGS: Set = Set::of([Seen::NOTHING, Seen::OPEN]);
/// What a name goes on after.
const NAMES: Set = Set::of([Seen::QUOTED, Seen::DOT]);
const CHANGES: Set = Set::of([Seen::word(Keyword::Insert), Seen::word(Keyword::Replace)]);
const BEFORE_COLUMNS: Set = Set::of([
    Seen::COMMA,
    Seen::DOT,
    Seen::word(Keyword::Select),
    Seen::word(Keyword::SelectModifier),
    Seen::word(Keyword::Distinct),
]);
const BEFORE_DEFINITIONS: Set = Set::of([
    Seen::word(Keyword::As),
    Seen::word(Keyword::Into),
    Seen::word(Keyword::Table),
    Seen::word(Keyword::With),
    Seen::word(Keyword::Recursive),
    // Nothing that is complete is followed by an expression.
    Seen::CLOSE,
    Seen::LITERAL,
    Seen::EMPTY_STRING,
]);

/// Reads on to the statement's end. `first` is read already; `calls` hears of every call that may be somebody's own function.
#[inline]
pub(super) fn read(
    lexer: &mut Lexer<'_>,
    first: Option<Token>,
    start: Start,
    calls: &mut Listener<'_>,
) -> (Found, usize) {
    let mut body = Body::new(lexer.sql(), start, lexer.mode().server);
    let mut end = 0;
    let mut token = first;
    while let Some(current) = token
        && current.kind != SEMICOLON
    {
        end = current.end;
        body.take(&current, calls);
        token = lexer.next_inlined();
    }
    (body.end(), end)
}

struct Body<'a> {
    sql: &'a [u8],
    server: Server,
    found: Found,
    arms: Arms,
    depth: u32,
    /// The token before, and the one before that.
    before: [Seen; 2],
    /// The last name, for a `(` or a dot to follow.
    name: Option<Name>,
    /// The table of an INSERT or REPLACE is still to come.
    target: bool,
    /// What the open parentheses belong to. More of them are not free.
    open: [Parentheses; 32],
    /// How many of them are a CONCAT's.
    concats: u32,
}

#[derive(Clone, Copy)]
struct Name {
    start: usize,
    end: usize,
    quoted: bool,
    place: Place,
}

/// Where a name stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where an expression may begin: with a `(` it is a call.
    Expression,
    /// After AS, INTO, WITH, `)` and the like: with a `(` it is a table or an alias and its columns, or a type.
    Definition,
    /// After a dot, with the whole in an expression.
    Member,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parentheses {
    Plain,
    Concat,
    Replace,
}

impl<'a> Body<'a> {
    fn new(sql: &'a [u8], start: Start, server: Server) -> Self {
        let mut arms = Arms::default();
        if start == Start::Statement {
            arms.expect();
        }
        let before = if start == Start::Expression { Seen::SYMBOL } else { Seen::NOTHING };
        Self {
            sql,
            server,
            found: Found::default(),
            arms,
            depth: 0,
            before: [before, Seen::NOTHING],
            name: None,
            target: false,
            open: [Parentheses::Plain; 32],
            concats: 0,
        }
    }

    #[inline]
    fn take(&mut self, token: &Token, calls: &mut Listener<'_>) {
        let before = self.before[0];
        let keyword = match token.kind {
            // After a dot every word is a name.
            Kind::Word if before != Seen::DOT => Keyword::of(self.text(token)),
            Kind::Word | Kind::QuotedWord | Kind::String | Kind::Number | Kind::Variable | Kind::Symbol(_) => {
                Keyword::None
            }
        };
        if before == Seen::word(Keyword::From) {
            self.after_from(keyword);
        }
        let seen = match token.kind {
            Kind::Word => self.word(token, keyword),
            Kind::QuotedWord => {
                self.named(token, true);
                Seen::QUOTED
            }
            Kind::String => self.string(token),
            Kind::Number => Seen::LITERAL,
            Kind::Variable => {
                self.found.heavy |= self.concats > 0 && !self.text(token).starts_with(b"@@");
                Seen::LITERAL
            }
            Kind::Symbol(symbol) => self.symbol(symbol, token, calls),
        };
        // INSERT( and REPLACE( are functions; anything else behind these words is a statement.
        if before.is_in(CHANGES) {
            self.found.writes |= seen != Seen::OPEN;
        }
        if !(seen.is_word() || seen.is_in(NAMES)) {
            self.name = None;
        }
        self.before = [seen, before];
    }

    fn text(&self, token: &Token) -> &'a [u8] {
        self.sql.get(token.start..token.end).unwrap_or_default()
    }

    fn end(mut self) -> Found {
        self.found.shapes_are_settled = self.arms.is_settled();
        self.found.shapes = self.arms.end();
        self.found.writes |= self.before[0].is_in(CHANGES);
        self.found
    }

    #[inline]
    fn word(&mut self, token: &Token, keyword: Keyword) -> Seen {
        self.named_keyword(token, keyword);
        if keyword != Keyword::None {
            self.keyword(keyword);
        } else if self.before[0] == Seen::word(Keyword::Limit) && self.text(token).eq_ignore_ascii_case(b"ROWS") {
            self.arms.no_limit(self.depth);
        } else if self.before[0] == Seen::DOT && self.text(token).eq_ignore_ascii_case(b"NEXTVAL") {
            // Oracle's way: `sequence.nextval`.
            let is_sequence = !matches!(self.server, Server::MySql(_));
            self.found.writes |= is_sequence;
            self.found.sequence |= is_sequence;
        } else if self.before[0] == Seen::DOT && self.text(token).eq_ignore_ascii_case(b"CURRVAL") {
            let is_sequence = !matches!(self.server, Server::MySql(_));
            self.found.table |= is_sequence;
            self.found.sequence |= is_sequence;
        }
        Seen::word(keyword)
    }

    fn keyword(&mut self, keyword: Keyword) {
        let after = |before: Keyword| self.before[0] == Seen::word(before);
        let begins = self.before[0].is_in(BEGINNINGS);
        match keyword {
            Keyword::Select => {
                self.found.queries = self.found.queries.saturating_add(1);
                self.arms.select(self.depth);
            }
            Keyword::Table => {
                self.found.queries = self.found.queries.saturating_add(u8::from(begins));
                self.found.table = true;
                self.arms.table(self.depth);
            }
            // Not WITH ROLLUP, nor WITH QUERY EXPANSION.
            Keyword::With => {
                self.found.queries = self.found.queries.saturating_add(u8::from(begins));
                self.arms.with(self.depth);
            }
            Keyword::Update | Keyword::Delete => {
                self.found.locking |= after(Keyword::For);
                self.found.writes = true;
                self.arms.change(self.depth);
            }
            Keyword::Share => self.found.locking |= after(Keyword::For),
            Keyword::Lock => self.found.locking = true,
            Keyword::File => self.found.writes |= after(Keyword::Into),
            Keyword::Value if after(Keyword::Next) => {
                self.found.writes = true;
                self.found.sequence = true;
            }
            Keyword::Value | Keyword::Values | Keyword::Set if self.depth == 0 => {
                self.found.rows = true;
                self.arms.expect_none();
            }
            Keyword::Values if begins => self.found.rows = true,
            Keyword::Value | Keyword::Values | Keyword::Set => {}
            Keyword::Where => {
                self.found.filtered = true;
                self.arms.filter(self.depth);
            }
            Keyword::Limit => self.arms.limit(self.depth),
            Keyword::SetOperation => self.arms.set_operation(self.depth),
            Keyword::Regexp | Keyword::Like => self.found.pattern = true,
            Keyword::Insert | Keyword::Replace => self.target = self.before[0] == Seen::NOTHING,
            // PREVIOUS VALUE FOR a sequence, which is a table.
            Keyword::For => {
                self.found.table |= after(Keyword::Value);
                self.found.sequence |= after(Keyword::Value);
            }
            Keyword::As
            | Keyword::Distinct
            | Keyword::Dual
            | Keyword::From
            | Keyword::Into
            | Keyword::InsertModifier
            | Keyword::Next
            | Keyword::Nextval
            | Keyword::Recursive
            | Keyword::SelectModifier
            | Keyword::None => {}
        }
    }

    /// Whatever is behind FROM is a table, or makes one: `t`, `(`, `{oj …}`; only DUAL is none.
    fn after_from(&mut self, keyword: Keyword) {
        if keyword == Keyword::Dual {
            self.arms.list_ends(self.depth);
        } else {
            self.found.table = true;
            self.arms.tables_begin(self.depth);
        }
    }

    fn string(&mut self, token: &Token) -> Seen {
        let text = self.text(token);
        // Under ANSI_QUOTES, which does not show, it is a name.
        if text.first() == Some(&b'"') {
            self.named(token, true);
            return if text.len() == 2 { Seen::EMPTY_STRING } else { Seen::QUOTED };
        }
        if text.len() == 2 { Seen::EMPTY_STRING } else { Seen::LITERAL }
    }

    fn named_keyword(&mut self, token: &Token, keyword: Keyword) {
        if self.target && matches!(keyword, Keyword::InsertModifier | Keyword::SelectModifier | Keyword::Into) {
            self.name = None;
            return;
        }
        self.named(token, false);
    }

    fn named(&mut self, token: &Token, quoted: bool) {
        let place = match self.before[0] {
            _ if std::mem::take(&mut self.target) => Place::Definition,
            Seen::DOT => match self.name {
                Some(Name { place: Place::Definition, .. }) => Place::Definition,
                Some(Name { place: Place::Expression | Place::Member, .. }) | None => Place::Member,
            },
            before if before.is_in(BEFORE_DEFINITIONS) => Place::Definition,
            _ => Place::Expression,
        };
        self.name = Some(Name { start: token.start, end: token.end, quoted, place });
    }

    fn symbol(&mut self, symbol: u8, token: &Token, calls: &mut Listener<'_>) -> Seen {
        match symbol {
            b'(' => {
                let is_after_name = self.before[0].is_word() || self.before[0] == Seen::QUOTED;
                let kind = match self.name.filter(|_| is_after_name) {
                    Some(name) => self.call(name, token, calls),
                    None => Parentheses::Plain,
                };
                self.open(kind);
                Seen::OPEN
            }
            b')' => {
                self.close();
                Seen::CLOSE
            }
            b'.' => Seen::DOT,
            b',' => Seen::COMMA,
            b'*' => {
                if self.before[0].is_in(BEFORE_COLUMNS) {
                    self.arms.star(self.depth);
                }
                Seen::SYMBOL
            }
            _ => Seen::SYMBOL,
        }
    }

    /// A name with a `(` behind it.
    fn call(&mut self, name: Name, parenthesis: &Token, calls: &mut Listener<'_>) -> Parentheses {
        let text = self.sql.get(name.start..name.end).unwrap_or_default();
        let text = match text {
            [b'`' | b'"', inside @ .., b'`' | b'"'] => inside,
            _ => text,
        };
        let is = |function: &str| text.eq_ignore_ascii_case(function.as_bytes());
        if name.place == Place::Member {
            self.found.qualified = true;
            return Parentheses::Plain;
        }
        let known = look_up(text);
        self.found.heavy |= known.is_some_and(|known| !known.is_free());
        let takes_lock = is("GET_LOCK") || is("SERVICE_GET_READ_LOCKS") || is("SERVICE_GET_WRITE_LOCKS");
        self.found.takes_lock |= takes_lock;
        self.found.lock_call |=
            takes_lock || is("RELEASE_LOCK") || is("RELEASE_ALL_LOCKS") || is("SERVICE_RELEASE_LOCKS");
        if name.place == Place::Definition {
            return Parentheses::Plain;
        }
        let own = known.map_or(Own::No, |known| known.own(self.server));
        let is_own = match own {
            Own::No => false,
            Own::Adjacent => !name.quoted && name.end == parenthesis.start,
            Own::Unquoted => !name.quoted,
            Own::Always => true,
        };
        if !is_own {
            self.found.foreign = true;
            if let Some(hear) = calls {
                hear(text);
            }
        }
        self.found.writes |= is_own && (is("NEXTVAL") || is("SETVAL"));
        self.found.sequence |= is("NEXTVAL") || is("SETVAL") || is("LASTVAL");
        match () {
            () if is("CONCAT") || is("CONCAT_WS") => Parentheses::Concat,
            () if is("REPLACE") => Parentheses::Replace,
            () => Parentheses::Plain,
        }
    }

    fn open(&mut self, kind: Parentheses) {
        if self.before[0] == Seen::CLOSE {
            self.arms.reopen(self.depth);
        }
        match self.open.get_mut(self.depth as usize) {
            Some(slot) => *slot = kind,
            None => self.found.heavy = true,
        }
        self.concats += u32::from(kind == Parentheses::Concat);
        self.depth = self.depth.saturating_add(1);
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        match self.open.get(self.depth as usize) {
            Some(Parentheses::Concat) => self.concats = self.concats.saturating_sub(1),
            // REPLACE(x, y, '') only takes away.
            Some(Parentheses::Replace) => {
                self.found.heavy |= self.before != [Seen::EMPTY_STRING, Seen::COMMA];
            }
            Some(Parentheses::Plain) | None => {}
        }
        self.arms.close(self.depth);
    }
}
