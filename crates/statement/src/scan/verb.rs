//! What a statement is by its first words.

use super::keyword::Keyword;
use super::reader::Reader;
use super::readings::ModeChange;
use super::{Defines, Doubts, NamedStatement, Source, TransactionEffect, program_body, set};
use crate::lexer::Position;
use crate::starts::{SEMICOLON, Stored, skip_from, stored};
use crate::{Class, Kind, Server, Token};

/// What the first words say. The rest of the statement can only make it stricter.
#[derive(Debug, Clone)]
pub(super) struct Verb {
    pub(super) class: Class,
    pub(super) rest: Rest,
    /// Where the rest begins.
    pub(super) from: Option<Token>,
    pub(super) transaction: TransactionEffect,
    pub(super) commits: bool,
    pub(super) takes_lock: bool,
    /// CREATE or ALTER, which may hold a query.
    pub(super) creates: bool,
}

/// What the rest of a statement can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing.
    Irrelevant,
    /// It may lock, write, and need no table.
    Query,
    /// The same of the expressions of DO.
    Expressions,
    /// It writes already; only a call matters, and its shape.
    Change,
    /// Only a call matters.
    Calls,
    /// Values of control statements: a subquery or a function with work to do makes it a read.
    Values,
    /// SHOW … WHERE takes subqueries and functions (checked).
    Show,
    /// EXPLAIN runs what stands in FROM, with its functions (checked on both servers).
    Explain,
    /// CREATE TABLE may hold a query, whose functions run.
    Definition,
}

impl Verb {
    fn new(class: Class, rest: Rest, from: Option<Token>) -> Verb {
        Verb {
            class,
            rest,
            from,
            transaction: TransactionEffect::None,
            commits: false,
            takes_lock: false,
            creates: false,
        }
    }

    fn control(from: Option<Token>) -> Verb {
        Verb::new(Class::Control, Rest::Irrelevant, from)
    }

    fn transaction(effect: TransactionEffect, from: Option<Token>) -> Verb {
        Verb { transaction: effect, ..Verb::control(from) }
    }

    fn committing(class: Class, from: Option<Token>) -> Verb {
        Verb { commits: true, ..Verb::new(class, Rest::Irrelevant, from) }
    }

    fn locking(from: Option<Token>) -> Verb {
        Verb { takes_lock: true, ..Verb::new(Class::Write, Rest::Irrelevant, from) }
    }

    fn unparsed(from: Option<Token>) -> Verb {
        Verb::new(Class::Unparsed, Rest::Calls, from)
    }
}

/// How often one statement may stand in another: SET STATEMENT … FOR SET STATEMENT … FOR …
const LEVELS: usize = 4;

impl Reader<'_> {
    /// Of the words that nearly all texts begin with.
    #[inline(always)]
    pub(super) fn usual_verb(&self, first: &Token) -> Option<Verb> {
        if first.kind != Kind::Word {
            return None;
        }
        let keyword = Keyword::of(self.lexer.text(first));
        if matches!(keyword, Keyword::Select | Keyword::With | Keyword::Values | Keyword::Table) {
            Some(Verb::new(Class::Read, Rest::Query, Some(*first)))
        } else if matches!(keyword, Keyword::Insert | Keyword::Replace | Keyword::Update | Keyword::Delete) {
            Some(Verb::new(Class::Write, Rest::Change, Some(*first)))
        } else {
            None
        }
    }

    #[inline(never)]
    pub(super) fn verb(&mut self, first: Token) -> Verb {
        let mut first = first;
        for _ in 0..LEVELS {
            match self.verb_or_inner(first) {
                Ok(verb) => return verb,
                Err(Some(inner)) => first = inner,
                Err(None) => return Verb::unparsed(None),
            }
        }
        Verb::unparsed(Some(first))
    }

    /// The verb, or where a statement inside begins that stands for this one.
    fn verb_or_inner(&mut self, first: Token) -> Result<Verb, Option<Token>> {
        if first.kind == Kind::Symbol(b'(') {
            return Ok(self.in_parentheses(first));
        }
        if first.kind != Kind::Word {
            return Ok(Verb::unparsed(Some(first)));
        }
        let text = self.lexer.text(&first);
        if let Some(verb) = self.usual_verb(&first) {
            return Ok(verb);
        }
        self.rarer_verb(first, text)
    }

    #[inline(never)]
    fn rarer_verb(&mut self, first: Token, text: &[u8]) -> Result<Verb, Option<Token>> {
        let mut word = [0; 16];
        let Some(lower) = word.get_mut(..text.len()) else { return Ok(Verb::unparsed(Some(first))) };
        lower.copy_from_slice(text);
        lower.make_ascii_lowercase();
        Ok(match &*lower {
            b"set" => return self.set(),
            b"commit" | b"rollback" => self.ends(&first),
            b"begin" => self.begin(),
            b"show" => {
                let second = self.next();
                Verb::new(Class::Control, Rest::Show, second)
            }
            b"use" => self.use_schema(),
            b"explain" | b"describe" | b"desc" => self.explain(),
            b"do" => {
                let second = self.next();
                Verb::new(Class::Read, Rest::Expressions, second)
            }
            b"call" => Verb { class: Class::Call, ..Verb::unparsed(Some(first)) },
            b"prepare" => self.prepare(),
            b"execute" => self.execute(),
            b"deallocate" => self.deallocate(),
            b"kill" => {
                self.scan.may_kill = true;
                let second = self.next();
                Verb::new(Class::Control, Rest::Values, second)
            }
            b"savepoint" | b"release" | b"help" | b"signal" | b"resignal" => Verb::control(Some(first)),
            b"get" => self.get_diagnostics(),
            b"start" => self.start(),
            b"xa" => self.xa(),
            b"lock" => self.lock(),
            b"unlock" => self.unlock(),
            b"backup" => self.backup(),
            b"flush" => self.flush(),
            b"handler" => Verb::new(Class::Read, Rest::Calls, Some(first)),
            // It reads all of the table, and locks it no more than a SELECT does.
            b"checksum" => Verb::new(Class::Read, Rest::Irrelevant, Some(first)),
            b"create" | b"drop" => self.create_or_drop(first),
            b"alter" => self.create(first),
            b"rename" => {
                self.scan.defines = self.scan.defines.max(Defines::Views);
                Verb::committing(Class::Ddl, Some(first))
            }
            b"truncate" | b"grant" | b"revoke" | b"install" | b"uninstall" | b"import" | b"clone" | b"shutdown"
            | b"restart" | b"change" | b"optimize" | b"repair" => Verb::committing(Class::Ddl, Some(first)),
            b"analyze" => return self.analyze(),
            b"check" | b"cache" | b"stop" => Verb::committing(Class::Write, Some(first)),
            b"load" => self.load(),
            b"reset" => {
                let second = self.next();
                let persist = self.is_any(second, &["PERSIST"]);
                Verb { commits: !persist, ..Verb::new(Class::Write, Rest::Irrelevant, second) }
            }
            b"purge" | b"binlog" => Verb::new(Class::Write, Rest::Values, Some(first)),
            _ => Verb::unparsed(Some(first)),
        })
    }

    fn is_any(&self, token: Option<Token>, words: &[&str]) -> bool {
        token.is_some_and(|token| self.lexer.is_any(&token, words))
    }

    fn ends_here(token: Option<Token>) -> bool {
        token.is_none_or(|token| token.kind == SEMICOLON)
    }

    /// `(SELECT …) UNION …`. The parentheses hold a query, or they are none that a server takes.
    fn in_parentheses(&self, first: Token) -> Verb {
        let mut ahead = self.lexer.clone();
        let word = ahead.find(|token| token.kind != Kind::Symbol(b'('));
        if self.is_any(word, &["SELECT", "WITH", "VALUES", "TABLE"]) {
            Verb::new(Class::Read, Rest::Query, Some(first))
        } else {
            Verb::unparsed(Some(first))
        }
    }

    /// BEGIN [WORK]. With anything else behind it, it is MariaDB's compound statement.
    fn begin(&mut self) -> Verb {
        let mut token = self.next();
        if self.is_any(token, &["WORK"]) {
            token = self.next();
        }
        if Self::ends_here(token) { Verb::transaction(TransactionEffect::Begins, token) } else { Verb::unparsed(token) }
    }

    /// COMMIT or ROLLBACK [WORK] [AND [NO] CHAIN] [[NO] RELEASE], or ROLLBACK [WORK] TO [SAVEPOINT] x.
    fn ends(&mut self, first: &Token) -> Verb {
        let mut token = self.next();
        if self.is_any(token, &["WORK"]) {
            token = self.next();
        }
        if self.lexer.is(first, "ROLLBACK") && self.is_any(token, &["TO"]) {
            return Verb::control(token);
        }
        self.scan.rolls_back |= self.scan.statements == 1 && self.lexer.is(first, "ROLLBACK");
        let mut effect = TransactionEffect::Ends;
        if self.is_any(token, &["AND"]) {
            token = self.next();
            if self.is_any(token, &["CHAIN"]) {
                effect = TransactionEffect::Begins;
            }
        }
        Verb::transaction(effect, token)
    }

    fn start(&mut self) -> Verb {
        let second = self.next();
        if self.is_any(second, &["TRANSACTION"]) {
            Verb::transaction(TransactionEffect::Begins, second)
        } else {
            Verb::committing(Class::Write, second)
        }
    }

    fn xa(&mut self) -> Verb {
        let second = self.next();
        if self.is_any(second, &["START", "BEGIN"]) {
            Verb::transaction(TransactionEffect::Begins, second)
        } else if self.is_any(second, &["PREPARE", "COMMIT", "ROLLBACK"]) {
            Verb::transaction(TransactionEffect::Ends, second)
        } else if self.is_any(second, &["END", "RECOVER"]) {
            Verb::control(second)
        } else {
            Verb::unparsed(second)
        }
    }

    fn set(&mut self) -> Result<Verb, Option<Token>> {
        self.scan.begins_with_set |= self.scan.statements == 1;
        let settings = set::read(self.lexer.clone());
        let second = self.next();
        if self.is_any(second, &["STATEMENT"]) {
            return self.set_statement();
        }
        if settings.account {
            return Ok(Verb::committing(Class::Ddl, second));
        }
        self.scan.sets_several |= settings.several;
        if let Some(change) = settings.sql_mode {
            self.change.sql_mode = true;
            self.scan.sql_mode = self.scan.sql_mode.max(change);
        }
        if let Some(charset) = settings.charset {
            self.change.charset = Some(charset);
            self.scan.charset = Some(charset);
        }
        let transaction = match settings.autocommit {
            Some(true) => TransactionEffect::Ends,
            Some(false) | None => TransactionEffect::None,
        };
        Ok(Verb { transaction, ..Verb::new(Class::Control, Rest::Values, second) })
    }

    /// MariaDB's SET STATEMENT x = y, … FOR statement, which is that statement.
    fn set_statement(&mut self) -> Result<Verb, Option<Token>> {
        loop {
            let token = self.next();
            if Self::ends_here(token) || token.is_some_and(|token| token.kind == Kind::Symbol(b'(')) {
                return Ok(Verb::unparsed(token));
            }
            if self.is_any(token, &["FOR"]) {
                self.under_settings = true;
                return Err(self.next());
            }
        }
    }

    fn use_schema(&mut self) -> Verb {
        self.scan.changes_schema = true;
        let second = self.next();
        if let Some(name) = second.filter(|name| matches!(name.kind, Kind::Word | Kind::QuotedWord | Kind::String)) {
            let third = self.next();
            let is_plain = self.lexer.mode().charset.keeps_name(self.lexer.text(&name));
            self.scan.schema = (Self::ends_here(third) && is_plain).then_some(name.start..name.end);
            return Verb::control(third);
        }
        Verb::control(second)
    }

    /// EXPLAIN [ANALYZE] [EXTENDED | PARTITIONS] [FORMAT = x] [INTO @v] [FOR SCHEMA x] statement.
    fn explain(&mut self) -> Verb {
        let mut token = self.next();
        let mut runs = false;
        loop {
            if Self::ends_here(token) {
                return Verb::control(token);
            }
            if self.is_any(token, &["SELECT", "WITH", "VALUES", "TABLE"])
                || token.is_some_and(|token| token.kind == Kind::Symbol(b'('))
            {
                return if runs {
                    Verb::new(Class::Read, Rest::Query, token)
                } else {
                    Verb::new(Class::Control, Rest::Explain, token)
                };
            }
            if self.is_any(token, &["INSERT", "REPLACE", "UPDATE", "DELETE"]) {
                return if runs {
                    Verb::new(Class::Write, Rest::Change, token)
                } else {
                    Verb::new(Class::Control, Rest::Explain, token)
                };
            }
            runs |= self.is_any(token, &["ANALYZE"]);
            token = self.next();
        }
    }

    /// ANALYZE TABLE, or MariaDB's ANALYZE [FORMAT = x] statement, which runs it.
    fn analyze(&mut self) -> Result<Verb, Option<Token>> {
        let mut token = self.next();
        if self.is_any(token, &["TABLE", "NO_WRITE_TO_BINLOG", "LOCAL"]) {
            return Ok(Verb::committing(Class::Write, token));
        }
        if self.is_any(token, &["FORMAT"]) {
            token = self.next();
            if token.is_some_and(|token| token.kind == Kind::Symbol(b'=')) {
                self.next();
                token = self.next();
            }
        }
        let runs = self.is_any(token, &["SELECT", "WITH", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"])
            || token.is_some_and(|token| token.kind == Kind::Symbol(b'('));
        if runs { Err(token) } else { Ok(Verb::unparsed(token)) }
    }

    fn lock(&mut self) -> Verb {
        let second = self.next();
        // LOCK TABLES commits, LOCK INSTANCE does not (checked).
        let commits = !self.is_any(second, &["INSTANCE"]);
        Verb { commits, ..Verb::locking(second) }
    }

    fn unlock(&mut self) -> Verb {
        let second = self.next();
        let commits = self.is_any(second, &["TABLES", "TABLE"]);
        Verb { commits, ..Verb::control(second) }
    }

    /// MariaDB's BACKUP STAGE name, BACKUP LOCK table, BACKUP UNLOCK.
    fn backup(&mut self) -> Verb {
        let second = self.next();
        if self.is_any(second, &["UNLOCK"]) {
            return Verb::control(second);
        }
        if self.is_any(second, &["STAGE"]) {
            let stage = self.next();
            if self.is_any(stage, &["END"]) {
                return Verb::control(stage);
            }
            return Verb { commits: true, ..Verb::locking(stage) };
        }
        Verb { commits: true, ..Verb::locking(second) }
    }

    /// FLUSH … WITH READ LOCK and FLUSH … FOR EXPORT lock; all of them go to the binlog unless they say otherwise.
    fn flush(&mut self) -> Verb {
        let mut takes_lock = false;
        let mut token = self.next();
        while !Self::ends_here(token) {
            takes_lock |= self.is_any(token, &["LOCK", "EXPORT"]);
            token = self.next();
        }
        Verb { takes_lock, ..Verb::committing(Class::Write, token) }
    }

    fn load(&mut self) -> Verb {
        let second = self.next();
        if self.is_any(second, &["INDEX"]) {
            Verb::committing(Class::Write, second)
        } else {
            Verb::new(Class::Write, Rest::Calls, second)
        }
    }

    fn get_diagnostics(&mut self) -> Verb {
        let second = self.next();
        if self.is_any(second, &["DIAGNOSTICS", "CURRENT", "STACKED"]) {
            Verb::control(second)
        } else {
            Verb::unparsed(second)
        }
    }

    fn create_or_drop(&mut self, first: Token) -> Verb {
        let mut ahead = self.lexer.clone();
        let mut second = ahead.next();
        if self.lexer.is(&first, "DROP") && self.is_any(second, &["PREPARE"]) {
            self.next();
            return self.deallocated();
        }
        if self.is_any(second, &["OR"]) {
            ahead.next();
            second = ahead.next();
        }
        // A temporary table is its session's own, and nothing is committed for it (checked).
        let commits = !self.is_any(second, &["TEMPORARY"]);
        Verb { commits, ..self.create(first) }
    }

    fn create(&mut self, first: Token) -> Verb {
        let (kind, last) = stored(&mut self.lexer, &first);
        let defined = self.defined(kind, &first, last.as_ref());
        self.scan.defines = self.scan.defines.max(defined);
        if kind == Stored::Program && self.has_dollar_quotes() {
            // Where a text in dollar quotes ends is not followed, and neither is what stands behind it.
            self.rest_is_unseen = true;
            return Verb { creates: true, ..Verb::committing(Class::Ddl, None) };
        }
        let is_whole = |last: &Token| program_body::is_whole_text(last, self.lexer.clone());
        if kind == Stored::Program && last.as_ref().is_some_and(is_whole) {
            let end = self.lexer.by_ref().last().map(|token| token.end);
            self.last_end = self.last_end.max(end.unwrap_or(0));
            return Verb { creates: true, ..Verb::committing(Class::Ddl, None) };
        }
        if kind == Stored::Program {
            // What follows a `;` is a part of its body, or a further statement: it is read as if it were one.
            self.scan.has_program = true;
            self.scan.doubts |= Doubts::READINGS;
        }
        if let Some(last) = last.filter(|last| last.kind != SEMICOLON) {
            self.last_end = self.last_end.max(last.end);
        }
        let rest = if kind == Stored::Nothing { Rest::Definition } else { Rest::Irrelevant };
        Verb { creates: true, rest, ..Verb::committing(Class::Ddl, last) }
    }

    /// `last`: the kind of the object.
    fn defined(&self, kind: Stored, first: &Token, last: Option<&Token>) -> Defines {
        match kind {
            Stored::Program if last.is_some_and(|last| self.lexer.is_any(last, &["TRIGGER", "EVENT"])) => {
                Defines::Triggers
            }
            Stored::Program => Defines::Routines,
            Stored::View => Defines::Views,
            Stored::Nothing => {
                let mut rest = self.lexer.clone().take_while(|token| token.kind != SEMICOLON);
                let renames = self.lexer.is(first, "ALTER") && rest.any(|token| self.lexer.is(&token, "RENAME"));
                if renames { Defines::Views } else { Defines::Nothing }
            }
        }
    }

    /// MySQL 9 takes `$tag$ … $tag$` for a string in the definition of a routine or library.
    fn has_dollar_quotes(&self) -> bool {
        let Position { offset, .. } = self.lexer.stands_at();
        let rest = self.lexer.sql().get(offset..).unwrap_or_default();
        let is_mariadb = matches!(self.lexer.mode().server, Server::MariaDb(_));
        !is_mariadb
            && memchr::memchr_iter(b'$', rest).any(|at| begins_dollar_quotes(rest.get(at..).unwrap_or_default()))
    }

    /// PREPARE name FROM 'text' | @variable | expression.
    fn prepare(&mut self) -> Verb {
        self.scan.prepares = true;
        let Some(name) = self.statement_name() else { return Verb::control(None) };
        let from = self.next();
        if !self.is_any(from, &["FROM"]) {
            return Verb::control(from);
        }
        let value = self.next();
        let mut ahead = self.lexer.clone();
        let is_alone = Self::ends_here(ahead.next());
        let from = match value {
            // A literal is read by the settings of the statement.
            Some(text) if text.kind == Kind::String && is_alone && !self.under_settings => {
                Source::Literal(text.start..text.end)
            }
            _ => Source::Variable,
        };
        self.scan.named = Some(NamedStatement::Prepare { name: name.start..name.end, from });
        Verb::new(Class::Control, Rest::Values, value)
    }

    /// EXECUTE name [USING …], or MariaDB's EXECUTE IMMEDIATE 'text'.
    fn execute(&mut self) -> Verb {
        self.may_do_anything();
        let Some(name) = self.statement_name() else { return Verb::unparsed(None) };
        let after = self.next();
        let is_immediate =
            self.lexer.is(&name, "IMMEDIATE") && !Self::ends_here(after) && !self.is_any(after, &["USING"]);
        if self.under_settings {
            return Verb::unparsed(after);
        }
        if is_immediate {
            return self.execute_immediate(after);
        }
        // MariaDB takes expressions behind USING, which work before the statement does.
        let arguments = self.lexer.clone().take_while(|token| token.kind != SEMICOLON);
        let is_value =
            |token: Token| matches!(token.kind, Kind::Variable | Kind::Symbol(b',') | Kind::String | Kind::Number);
        if arguments.into_iter().all(is_value) {
            self.scan.named = Some(NamedStatement::Execute { name: name.start..name.end });
        }
        Verb::unparsed(after)
    }

    fn execute_immediate(&mut self, text: Option<Token>) -> Verb {
        let after = self.next();
        let is_alone = Self::ends_here(after) || self.is_any(after, &["USING"]);
        let Some(text) = text.filter(|text| text.kind == Kind::String && is_alone) else {
            skip_from(&mut self.lexer, after);
            return Verb::unparsed(None);
        };
        match self.scan_literal(&text) {
            Some(inner) => {
                self.change = ModeChange { sql_mode: true, charset: inner.charset };
                self.scan.doubts |= inner.doubts;
                self.scan.defines = self.scan.defines.max(inner.defines);
                self.scan.sql_mode = inner.sql_mode;
                self.scan.classes = self.scan.classes.union(inner.classes);
                self.scan.doubts |= Doubts::UNSEEN;
                Verb {
                    transaction: inner.transaction,
                    commits: inner.commits_implicitly,
                    takes_lock: inner.takes_lock,
                    ..Verb::new(inner.class.or_stricter(Class::Read), Rest::Calls, after)
                }
            }
            None => Verb::unparsed(after),
        }
    }

    fn deallocate(&mut self) -> Verb {
        let prepare = self.next();
        if self.is_any(prepare, &["PREPARE"]) { self.deallocated() } else { Verb::unparsed(prepare) }
    }

    fn deallocated(&mut self) -> Verb {
        let Some(name) = self.statement_name() else { return Verb::control(None) };
        self.scan.named = Some(NamedStatement::Deallocate { name: name.start..name.end });
        let after = self.next();
        Verb::control(after)
    }

    fn statement_name(&mut self) -> Option<Token> {
        self.next().filter(|name| matches!(name.kind, Kind::Word | Kind::QuotedWord | Kind::String))
    }
}

/// `$$`, or a tag between two of them.
fn begins_dollar_quotes(text: &[u8]) -> bool {
    let tag = text.get(1..).unwrap_or_default();
    let end = tag.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80));
    end.is_some_and(|end| tag.get(end) == Some(&b'$'))
}
