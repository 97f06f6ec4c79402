//! The compound body of a trigger, which tools such as pt-online-schema-change create: one statement, whatever `;` it holds.
//!
//! Where the body surely ends at the end of the text, nothing else is in the text. Anything unusual makes it unsure, and then what
//! follows a `;` is read as if it were a further statement.

use crate::starts::SEMICOLON;
use crate::{Kind, Lexer, Token};

/// Reads from behind TRIGGER. `true`: FOR EACH ROW BEGIN … END is all there is.
pub(super) fn is_whole_text(mut lexer: Lexer<'_>) -> bool {
    let mut header = [None; 3];
    loop {
        let Some(token) = lexer.next().filter(|token| token.kind != SEMICOLON) else { return false };
        let is = |token: Option<Token>, word: &str| token.is_some_and(|token: Token| lexer.is(&token, word));
        if is(header[0], "FOR") && is(header[1], "EACH") && is(header[2], "ROW") {
            return lexer.is(&token, "BEGIN") && ends_with_block(lexer);
        }
        header = [header[1], header[2], Some(token)];
    }
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
