//! Where the statements of a text begin.

use crate::{Kind, Lexer, Token};

pub(crate) const SEMICOLON: Kind = Kind::Symbol(b';');

/// Reads on from `last`, which was read already, past the statement's `;`.
pub(crate) fn skip_from(lexer: &mut Lexer<'_>, last: Option<Token>) {
    let mut token = last;
    while token.is_some_and(|token| token.kind != SEMICOLON) {
        token = lexer.next();
    }
}

/// What a CREATE or ALTER keeps for later instead of running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Nothing,
    View,
    /// A procedure, function, trigger, event, package or library. Its body may hold `;`, so the rest of the text counts as the
    /// body; a statement behind it is not seen.
    Program,
}

/// Reads `CREATE [OR REPLACE] [ALGORITHM = …] [DEFINER = …] [SQL SECURITY …] [AGGREGATE] what`, from after its first
/// word. The second value is the last token read.
pub(crate) fn stored(lexer: &mut Lexer<'_>, first: &Token) -> (Stored, Option<Token>) {
    if !lexer.is_any(first, &["CREATE", "ALTER"]) {
        return (Stored::Nothing, Some(*first));
    }
    let mut after_clause = false;
    loop {
        let Some(token) = lexer.next() else { return (Stored::Nothing, None) };
        if lexer.is_any(&token, &["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE", "LIBRARY"]) {
            return (Stored::Program, Some(token));
        }
        if lexer.is(&token, "VIEW") {
            return (Stored::View, Some(token));
        }
        after_clause |= lexer.is_any(&token, &["ALGORITHM", "DEFINER", "SQL"]);
        let goes_on = after_clause || lexer.is_any(&token, &["OR", "REPLACE", "AGGREGATE"]);
        if !goes_on || token.kind == SEMICOLON {
            return (Stored::Nothing, Some(token));
        }
    }
}
