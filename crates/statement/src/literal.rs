//! What stands in quotes.

use crate::Mode;
use std::borrow::Cow;

/// The value of a string literal, or the name in a quoted identifier; anything else as it is.
pub fn unquote(text: &[u8], mode: Mode) -> Cow<'_, [u8]> {
    let quoted = strip_introducer(text);
    let (Some(quote @ (b'\'' | b'"' | b'`')), Some(inside)) = (quoted.first().copied(), inside(quoted)) else {
        return Cow::Borrowed(text);
    };
    if inside.contains(&quote) || (quote != b'`' && inside.contains(&b'\\')) {
        Cow::Owned(unescaped(text, mode).collect())
    } else {
        Cow::Borrowed(inside)
    }
}

/// The bytes of a literal or quoted name, without its quotes and with its escapes resolved as the server does.
pub(crate) fn unescaped(text: &[u8], mode: Mode) -> impl Iterator<Item = u8> {
    let text = strip_introducer(text);
    let quote = text.first().copied().unwrap_or(b'\'');
    let is_name = quote == b'`' || (quote == b'"' && mode.ansi_quotes);
    let escapes = !is_name && !mode.no_backslash_escapes;
    let mut bytes = inside(text).unwrap_or_default().iter().copied().peekable();
    let mut kept = None;
    std::iter::from_fn(move || {
        if let Some(byte) = kept.take() {
            return Some(byte);
        }
        let byte = bytes.next()?;
        if byte == quote {
            bytes.next_if_eq(&quote);
        } else if byte == b'\\' && escapes {
            return Some(match bytes.next()? {
                b'0' => 0,
                b'b' => 8,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'Z' => 26,
                // These two keep their backslash, for LIKE.
                wild @ (b'%' | b'_') => {
                    kept = Some(wild);
                    b'\\'
                }
                other => other,
            });
        }
        Some(byte)
    })
}

/// The `N` of `N'x'`.
fn strip_introducer(text: &[u8]) -> &[u8] {
    match text {
        [b'n' | b'N', quoted @ ..] if quoted.first() == Some(&b'\'') => quoted,
        _ => text,
    }
}

fn inside(quoted: &[u8]) -> Option<&[u8]> {
    match quoted {
        [first, inside @ .., last] if first == last => Some(inside),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes() {
        let usual = Mode::default();
        let plain = Mode { no_backslash_escapes: true, ..usual };
        let ansi = Mode { ansi_quotes: true, ..usual };
        for (text, mode, expected) in [
            ("'abc'", usual, "abc"),
            ("''", usual, ""),
            ("'it''s'", usual, "it's"),
            (r"'it\'s\n\%\_\Z\0\b\q'", usual, "it's\n\\%\\_\u{1a}\0\u{8}q"),
            (r"'a\'", plain, r"a\"),
            (r#""a""b""#, usual, "a\"b"),
            (r#""a\nb""#, usual, "a\nb"),
            (r#""a\nb""#, ansi, r"a\nb"),
            ("`a``b`", usual, "a`b"),
            (r"`a\n`", usual, r"a\n"),
            ("N'x'", usual, "x"),
            ("name", usual, "name"),
            ("n", usual, "n"),
            ("", usual, ""),
            ("'", usual, "'"),
            ("'open", usual, "'open"),
        ] {
            assert_eq!(unquote(text.as_bytes(), mode), expected.as_bytes(), "{text} {mode:?}");
        }
    }
}
