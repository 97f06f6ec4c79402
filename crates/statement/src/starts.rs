//! Where the statements of a text begin.

use crate::{Kind, Lexer, Token};
use memchr::{memchr_iter, memmem};

pub(crate) const SEMICOLON: Kind = Kind::Symbol(b';');

/// A cheap look at the text's first word and at what follows each `;`, in a literal or not: whether a statement may
/// start with a wanted word. It may say yes in vain, and then the lexer decides; it never says no in vain.
pub(crate) fn may_start(sql: &[u8], wanted: impl Fn(&[u8]) -> bool) -> bool {
    begins(after_comment(sql), &wanted)
        || memchr_iter(b';', sql).any(|end| begins(sql.get(end + 1..).unwrap_or_default(), &wanted))
}

/// The text after a plain comment at its start, where many frameworks put their tags. Only there: a search for the
/// comment's end from every `;` would be quadratic.
fn after_comment(sql: &[u8]) -> &[u8] {
    match sql {
        [b'/', b'*', b'!' | b'M', ..] => sql,
        [b'/', b'*', comment @ ..] => {
            memmem::find(comment, b"*/").and_then(|end| comment.get(end + 2..)).unwrap_or_default()
        }
        _ => sql,
    }
}

fn begins(text: &[u8], wanted: impl Fn(&[u8]) -> bool) -> bool {
    // Unlike `trim_ascii_start`, with the vertical tab, which is a space to the server.
    let spaces = text.iter().position(|byte| !matches!(byte, b'\t'..=b'\r' | b' ')).unwrap_or(text.len());
    let text = text.get(spaces..).unwrap_or_default();
    match text.first() {
        None => false,
        // A comment, the end of one that is code, or a BOM: the word comes after it.
        Some(b'/' | b'-' | b'#' | b'*' | 0xEF) => true,
        Some(_) => {
            let word = text.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
            text.get(..word).is_some_and(wanted)
        }
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
