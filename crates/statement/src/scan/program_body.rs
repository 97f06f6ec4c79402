//! The compound body of a trigger, procedure or function, which tools such as pt-online-schema-change and migrations create: one
//! statement, whatever `;` it holds.
//!
//! Where the body surely ends at the end of the text, nothing else is in the text. Anything unusual makes it unsure, and then what
//! follows a `;` is read as if it were a further statement.

use crate::starts::SEMICOLON;
use crate::{Kind, Lexer, Token};

/// Reads from behind `kind`, which is TRIGGER or the like. `true`: a header and BEGIN … END are all there is.
pub(super) fn is_whole_text(kind: &Token, lexer: Lexer<'_>) -> bool {
    let body = if lexer.is(kind, "TRIGGER") {
        behind_trigger_header(lexer)
    } else if lexer.is_any(kind, &["PROCEDURE", "FUNCTION"]) {
        behind_routine_header(lexer)
    } else {
        None
    };
    body.is_some_and(|mut body| {
        let begins = body.next().is_some_and(|token| body.is(&token, "BEGIN"));
        begins && ends_with_block(body)
    })
}

/// FOR EACH ROW: the first of these words are not names, since FOR is reserved.
fn behind_trigger_header(mut lexer: Lexer<'_>) -> Option<Lexer<'_>> {
    let mut header = [None; 2];
    loop {
        let token = lexer.next().filter(|token| token.kind != SEMICOLON)?;
        let is = |token: Option<Token>, word: &str| token.is_some_and(|token: Token| lexer.is(&token, word));
        if is(header[0], "FOR") && is(header[1], "EACH") && lexer.is(&token, "ROW") {
            return Some(lexer);
        }
        header = [header[1], Some(token)];
    }
}

/// What may stand between the parameters of a routine and its body. No statement begins with any of these words.
#[rustfmt::skip]
const CHARACTERISTICS: &[&str] = &[
    "COMMENT", "SQL", "NOT", "DETERMINISTIC", "CONTAINS", "NO", "READS", "MODIFIES", "DATA", "SECURITY", "DEFINER",
    "INVOKER", "RETURNS",
    "BIGINT", "BINARY", "BIT", "BLOB", "BOOL", "BOOLEAN", "CHAR", "DATE", "DATETIME", "DEC", "DECIMAL", "DOUBLE", "ENUM",
    "FIXED", "FLOAT", "INT", "INTEGER", "JSON", "LONGBLOB", "LONGTEXT", "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT", "NUMERIC",
    "PRECISION", "REAL", "SMALLINT", "TEXT", "TIME", "TIMESTAMP", "TINYBLOB", "TINYINT", "TINYTEXT", "UNSIGNED", "VARBINARY",
    "VARCHAR", "YEAR", "ZEROFILL",
];

/// `[IF NOT EXISTS] [schema.]name (parameters) characteristics`.
fn behind_routine_header(mut lexer: Lexer<'_>) -> Option<Lexer<'_>> {
    let mut name = lexer.next()?;
    for word in ["IF", "NOT", "EXISTS"] {
        if lexer.is(&name, word) {
            name = lexer.next()?;
        }
    }
    let is_name = |token: &Token| matches!(token.kind, Kind::Word | Kind::QuotedWord);
    let mut after = lexer.next().filter(|_| is_name(&name))?;
    if after.kind == Kind::Symbol(b'.') {
        let _name = lexer.next().filter(is_name)?;
        after = lexer.next()?;
    }
    skip_parentheses(&mut lexer, &after)?;
    loop {
        let mut ahead = lexer.clone();
        let token = ahead.next()?;
        if lexer.is(&token, "BEGIN") {
            return Some(lexer);
        }
        match token.kind {
            Kind::Word if lexer.is_any(&token, &["CHARSET", "COLLATE"]) => {
                let _name = ahead.next().filter(|name| is_name(name) || name.kind == Kind::String)?;
            }
            // Any other language has a body of its own, a string.
            Kind::Word if lexer.is(&token, "LANGUAGE") => {
                let _sql = ahead.next().filter(|name| lexer.is(name, "SQL"))?;
            }
            Kind::Word if lexer.is_any(&token, CHARACTERISTICS) => {}
            // Of COMMENT.
            Kind::String => {}
            Kind::Symbol(b'(') => skip_parentheses(&mut ahead, &token)?,
            _ => return None,
        }
        lexer = ahead;
    }
}

/// Reads to behind the `)` of this `(`.
fn skip_parentheses(lexer: &mut Lexer<'_>, first: &Token) -> Option<()> {
    if first.kind != Kind::Symbol(b'(') {
        return None;
    }
    let mut depth = 1_u32;
    while depth > 0 {
        match lexer.next()?.kind {
            Kind::Symbol(b'(') => depth += 1,
            Kind::Symbol(b')') => depth -= 1,
            kind if kind == SEMICOLON => return None,
            _ => {}
        }
    }
    Some(())
}

/// A block that was begun ends with the text. BEGIN, CASE and END count where a statement may begin; elsewhere END is that of an
/// expression, and BEGIN is not expected.
fn ends_with_block(mut lexer: Lexer<'_>) -> bool {
    let mut depth = 1_u32;
    let mut begins = true;
    while let Some(token) = lexer.next() {
        if depth == 0 {
            if token.kind == SEMICOLON {
                continue;
            }
            return false;
        }
        let opens = lexer.is(&token, "BEGIN");
        if opens && !begins {
            return false;
        }
        if begins {
            if opens || lexer.is(&token, "CASE") {
                depth += 1;
            } else if lexer.is(&token, "END") {
                let next = lexer.clone().next();
                if !next.is_some_and(|next| lexer.is_any(&next, &["IF", "LOOP", "WHILE", "REPEAT"])) {
                    depth -= 1;
                }
                if depth > 0 && next.is_some_and(|next| lexer.is(&next, "CASE")) {
                    lexer.next();
                }
            } else if token.kind != Kind::Word && token.kind != SEMICOLON {
                // A label, or something that no statement begins with.
                return false;
            }
        }
        begins = opens || token.kind == SEMICOLON;
    }
    depth == 0
}
