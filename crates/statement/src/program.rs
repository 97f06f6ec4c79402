//! What the body of a stored routine, a trigger or a view may do.
//!
//! The answer is an over-approximation, which is right for restricting rules and wrong for favouring ones: a word counts
//! wherever it stands, and every identifier may be a table. The caller knows which tables and routines exist and drops the
//! other names.

use std::collections::BTreeSet;

use crate::charset::mentions_file;
use crate::words::{Own, look_up};
use crate::{Kind, Lexer, Mode, Server, Table, Token, unquote};

/// The possible effects of one body, without those of the routines that it calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramEffects {
    pub reads: bool,
    /// Also locking reads, `INTO OUTFILE` and sequences.
    pub writes: bool,
    pub ddl: bool,
    /// PREPARE, EXECUTE or EXECUTE IMMEDIATE: the text that runs is not in the body. Also DROP DATABASE, whose tables are not.
    pub dynamic: bool,
    /// GET_LOCK or LOCK TABLES.
    pub locks: bool,
    /// Names that may be tables, in lower case. Columns, aliases, variables and labels are among them.
    pub names: BTreeSet<Table>,
    /// Names that may be routines, in lower case. A table with a list of columns behind it is among them.
    pub calls: BTreeSet<Table>,
    /// Names are missing: the body has more than [`MOST_NAMES`], or names a table by its file.
    pub truncated: bool,
}

/// The limit on the names that are kept of one body.
pub const MOST_NAMES: usize = 4096;

/// The lexer mode of a body that was stored under this `sql_mode`.
pub fn mode_of(sql_mode: &str, server: Server) -> Mode {
    let has = |name: &str| sql_mode.split(',').any(|word| word.trim().eq_ignore_ascii_case(name));
    // The combinations set the flag itself too; they are listed for servers that do not say so.
    let ansi = ["ANSI_QUOTES", "ANSI", "ORACLE", "MSSQL", "DB2", "MAXDB", "POSTGRESQL"];
    Mode {
        ansi_quotes: ansi.into_iter().any(has),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        server,
        ..Mode::default()
    }
}

/// Reads a body in UTF-8. It never fails: whatever stands there is searched for words and names.
pub fn effects(body: &[u8], mode: Mode) -> ProgramEffects {
    let mut effects = ProgramEffects { truncated: mentions_file(body), ..ProgramEffects::default() };
    read(Lexer::new(body, mode), |_| true, &mut effects);
    if memchr::memmem::find(body, b"/*!").is_some() || memchr::memmem::find(body, b"/*M!").is_some() {
        // Code for one version is a comment for another.
        for server in [Server::Unknown, Server::MySql(0)] {
            read(Lexer::new(body, Mode { server, ..mode }), |_| true, &mut effects);
        }
    }
    effects
}

/// The names that may be tables, as long as the tokens of a text belong to it. `None`: there are more than [`MOST_NAMES`].
pub(crate) fn possible_tables(rest: Lexer<'_>, belongs: impl Fn(&Token) -> bool) -> Option<BTreeSet<Table>> {
    let mut effects = ProgramEffects::default();
    read(rest, belongs, &mut effects);
    (!effects.truncated).then_some(effects.names)
}

fn read(lexer: Lexer<'_>, belongs: impl Fn(&Token) -> bool, effects: &mut ProgramEffects) {
    let tokens: Vec<Token> = lexer.clone().take_while(belongs).collect();
    let body = Body { lexer, tokens: &tokens };
    let mut at = 0;
    while at < tokens.len() {
        body.word(at, effects);
        at = body.chain(at, effects);
    }
}

struct Body<'a> {
    lexer: Lexer<'a>,
    tokens: &'a [Token],
}

/// Statements whose first word is reserved, so that the word cannot be a name.
const RESERVED_DDL: &[&str] = &["CREATE", "ALTER", "DROP", "GRANT", "REVOKE", "RENAME", "OPTIMIZE", "CHANGE"];
const RESERVED_WRITES: &[&str] = &["UPDATE", "DELETE", "LOAD", "LOCK", "OUTFILE", "ANALYZE", "CHECK", "PURGE"];
const QUERIES: &[&str] = &["SELECT", "TABLE", "VALUES", "WITH"];
/// Statements whose first word may also be a name; they count where a statement can begin.
const FREE_DDL: &[&str] =
    &["TRUNCATE", "INSTALL", "UNINSTALL", "IMPORT", "CLONE", "SHUTDOWN", "RESTART", "REPAIR", "PASSWORD"];
const FREE_WRITES: &[&str] = &["FLUSH", "CACHE", "RESET", "START", "STOP", "BINLOG", "XA", "BACKUP"];
const DYNAMIC: &[&str] = &["PREPARE", "EXECUTE"];
const LOCKING_FUNCTIONS: &[&str] = &["GET_LOCK", "SERVICE_GET_READ_LOCKS", "SERVICE_GET_WRITE_LOCKS"];
const SEQUENCE_FUNCTIONS: &[&str] = &["NEXTVAL", "SETVAL"];

/// Words that are reserved by MySQL and MariaDB alike and common in bodies: without quotes they name nothing.
#[rustfmt::skip]
const NEVER_NAMES: &[&str] = &[
    "ALTER", "AND", "AS", "BETWEEN", "BIGINT", "BY", "CALL", "CASE", "CHAR", "CREATE", "CROSS", "DECLARE", "DEFAULT",
    "DELETE", "DESC", "DISTINCT", "DROP", "EACH", "ELSE", "ELSEIF", "EXISTS", "FALSE", "FETCH", "FOR", "FROM", "GROUP",
    "HAVING", "IF", "IGNORE", "IN", "INNER", "INSERT", "INT", "INTEGER", "INTERVAL", "INTO", "IS", "JOIN", "LEFT", "LIKE",
    "LIMIT", "LOOP", "NOT", "NULL", "ON", "OR", "ORDER", "REPEAT", "REPLACE", "RETURN", "SELECT", "SET", "TABLE", "THEN",
    "TO", "TRUE", "UNION", "UPDATE", "USING", "VALUES", "VARCHAR", "WHEN", "WHERE", "WHILE", "WITH",
];

impl Body<'_> {
    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    fn is(&self, at: usize, words: &[&str]) -> bool {
        self.token(at).is_some_and(|token| self.lexer.is_any(token, words))
    }

    fn is_symbol(&self, at: usize, symbol: u8) -> bool {
        self.token(at).is_some_and(|token| token.kind == Kind::Symbol(symbol))
    }

    fn is_identifier(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| matches!(token.kind, Kind::Word | Kind::QuotedWord))
    }

    /// What the word says of the statement that it stands in.
    fn word(&self, at: usize, effects: &mut ProgramEffects) {
        let after_dot = at > 0 && self.is_symbol(at - 1, b'.');
        if after_dot || self.token(at).is_none_or(|token| token.kind != Kind::Word) {
            return;
        }
        let after = |words: &[&str]| at > 0 && self.is(at - 1, words);
        let calls = self.is_symbol(at + 1, b'(');
        effects.reads |= self.is(at, QUERIES);
        effects.ddl |= self.is(at, RESERVED_DDL) || (self.is(at, FREE_DDL) && self.may_begin_statement(at));
        effects.writes |= self.is(at, RESERVED_WRITES)
            || (self.is(at, &["INSERT", "REPLACE"]) && !calls)
            || (self.is(at, &["SHARE"]) && after(&["FOR"]))
            || (self.is(at, &["DUMPFILE"]) && after(&["INTO"]))
            || (self.is(at, &["VALUE"]) && after(&["NEXT"]))
            || self.is(at, SEQUENCE_FUNCTIONS)
            || (self.is(at, FREE_WRITES) && self.may_begin_statement(at) && !self.is(at + 1, &["TRANSACTION"]));
        effects.locks |=
            self.is(at, LOCKING_FUNCTIONS) || (self.is(at, &["LOCK"]) && self.is(at + 1, &["TABLE", "TABLES"]));
        effects.dynamic |= (self.is(at, DYNAMIC) && self.may_begin_statement(at))
            || (self.is(at, &["DROP", "REPLACE"]) && self.is(at + 1, &["DATABASE", "SCHEMA"]));
        // `sequence.nextval`, as MariaDB's ORACLE mode has it.
        effects.writes |= self.is_symbol(at + 1, b'.') && self.is(at + 2, &["NEXTVAL"]);
    }

    /// Whether a verb here may be one: labels, conditions of handlers and keywords may stand before it.
    fn may_begin_statement(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.token(before)).map(|token| token.kind);
        let begins = match before {
            None => true,
            Some(Kind::Symbol(symbol)) => matches!(symbol, b';' | b':' | b')'),
            Some(Kind::Variable) => false,
            Some(Kind::Word | Kind::QuotedWord | Kind::String | Kind::Number) => true,
        };
        let goes_on = match self.token(at + 1).map(|token| token.kind) {
            None => true,
            Some(Kind::Symbol(symbol)) => matches!(symbol, b';' | b'='),
            Some(Kind::Word | Kind::QuotedWord | Kind::String | Kind::Number | Kind::Variable) => true,
        };
        begins && goes_on
    }

    /// Reads the name that begins here, with its dots, and returns where to go on.
    fn chain(&self, at: usize, effects: &mut ProgramEffects) -> usize {
        if !self.is_identifier(at) {
            return at + 1;
        }
        let mut parts = vec![at];
        let mut end = at + 1;
        while self.is_symbol(end, b'.') && self.is_identifier(end + 1) {
            parts.push(end + 1);
            end += 2;
        }
        let names: Vec<Box<str>> = parts.iter().map(|part| self.name(*part)).collect();
        let called = self.is_symbol(end, b'(') || (at > 0 && self.is(at - 1, &["CALL"]));
        match names.as_slice() {
            [name] => {
                // Behind AS stands the name that something gets here.
                let is_alias = at > 0 && self.is(at - 1, &["AS"]);
                if !is_alias && !self.is(at, NEVER_NAMES) {
                    effects.add_name(None, name);
                }
                if called && !self.is_own_function(at, end) {
                    effects.add_call(None, name);
                }
            }
            [first, second] => {
                effects.add_name(Some(first), second);
                // A column of this table, or a program of this package.
                effects.add_name(None, first);
                if called {
                    effects.add_call(Some(first), second);
                    effects.add_call(None, first);
                }
            }
            [first, second, third, ..] => {
                effects.add_name(Some(first), second);
                if called {
                    effects.add_call(Some(first), second);
                    effects.add_call(Some(second), third);
                }
            }
            [] => {}
        }
        // `FROM .t` is a keyword and a table of the default schema; `from.t` is one name.
        if names.len() > 1 && self.is_keyword(at) { at + 1 } else { end }
    }

    fn is_keyword(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| {
            token.kind == Kind::Word && look_up(self.lexer.text(token)).is_some_and(|known| known.is_keyword())
        })
    }

    fn name(&self, at: usize) -> Box<str> {
        let text = self.token(at).map(|token| self.lexer.text(token)).unwrap_or_default();
        let name = unquote(text, self.lexer.mode());
        String::from_utf8_lossy(&name).to_lowercase().into()
    }

    fn is_own_function(&self, at: usize, parenthesis: usize) -> bool {
        if at > 0 && self.is(at - 1, &["CALL"]) {
            return false;
        }
        let Some((name, parenthesis)) = self.token(at).zip(self.token(parenthesis)) else { return false };
        let quoted = name.kind == Kind::QuotedWord;
        let text = self.name(at);
        match look_up(text.as_bytes()).map_or(Own::No, |known| known.own(self.lexer.mode().server)) {
            Own::No => false,
            Own::Adjacent => !quoted && name.end == parenthesis.start,
            Own::Unquoted => !quoted,
            Own::Always => true,
        }
    }
}

impl ProgramEffects {
    fn add_name(&mut self, schema: Option<&str>, name: &str) {
        self.truncated |= !add(&mut self.names, schema, name);
    }

    fn add_call(&mut self, schema: Option<&str>, name: &str) {
        self.truncated |= !add(&mut self.calls, schema, name);
    }
}

/// Whether there was room.
fn add(set: &mut BTreeSet<Table>, schema: Option<&str>, name: &str) -> bool {
    let table = Table { schema: schema.map(Into::into), name: name.into() };
    set.contains(&table) || (set.len() < MOST_NAMES && set.insert(table))
}

#[cfg(test)]
mod tests;
