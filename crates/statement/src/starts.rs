//! Where the statements of a text begin.

use crate::{Kind, Lexer, Token};
use memchr::memchr_iter;

pub(crate) const SEMICOLON: Kind = Kind::Symbol(b';');

/// A cheap look at what follows each `;`, in a literal or not: whether a later statement may start with a wanted
/// word. It may say yes in vain, and then the lexer decides; it never says no in vain.
pub(crate) fn may_start_later(sql: &[u8], wanted: impl Fn(&[u8]) -> bool) -> bool {
    memchr_iter(b';', sql).any(|semicolon| {
        let rest = sql.get(semicolon + 1..).unwrap_or_default().trim_ascii_start_mysql();
        match rest.first() {
            None => false,
            // A comment, or the end of one that is code: the word comes after it.
            Some(b'/' | b'-' | b'#' | b'*') => true,
            Some(_) => {
                let word = rest.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
                rest.get(..word).is_some_and(&wanted)
            }
        }
    })
}

trait TrimStart {
    fn trim_ascii_start_mysql(&self) -> &Self;
}

impl TrimStart for [u8] {
    /// Unlike `trim_ascii_start`, with the vertical tab, which is a space to the server.
    fn trim_ascii_start_mysql(&self) -> &Self {
        let spaces = self.iter().position(|byte| !matches!(byte, b'\t'..=b'\r' | b' ')).unwrap_or(self.len());
        self.get(spaces..).unwrap_or_default()
    }
}

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
    /// A procedure, function, trigger, event or package. Its body may hold `;`, so the rest of the text counts as the
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
        if lexer.is_any(&token, &["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE"]) {
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
