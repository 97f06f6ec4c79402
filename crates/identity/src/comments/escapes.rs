//! The escapes of sqlcommenter's quoted values: URL encoding in its dialects, and `\'`.

use std::borrow::Cow;

use memchr::{memchr, memchr3};

/// Where the text stands. In a key `+` is itself; in a value it is a space, as Java, Go and PHP write it (the others
/// write a plus as `%2B`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Key,
    Value,
}

/// Without its escapes. What looks like an escape and is none stays as it is.
pub(crate) fn unescape(raw: &[u8], place: Place) -> Cow<'_, [u8]> {
    if is_escaped(raw, place) { Cow::Owned(Unescaped { raw, place }.collect()) } else { Cow::Borrowed(raw) }
}

/// The same into `space`; `None` if there is not enough of it.
pub(crate) fn unescape_into<'s>(raw: &'s [u8], place: Place, space: &'s mut [u8]) -> Option<&'s [u8]> {
    if !is_escaped(raw, place) {
        return Some(raw);
    }
    let mut length = 0;
    for byte in (Unescaped { raw, place }) {
        *space.get_mut(length)? = byte;
        length += 1;
    }
    space.get(..length)
}

pub(super) fn is_escaped(raw: &[u8], place: Place) -> bool {
    match place {
        Place::Key => memchr(b'%', raw).is_some(),
        Place::Value => memchr3(b'%', b'+', b'\\', raw).is_some(),
    }
}

struct Unescaped<'a> {
    raw: &'a [u8],
    place: Place,
}

impl Iterator for Unescaped<'_> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let (byte, rest) = match (self.raw, self.place) {
            ([b'%', rest @ ..], _) => percent(rest).unwrap_or((b'%', rest)),
            ([b'+', rest @ ..], Place::Value) => (b' ', rest),
            ([b'\\', b'\'', rest @ ..], Place::Value) => (b'\'', rest),
            ([byte, rest @ ..], _) => (*byte, rest),
            ([], _) => return None,
        };
        self.raw = rest;
        Some(byte)
    }
}

/// The byte that the digits behind a percent sign stand for, and what follows them. Python and PHP double the sign for a
/// formatter that may never run.
fn percent(rest: &[u8]) -> Option<(u8, &[u8])> {
    let [high, low, rest @ ..] = rest.strip_prefix(b"%").unwrap_or(rest) else { return None };
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    Some((digit(high)? << 4 | digit(low)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects() {
        for (raw, plain) in [
            ("plain", "plain"),
            ("%2Fparam%20first", "/param first"),
            ("a%2bb%2Bc", "a+b+c"),
            // Python and PHP, on the wire as they wrote it.
            ("django%%3A2.2.1", "django:2.2.1"),
            ("%%5Epolls/%%24", "^polls/$"),
            ("100%%25", "100%"),
            // Java, Go and PHP.
            ("run+this+%26+that", "run this & that"),
            // The specification's own.
            ("DROP%20TABLE%20FOO\\'", "DROP TABLE FOO'"),
            ("a\\b", "a\\b"),
            // No escapes.
            ("100%", "100%"),
            ("50%-off", "50%-off"),
            ("%", "%"),
            ("%%", "%%"),
            ("%%%", "%%%"),
            ("%4", "%4"),
            ("%%4", "%%4"),
            ("%g1%1g", "%g1%1g"),
            ("%%%41", "%A"),
            ("%2541", "%41"),
            ("\\", "\\"),
        ] {
            assert_eq!(unescape(raw.as_bytes(), Place::Value), plain.as_bytes(), "{raw}");
            let mut space = [0; 64];
            assert_eq!(unescape_into(raw.as_bytes(), Place::Value, &mut space), Some(plain.as_bytes()), "{raw}");
        }
        assert_eq!(unescape(b"a+b\\'%2d", Place::Key), &b"a+b\\'-"[..]);
    }

    #[test]
    fn space_is_bounded() {
        let mut space = [0; 4];
        assert_eq!(unescape_into(b"%41%41%41%41", Place::Value, &mut space), Some(&b"AAAA"[..]));
        assert_eq!(unescape_into(b"%41%41%41%41%41", Place::Value, &mut space), None);
        assert_eq!(unescape_into(b"%%%%%%", Place::Value, &mut space), None);
    }
}
