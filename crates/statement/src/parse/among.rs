//! The tables that a statement may touch, from its names alone, where the parser does not know the grammar.
//!
//! A statement cannot touch a table that it does not name, but for those that its views, routines and triggers touch, which the
//! catalogue knows. So every name in it is taken for a table. This holds only for the kinds of statements that are
//! listed here: IMPORT TABLE, BINLOG and HANDLER … READ, for example, name nothing, or not a table.

use std::collections::BTreeSet;

use crate::program::possible_tables;
use crate::starts::SEMICOLON;
use crate::{Kind, Lexer, Table, Token, unquote};

/// Names of one statement that are looked at.
const MOST: usize = 512;

/// Whether what follows a `;` may belong to the statement, as in a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    AtSemicolon,
    WithText,
}

/// The possible tables of the statement that begins here, behind any number of `;`. `None`: they are not among its names.
pub(super) fn may_touch(mut statement: Lexer<'_>, ends: Ends) -> Option<BTreeSet<Table>> {
    while statement.clone().next().is_some_and(|token| token.kind == SEMICOLON) {
        statement.next();
    }
    let kind = kind(statement.clone());
    if let Kinds::Other = kind {
        return None;
    }
    let mut tables = possible_tables(statement, |token| ends == Ends::WithText || token.kind != SEMICOLON)?;
    match kind {
        Kinds::Defines => {
            let others = in_schemas_of_others(&tables)?;
            tables.extend(others);
        }
        Kinds::DropsSchema(schema) => tables.extend([Table { schema: Some(schema), name: Table::ANY.into() }]),
        Kinds::NamesItsTables | Kinds::Other => {}
    }
    (tables.len() <= MOST).then_some(tables)
}

/// A definition may find a name without a schema in that of the table that it defines: so it is with REFERENCES, and in triggers.
fn in_schemas_of_others(tables: &BTreeSet<Table>) -> Option<Vec<Table>> {
    let schemas: BTreeSet<&str> = tables.iter().filter_map(|table| table.schema.as_deref()).collect();
    let bare = || tables.iter().filter(|table| table.schema.is_none());
    if schemas.len() * bare().count() > MOST {
        return None;
    }
    let put = |schema: &str, table: &Table| Table { schema: Some(schema.into()), name: table.name.clone() };
    Some(schemas.into_iter().flat_map(|schema| bare().map(move |table| put(schema, table))).collect())
}

enum Kinds {
    NamesItsTables,
    /// CREATE and ALTER, which name their tables too.
    Defines,
    DropsSchema(Box<str>),
    Other,
}

/// Whatever comes behind these words, the tables are named.
const NAMING: &[&str] = &[
    "SELECT", "WITH", "VALUES", "TABLE", "INSERT", "REPLACE", "UPDATE", "DELETE", "TRUNCATE", "RENAME", "LOCK", "LOAD",
    "CHECKSUM", "ANALYZE", "OPTIMIZE", "CHECK", "REPAIR", "SET", "DO", "CALL", "GRANT", "REVOKE",
];

/// What may be created or altered by names alone. DROP TRIGGER and ALTER DATABASE, for example, concern tables that they do not
/// name.
const DEFINED: &[&str] = &[
    "TABLE",
    "TEMPORARY",
    "VIEW",
    "INDEX",
    "UNIQUE",
    "FULLTEXT",
    "SPATIAL",
    "PROCEDURE",
    "FUNCTION",
    "AGGREGATE",
    "EVENT",
    "TRIGGER",
    "DEFINER",
    "SQL",
    "ALGORITHM",
    "ONLINE",
    "OFFLINE",
    "IGNORE",
    "USER",
    "ROLE",
    "SEQUENCE",
];
const DROPPED: &[&str] =
    &["TABLE", "TABLES", "TEMPORARY", "VIEW", "INDEX", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SEQUENCE"];
const SCHEMA: &[&str] = &["DATABASE", "SCHEMA"];

fn kind(mut lexer: Lexer<'_>) -> Kinds {
    let Some(first) = lexer.by_ref().find(|token| token.kind != Kind::Symbol(b'(')) else { return Kinds::Other };
    let is = |token: Option<Token>, words: &[&str]| token.is_some_and(|token| lexer.is_any(&token, words));
    let mut behind = lexer.clone();
    let mut second = behind.next();
    let mut replaces = false;
    if is(second, &["OR"]) {
        (replaces, second) = (true, behind.nth(1));
    }
    let first = Some(first);
    if is(first, NAMING) || (is(first, &["DROP"]) && is(second, DROPPED)) {
        return Kinds::NamesItsTables;
    }
    let creates_schema = is(first, &["CREATE"]) && is(second, SCHEMA) && !replaces;
    if creates_schema || (is(first, &["CREATE", "ALTER"]) && is(second, DEFINED)) {
        return Kinds::Defines;
    }
    let drops_schema = is(second, SCHEMA) && (is(first, &["DROP"]) || (is(first, &["CREATE"]) && replaces));
    if drops_schema {
        return dropped_schema(behind).map_or(Kinds::Other, Kinds::DropsSchema);
    }
    Kinds::Other
}

/// Reads from behind DATABASE: `[IF EXISTS] name`.
fn dropped_schema(mut lexer: Lexer<'_>) -> Option<Box<str>> {
    let mut name = lexer.next()?;
    if lexer.is(&name, "IF") {
        let _exists = lexer.next().filter(|exists| lexer.is(exists, "EXISTS"))?;
        name = lexer.next()?;
    }
    if !matches!(name.kind, Kind::Word | Kind::QuotedWord) {
        return None;
    }
    let text = unquote(lexer.text(&name), lexer.mode());
    Some(String::from_utf8_lossy(&text).to_lowercase().into())
}
