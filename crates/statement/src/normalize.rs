//! A text without its literals, for people.

use crate::normal::{Sample, Sink, Values, Word, feed, feed_statement};
use crate::words::look_up;
use crate::{Lexer, Mode};
use std::borrow::Cow;
use std::ops::Range;

/// The text with `?` for its literals, without comments, on one line; of at most `limit` bytes, and `…` where it goes on.
/// It has the fingerprint of the text that it was made from, unless it was cut.
pub fn normalize(sql: &[u8], mode: Mode, limit: usize) -> String {
    let mut text = Text::new(Reader::Person, limit);
    feed(Lexer::new(sql, mode), &mut text);
    let mut text = text.into_string();
    if text.len() > limit {
        let room = limit.saturating_sub('…'.len_utf8());
        let end = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        if limit >= '…'.len_utf8() {
            text.push('…');
        }
    }
    text
}

/// The next statement of a lexer with literals that a parser takes, and with all the quotes that were there. `None` if there is no
/// further one; no text if it is longer than `limit`.
pub(crate) fn simplify(lexer: Lexer<'_>, limit: usize) -> Option<(Lexer<'_>, Option<String>)> {
    let mut text = Text::new(Reader::Parser, limit);
    let rest = feed_statement(lexer, &mut text)?;
    Some((rest, Some(text.into_string()).filter(|text| text.len() <= limit)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Person,
    Parser,
}

struct Text {
    reader: Reader,
    bytes: Vec<u8>,
    limit: usize,
    before: Before,
    /// Where the row begins that is being written, and where the one before it stands.
    row_start: usize,
    row_before: Option<Range<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Word,
    /// IN.
    In,
    Values,
    Symbol(u8),
}

/// Symbols that make an operator together. Not `--`, which with a space behind it would be a comment.
const OPERATORS: [[u8; 2]; 10] = [*b"<=", *b">=", *b"!=", *b"=>", *b"<<", *b">>", *b":=", *b"||", *b"&&", *b"->"];

impl Text {
    fn new(reader: Reader, limit: usize) -> Self {
        Self { reader, bytes: Vec::new(), limit, before: Before::Nothing, row_start: 0, row_before: None }
    }

    fn into_string(self) -> String {
        match String::from_utf8_lossy(&self.bytes) {
            Cow::Owned(text) => text,
            Cow::Borrowed(text) => text.to_owned(),
        }
    }

    /// Beyond the limit nothing is kept, but for a while: a row may be forgotten again.
    fn is_full(&self) -> bool {
        self.bytes.len() > self.limit.saturating_add(4096)
    }

    fn space(&mut self) {
        let joined = matches!(self.before, Before::Nothing | Before::Symbol(b'(' | b'.' | b'@'));
        if !joined {
            self.bytes.push(b' ');
        }
    }

    fn push_name(&mut self, name: &[u8]) {
        // For a line of a log.
        self.bytes.extend(name.iter().map(|byte| if byte.is_ascii_control() { b' ' } else { *byte }));
    }
}

impl Sink for Text {
    fn word(&mut self, word: Word<'_>) {
        if self.is_full() {
            return;
        }
        self.space();
        let is_keyword = look_up(word.text).is_some_and(|known| known.is_keyword());
        let is_name = self.before == Before::Symbol(b'.');
        // `@x` loses its name, `` @`x` `` does not: so it is in MySQL's digests.
        let is_variable = self.before == Before::Symbol(b'@');
        let needs_quotes = is_keyword || is_variable || self.reader == Reader::Parser || !is_plain(word.text);
        if word.quoted && needs_quotes {
            self.bytes.push(b'`');
            self.push_name(word.text);
            self.bytes.push(b'`');
        } else if is_keyword && !is_name && self.reader == Reader::Person {
            self.bytes.extend(word.text.iter().map(u8::to_ascii_uppercase));
        } else {
            self.push_name(word.text);
        }
        let is_in = !word.quoted && word.text.eq_ignore_ascii_case(b"in");
        self.before = if is_in { Before::In } else { Before::Word };
    }

    fn symbol(&mut self, symbol: u8, joined: bool) {
        if self.is_full() {
            return;
        }
        let is_joined = match (self.before, symbol) {
            (_, b')' | b',' | b'.' | b';') => true,
            (Before::Word | Before::Values, b'(' | b'@') => joined,
            (Before::Symbol(before), symbol) => joined && OPERATORS.contains(&[before, symbol]),
            (Before::Nothing | Before::In | Before::Word | Before::Values, _) => false,
        };
        if !is_joined {
            self.space();
        }
        if symbol.is_ascii_control() {
            self.bytes.extend_from_slice("\u{FFFD}".as_bytes());
        } else {
            self.bytes.push(symbol);
        }
        self.before = Before::Symbol(symbol);
    }

    fn empty_variable(&mut self) {
        if self.reader == Reader::Parser && !self.is_full() {
            self.bytes.push(b'x');
            self.before = Before::Word;
        }
    }

    fn values(&mut self, values: Values, sample: Sample) {
        if self.is_full() {
            return;
        }
        let [one, many, row_of_one, row] = match (self.reader, sample) {
            (Reader::Person, _) => ["?", "?, ...", "(?)", "(...)"],
            // Of `@x`.
            (Reader::Parser, _) if self.before == Before::Symbol(b'@') => ["x", "x, 1", "(x)", "(x)"],
            (Reader::Parser, Sample::Null) => ["NULL", "NULL, 1", "(NULL)", "(NULL, 1)"],
            (Reader::Parser, Sample::Number) => ["1", "1, 1", "(1)", "(1, 1)"],
            // As a literal that the parser does not take for a name.
            (Reader::Parser, Sample::MaybeName) => ["X'1F'", "X'1F', 1", "(X'1F')", "(X'1F', 1)"],
            (Reader::Parser, Sample::Text) => ["'x'", "'x', 'x'", "('x')", "('x', 'x')"],
        };
        let (text, is_joined) = match values {
            Values::One => (one, false),
            Values::Many => (many, false),
            Values::RowOfOne { joined } => (row_of_one, joined),
            Values::Row { joined } => (row, joined),
        };
        if !(is_joined && self.before == Before::Word) {
            self.space();
        }
        self.bytes.extend_from_slice(text.as_bytes());
        self.before = Before::Values;
    }

    fn begin_row(&mut self, is_first: bool) {
        if is_first {
            self.row_before = None;
        } else {
            self.bytes.push(b',');
        }
        self.bytes.push(b' ');
        self.row_start = self.bytes.len();
        self.before = Before::Nothing;
    }

    fn end_row(&mut self) {
        let row = self.row_start..self.bytes.len();
        let before = self.row_before.clone().and_then(|before| self.bytes.get(before));
        if before.is_some() && before == self.bytes.get(row.clone()) {
            // With the comma and the space.
            self.bytes.truncate(row.start.saturating_sub(2));
        } else {
            self.row_before = Some(row);
        }
        self.before = Before::Values;
    }
}

/// Whether the name needs no quotes.
fn is_plain(name: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || *byte >= 0x80;
    name.first().is_some_and(|first| !first.is_ascii_digit() && *first != b'_') && name.iter().all(is_letter)
}

#[cfg(test)]
mod tests;
