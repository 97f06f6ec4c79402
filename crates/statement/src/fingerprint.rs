//! The name of all statements that differ only in their literals.

use crate::normal::{Sample, Sink, Values, Word, feed, feed_statement};
use crate::scan::Readings;
use crate::{Lexer, Mode, Scan};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;

/// Printed as 32 hexadecimal digits. The same on every machine and in every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Not 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAFingerprint;

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Fingerprint, NotAFingerprint> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex {
            return Err(NotAFingerprint);
        }
        u128::from_str_radix(text, 16).map(Fingerprint).map_err(|_| NotAFingerprint)
    }
}

/// The same for texts that differ only in literals, white space, comments, the case of words, quotes around names, or the
/// length of lists; and for what MySQL prints as the text's digest, unless it was cut off. No allocation.
///
/// Names differ by more than their case on some servers; here they do not.
pub fn fingerprint(sql: &[u8], mode: Mode) -> Fingerprint {
    whole(Lexer::new(sql, mode), Words::Synonyms)
}

/// Like a fingerprint, but different for what is spelled differently: synonyms, quotes, a space before a parenthesis. What a
/// text does may depend on these.
pub(crate) fn spelling(sql: &[u8], mode: Mode) -> u128 {
    whole(Lexer::new(sql, mode), Words::AsWritten).0
}

fn whole(lexer: Lexer<'_>, words: Words) -> Fingerprint {
    let mut hash = Hash::new(words);
    feed(lexer, &mut hash);
    Fingerprint(hash.items.finish())
}

/// The fingerprints of a text: its own and, where it has several statements or readings, those of each statement in each
/// reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprints {
    whole: Option<Fingerprint>,
    each: Box<[Fingerprint]>,
    complete: bool,
}

impl Fingerprints {
    /// Of a text that nobody saw.
    pub fn unknown() -> Fingerprints {
        Fingerprints { whole: None, each: Box::default(), complete: false }
    }

    /// Of one statement.
    pub fn one(fingerprint: Fingerprint) -> Fingerprints {
        Fingerprints { whole: Some(fingerprint), each: Box::default(), complete: true }
    }

    /// Of several statements, whose text as a whole has no fingerprint.
    pub fn of_statements(each: Box<[Fingerprint]>) -> Fingerprints {
        Fingerprints { whole: None, each, complete: true }
    }

    /// The fingerprint of the whole text, where it has one.
    pub fn whole(&self) -> Option<Fingerprint> {
        self.whole
    }

    /// Every fingerprint that is known, the text's own first.
    pub fn iter(&self) -> impl Iterator<Item = Fingerprint> {
        self.whole.into_iter().chain(self.each.iter().copied())
    }

    /// Whether the text holds no statement whose fingerprint is not among these.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the text, or a statement of it in some reading, may have one of these fingerprints.
    pub fn may_be(&self, is_one: impl Fn(Fingerprint) -> bool) -> bool {
        !self.complete || self.iter().any(is_one)
    }

    /// Whether the text, or each statement of it in every reading, certainly has one of these fingerprints.
    pub fn are_certainly(&self, is_one: impl Fn(Fingerprint) -> bool) -> bool {
        let each = !self.each.is_empty() && self.each.iter().all(|fingerprint| is_one(*fingerprint));
        self.complete && (each || self.whole.is_some_and(&is_one))
    }
}

/// Statements of one text whose fingerprints are told apart.
const MOST_STATEMENTS: usize = 1024;

impl Scan {
    /// The fingerprints of the scanned text.
    pub fn fingerprints(&self, sql: &[u8]) -> Fingerprints {
        let whole = match &self.readings {
            Readings::One(mode) => Some(fingerprint(sql, *mode)),
            Readings::Several(_) | Readings::TooMany => None,
        };
        let mut found =
            Fingerprints { whole, each: Box::default(), complete: self.text_is_known() && !self.has_odd_names(sql) };
        if self.statements > 1 || whole.is_none() {
            let mut each = Vec::new();
            for segment in self.readings.segments(sql) {
                let mut hash = Hash::new(Words::Synonyms);
                let mut lexer = segment.lexer(sql);
                while let Some(rest) = feed_statement(lexer, &mut hash) {
                    lexer = rest;
                    let done = std::mem::replace(&mut hash, Hash::new(Words::Synonyms));
                    each.push(Fingerprint(done.items.finish()));
                    if each.len() >= MOST_STATEMENTS {
                        return Fingerprints { each: each.into(), complete: false, ..found };
                    }
                }
            }
            each.sort_unstable();
            each.dedup();
            found.each = each.into();
        }
        found
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Synonyms,
    AsWritten,
}

/// Hashes items, and rows of VALUES apart from what is around them.
struct Hash {
    words: Words,
    items: Buffered,
    around: Option<Buffered>,
    row_before: Option<u128>,
}

impl Hash {
    fn new(words: Words) -> Hash {
        Hash { words, items: Buffered::new(), around: None, row_before: None }
    }
}

/// Below any byte that is a symbol of the grammar.
#[derive(Clone, Copy)]
enum Tag {
    Word = 1,
    OddSymbol = 2,
    Value = 3,
    Values = 4,
    RowOfOne = 5,
    Row = 6,
    ValuesRow = 7,
}

impl Sink for Hash {
    fn word(&mut self, word: Word<'_>) {
        let text = match self.words {
            Words::Synonyms => word.synonym.map_or(word.text, str::as_bytes),
            Words::AsWritten => {
                self.items.push(if word.quoted { b'`' } else { b' ' });
                word.text
            }
        };
        // The length keeps two words apart from one; those of the same length modulo 2¹⁶ differ in their bytes.
        let header = [Tag::Word as u8, (text.len() & 0xFF) as u8, (text.len() >> 8 & 0xFF) as u8];
        match self.words {
            Words::Synonyms => self.items.push_lower(header, text),
            // Names that differ by case may be two.
            Words::AsWritten => header.into_iter().chain(text.iter().copied()).for_each(|byte| self.items.push(byte)),
        }
    }

    fn symbol(&mut self, symbol: u8, joined: bool) {
        if self.words == Words::AsWritten && symbol == b'(' {
            self.items.push(if joined { b'(' } else { b' ' });
        }
        if symbol < b' ' {
            self.items.push(Tag::OddSymbol as u8);
        }
        self.items.push(symbol);
    }

    fn values(&mut self, values: Values, _sample: Sample) {
        let tag = match values {
            Values::One => Tag::Value,
            Values::Many => Tag::Values,
            Values::RowOfOne { joined } | Values::Row { joined } => {
                if self.words == Words::AsWritten {
                    self.items.push(if joined { b'(' } else { b' ' });
                }
                if matches!(values, Values::Row { .. }) { Tag::Row } else { Tag::RowOfOne }
            }
        };
        self.items.push(tag as u8);
    }

    fn begin_row(&mut self, is_first: bool) {
        if is_first {
            self.row_before = None;
        }
        self.around = Some(std::mem::replace(&mut self.items, Buffered::new()));
    }

    fn end_row(&mut self) {
        let Some(around) = self.around.take() else { return };
        let row = std::mem::replace(&mut self.items, around).finish();
        if self.row_before != Some(row) {
            self.items.push(Tag::ValuesRow as u8);
            row.to_le_bytes().into_iter().for_each(|byte| self.items.push(byte));
            self.row_before = Some(row);
        }
    }
}

/// A hasher is slow with single bytes.
struct Buffered {
    hasher: SipHasher13,
    bytes: [u8; 64],
    length: usize,
}

impl Buffered {
    /// Not a secret: the fingerprint must be the same everywhere. It is no defence against somebody who looks for two
    /// texts with the same one, and none is needed: the class never comes from it.
    const KEY: [u8; 16] = *b"tollgate  digest";

    fn new() -> Self {
        Self { hasher: SipHasher13::new_with_key(&Self::KEY), bytes: [0; 64], length: 0 }
    }

    fn push(&mut self, byte: u8) {
        if self.length == self.bytes.len() {
            self.hasher.write(&self.bytes);
            self.length = 0;
        }
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
            self.length += 1;
        }
    }

    fn push_lower(&mut self, header: [u8; 3], text: &[u8]) {
        let start = self.length + header.len();
        let end = start + text.len();
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            let (first, rest) = room.split_at_mut(header.len());
            first.copy_from_slice(&header);
            rest.copy_from_slice(text);
            rest.make_ascii_lowercase();
            self.length = end;
        } else {
            header.into_iter().chain(text.iter().map(u8::to_ascii_lowercase)).for_each(|byte| self.push(byte));
        }
    }

    fn finish(mut self) -> u128 {
        self.hasher.write(self.bytes.get(..self.length).unwrap_or_default());
        self.hasher.finish128().as_u128()
    }
}
