//! The plain comments of a stretch of text that holds nothing but white space, `;` and comments.

use std::ops::Range;

use memchr::{memchr, memchr2};

/// The insides of its `/* … */`, in order. Line comments are passed over: nobody writes tags into them. So are `/*!` and
/// `/*M!`, which are code to some server, and `/*+`, which are hints. It ends at what is not closed or does not belong.
pub(crate) struct Comments<'a> {
    text: &'a [u8],
    position: usize,
}

impl<'a> Comments<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, position: 0 }
    }

    fn rest(&self, from: usize) -> &'a [u8] {
        self.text.get(from..).unwrap_or_default()
    }

    fn skip_line(&mut self) {
        let rest = self.rest(self.position);
        self.position += memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    /// A code comment may have plain ones in it, one deep. Where a server takes `/*M!` for a plain one this passes over
    /// too much: what is lost is a claim.
    fn skip_code(&mut self, inside: usize) {
        self.position = inside;
        while let Some(found) = memchr2(b'*', b'/', self.rest(self.position)) {
            self.position += found;
            match self.rest(self.position) {
                [b'*', b'/', ..] => {
                    self.position += 2;
                    return;
                }
                [b'/', b'*', inner @ ..] => {
                    self.position += 2 + closing(inner).map_or(inner.len(), |end| end + 2);
                }
                _ => self.position += 1,
            }
        }
        self.position = self.text.len();
    }
}

impl Iterator for Comments<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            match self.rest(self.position) {
                [b'\t'..=b'\r' | b' ' | b';', ..] => self.position += 1,
                [b'#', ..] => self.skip_line(),
                [b'-', b'-', rest @ ..] if rest.first().is_none_or(|byte| *byte <= b' ' || *byte == 0x7F) => {
                    self.skip_line();
                }
                [b'/', b'*', b'!', ..] => self.skip_code(self.position + 3),
                [b'/', b'*', b'M', b'!', ..] => self.skip_code(self.position + 4),
                [b'/', b'*', inside @ ..] => {
                    let start = self.position + 2;
                    let Some(length) = closing(inside) else { break };
                    self.position = start + length + 2;
                    if inside.first() != Some(&b'+') {
                        return Some(start..start + length);
                    }
                }
                _ => break,
            }
        }
        self.position = self.text.len();
        None
    }
}

/// Where the first `*/` is.
fn closing(text: &[u8]) -> Option<usize> {
    let mut star = 0;
    loop {
        star += memchr(b'*', text.get(star..)?)?;
        if text.get(star + 1) == Some(&b'/') {
            return Some(star);
        }
        star += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insides_of_plain_comments() {
        for (text, insides) in [
            ("", &[][..]),
            (" \t\r\n;;\x0b\x0c", &[]),
            ("/*a*/", &["a"]),
            ("/**/", &[""]),
            (" /* a */ ; /*b*/\n", &[" a ", "b"]),
            ("/*a/*b*/", &["a/*b"]),
            // `/*/` has only begun.
            ("/*/ a */", &["/ a "]),
            ("-- /*a*/\n/*b*/", &["b"]),
            ("# /*a*/\n/*b*/", &["b"]),
            ("--\x01/*a*/", &[]),
            ("--", &[]),
            ("/*b*/ -- x", &["b"]),
            ("/*b*/ # /* x */", &["b"]),
            ("/*+ a='1' */ /*b*/", &["b"]),
            ("/*!50000 a */ /*b*/", &["b"]),
            ("/*!99999 /* x */ /*tier='gold'*/ */ /*b*/", &["b"]),
            ("/*M!100100 /*tier='gold'*/ */ /*b*/", &["b"]),
            ("/*M a */", &["M a "]),
            // Not closed.
            ("/*a*/ /*b", &["a"]),
            ("/*a*/ /*b*", &["a"]),
            ("/*", &[]),
            ("/*!", &[]),
            ("/*! /* ", &[]),
            ("/", &[]),
            // Does not belong.
            ("/*a*/ x /*b*/", &["a"]),
            ("--x\n/*b*/", &[]),
            ("*/ /*b*/", &[]),
            ("\0/*b*/", &[]),
        ] {
            let found: Vec<&str> = Comments::new(text.as_bytes()).map(|range| &text[range]).collect();
            assert_eq!(found, insides, "{text:?}");
        }
    }
}
