//! In how many ways the same bytes may be read.

use crate::charset::{Multibyte, has_odd_pairs, has_odd_spaces};
use crate::lexer::{Met, Reading};
use crate::{Charset, Mode, Server};
use memchr::memchr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) mode: Mode,
    pub(super) reading: Reading,
}

/// What a text may change for itself before its end, and what makes it doubtful.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Changes {
    pub(super) sql_mode: bool,
    pub(super) charset: bool,
    met: Met,
}

impl Changes {
    pub(super) fn add(&mut self, met: Met) {
        self.met = met;
    }
}

/// All ways but the usual one. Each question that has two answers doubles them.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    usual: Way,
    backslash: bool,
    quotes: bool,
    multibyte: bool,
    spaces: bool,
    versions: bool,
    next: usize,
}

/// A text that is longer is not read in more than a few ways.
const LONG: usize = 4096;
const FEW: usize = 4;

impl Ways {
    /// `None`: there is only the usual one.
    pub(super) fn of(sql: &[u8], mode: Mode, changes: Changes) -> Option<Ways> {
        let has = |byte: u8| memchr(byte, sql).is_some();
        let backslash = changes.sql_mode && has(b'\\');
        let by_character = mode.charset == Charset::Ambiguous || changes.charset;
        let multibyte = by_character && has_odd_pairs(sql);
        let spaces = has_odd_spaces(sql);
        let versions = mode.server == Server::Unknown && changes.met.code_comment;
        // Of `"a\"` ANSI_QUOTES changes the end, and it shows in no status flag. Another reading may meet one elsewhere.
        let quotes = changes.met.escape_in_double_quotes
            || ((changes.sql_mode || multibyte || spaces || versions) && has(b'"') && has(b'\\'));
        let any = backslash || quotes || multibyte || spaces || versions;
        let usual = Way { mode, reading: Reading::default() };
        any.then_some(Ways { usual, backslash, quotes, multibyte, spaces, versions, next: 1 })
    }

    /// `None` if there are too many of them for a text of this length.
    pub(super) fn bounded(self, sql: &[u8]) -> Option<Ways> {
        (sql.len() <= LONG || self.number() <= FEW).then_some(self)
    }

    fn number(&self) -> usize {
        let twice = |question: bool| 1 + usize::from(question);
        let sets = if self.multibyte { Multibyte::ALL.len() } else { 1 };
        twice(self.backslash) * twice(self.quotes) * sets * twice(self.spaces) * twice(self.versions)
    }
}

impl Iterator for Ways {
    type Item = Way;

    fn next(&mut self) -> Option<Way> {
        if self.next >= self.number() {
            return None;
        }
        let mut rest = self.next;
        self.next += 1;
        let mut choose = |count: usize| {
            let choice = rest % count;
            rest /= count;
            choice
        };
        let mut way = self.usual;
        let mut toggle = |question: bool| question && choose(2) == 1;
        way.mode.no_backslash_escapes ^= toggle(self.backslash);
        way.mode.ansi_quotes ^= toggle(self.quotes);
        way.reading.high_spaces = toggle(self.spaces);
        if toggle(self.versions) {
            // The oldest server takes every code comment with a version for a comment.
            way.mode.server = Server::MySql(0);
        }
        if self.multibyte {
            way.reading.multibyte = Multibyte::ALL.get(choose(Multibyte::ALL.len())).copied().unwrap_or_default();
        }
        Some(way)
    }
}
