//! Every way in which the server may read a text.
//!
//! A text has one reading as long as nothing that decides how bytes become tokens is in doubt. Two things bring doubt: what
//! the session does not know of itself (its character set after a reset, its ANSI_QUOTES), and a statement of the
//! text that changes the mode for the statements behind it. From there on, each possible mode begins a segment of its own.

use crate::charset::SWE7_LETTERS;
use crate::lexer::{Met, Position};
use crate::{Charset, CharsetChange, Extent, Lexer, Mode, Server};
use memchr::{memchr, memchr2_iter, memmem};

/// A part of a text that is read in one mode: from a position between two statements to the end of a statement that changes
/// the mode, or to the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: Position,
    pub(crate) end: usize,
    pub(crate) mode: Mode,
}

impl Segment {
    pub(crate) fn text(self, sql: &[u8]) -> &[u8] {
        sql.get(self.start.offset..self.end).unwrap_or_default()
    }

    pub(crate) fn lexer(self, sql: &[u8]) -> Lexer<'_> {
        let extent = if self.end < sql.len() { Extent::Whole } else { self.mode.extent };
        Lexer::resumed(sql.get(..self.end).unwrap_or(sql), self.start, Mode { extent, ..self.mode })
    }
}

/// All segments of a text. Each of them may be what the server reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Readings {
    /// One reading of the whole text.
    One(Mode),
    Several(Box<[Segment]>),
    /// More than can be read in reasonable time.
    TooMany,
}

impl Readings {
    /// The segments; none if there are too many.
    pub(crate) fn segments(&self, sql: &[u8]) -> impl Iterator<Item = Segment> {
        let one = match self {
            Readings::One(mode) => Some(Segment { start: Position::START, end: sql.len(), mode: *mode }),
            Readings::Several(_) | Readings::TooMany => None,
        };
        let several = match self {
            Readings::Several(segments) => &**segments,
            Readings::One(_) | Readings::TooMany => &[],
        };
        one.into_iter().chain(several.iter().copied())
    }
}

/// What a statement may change for those behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ModeChange {
    pub(crate) sql_mode: bool,
    pub(crate) charset: Option<CharsetChange>,
}

impl ModeChange {
    /// Of a statement whose effects its text does not show.
    pub(crate) const ANYTHING: ModeChange = ModeChange { sql_mode: true, charset: Some(CharsetChange::Unknown) };

    pub(crate) fn is_none(self) -> bool {
        self == ModeChange::default()
    }
}

/// The modes in which a part of a text must be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates {
    base: Mode,
    backslash: bool,
    quotes: bool,
    brackets: bool,
    versions: bool,
    /// A bit for each family of [`Charset::ALL`].
    charsets: u16,
}

impl Candidates {
    /// At the start of a text whose usual reading met this. `None`: there is no other reading.
    pub(crate) fn at_start(sql: &[u8], mode: Mode, met: Met) -> Option<Candidates> {
        let charsets = relevant_charsets(sql, mode.charset, met.swe7_letter);
        let versions = mode.server == Server::Unknown && met.code_comment;
        let quotes = met.escape_in_double_quotes && !mode.no_backslash_escapes;
        let brackets = met.bracket && !mode.brackets && may_be_mariadb(mode.server);
        let found = Candidates { base: mode, backslash: false, quotes, brackets, versions, charsets };
        if found.number() == 1 {
            return None;
        }
        // Another reading may meet what the usual one did not.
        Some(Candidates { quotes: quotes || may_quote(sql), brackets: brackets || may_bracket(sql, mode), ..found })
    }

    /// For what stands behind a statement that changed this.
    pub(crate) fn after(rest: &[u8], mode: Mode, change: ModeChange) -> Candidates {
        let charset = change.charset.map_or(mode.charset, CharsetChange::charset);
        let base = Mode { charset, ..mode };
        let unknown = change.sql_mode;
        let letters = has_swe7_letters(rest);
        Candidates {
            base,
            backslash: unknown && memchr(b'\\', rest).is_some(),
            quotes: unknown && may_quote(rest),
            brackets: unknown && may_bracket(rest, mode),
            versions: false,
            charsets: relevant_charsets(rest, charset, letters),
        }
    }

    pub(crate) fn base(&self) -> Mode {
        self.base
    }

    /// Whether every character set reads the text alike.
    pub(crate) fn reads_alike(&self, rest: &[u8]) -> bool {
        rest.is_ascii() && !has_swe7_letters(rest)
    }

    pub(crate) fn number(&self) -> usize {
        let twice = |question: bool| 1 + usize::from(question);
        let charsets = self.charsets.count_ones().max(1) as usize;
        twice(self.backslash) * twice(self.quotes) * twice(self.brackets) * twice(self.versions) * charsets
    }

    /// The base mode comes first.
    pub(crate) fn modes(self) -> impl Iterator<Item = Mode> {
        (0..self.number()).map(move |number| self.mode(number))
    }

    fn mode(&self, number: usize) -> Mode {
        let mut rest = number;
        let mut toggle = |question: bool| {
            let choice = question && rest % 2 == 1;
            if question {
                rest /= 2;
            }
            choice
        };
        let mut mode = self.base;
        mode.no_backslash_escapes ^= toggle(self.backslash);
        mode.ansi_quotes ^= toggle(self.quotes);
        mode.brackets ^= toggle(self.brackets);
        if toggle(self.versions) {
            // The oldest server takes every code comment with a version for a comment.
            mode.server = Server::MySql(0);
        }
        let families = (0..).zip(Charset::ALL).filter(|(bit, _)| self.charsets & (1 << bit) != 0);
        if let Some((_, charset)) = families.map(|(bit, charset): (u32, Charset)| (bit, charset)).nth(rest) {
            mode.charset = charset;
        }
        mode
    }
}

pub(super) fn has_swe7_letters(text: &[u8]) -> bool {
    text.iter().any(|byte| SWE7_LETTERS.contains(byte))
}

fn may_be_mariadb(server: Server) -> bool {
    !matches!(server, Server::MySql(_))
}

/// Whether ANSI_QUOTES may change where a token ends: a backslash escapes in strings only.
fn may_quote(text: &[u8]) -> bool {
    memchr(b'"', text).is_some() && memchr(b'\\', text).is_some()
}

fn may_bracket(text: &[u8], mode: Mode) -> bool {
    may_be_mariadb(mode.server) && memchr(b'[', text).is_some()
}

/// The families that read this text in different ways, where the character set is not known. `letters`: a symbol stands in
/// the code that swe7 takes for a letter. Nothing is relevant where the set is known, since then there is one reading.
fn relevant_charsets(text: &[u8], charset: Charset, letters: bool) -> u16 {
    if charset != Charset::Unknown || (text.is_ascii() && !letters) {
        return 0;
    }
    let pairs = has_odd_pairs(text);
    let has = |byte: u8| memchr(byte, text).is_some();
    let has_space = |byte: Option<u8>| byte.is_some_and(has);
    let dashes = |charset: Charset| {
        memmem::find_iter(text, b"--")
            .any(|at| text.get(at + 2).is_some_and(|&byte| byte >= 0x80 && charset.ends_dashes(byte)))
    };
    let differs = |charset: Charset| match charset {
        Charset::Utf8 => true,
        // Read alike, and names of neither are believed.
        Charset::Plain => false,
        Charset::Swe7 => letters,
        Charset::Latin | Charset::Dos => has_space(charset.space()) || dashes(charset),
        Charset::Big5 | Charset::Gbk | Charset::Gb18030 | Charset::Sjis => pairs,
        // Those with a space have the same one as one of the above.
        Charset::Cp850 | Charset::Cp1250 | Charset::Hebrew | Charset::Hp8 | Charset::Latin7 | Charset::Macroman => {
            dashes(charset)
        }
        Charset::Unknown => false,
    };
    let bits = (0..).zip(Charset::ALL).filter(|(_, charset)| differs(*charset)).fold(0, |bits, (at, _)| bits | 1 << at);
    if bits == 1 { 0 } else { bits }
}

/// Whether a set of two bytes a character could split the text otherwise.
fn has_odd_pairs(text: &[u8]) -> bool {
    memchr2_iter(b'\\', b'`', text).any(|at| at > 0 && text.get(at - 1).is_some_and(|&before| before >= 0x80))
}
