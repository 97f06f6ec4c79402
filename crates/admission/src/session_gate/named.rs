//! PREPARE, EXECUTE and DEALLOCATE as text: an EXECUTE gets the verdict of the text behind its name.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use statement::{Mode, NamedStatement, ParseCache, Source};

use super::under_way::UnderWay;
use crate::note::Note;

/// Statements that are remembered; one beyond them is what nobody could read.
const MOST: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Named {
    /// By their names in lower case, as the server compares them.
    notes: HashMap<Box<[u8]>, Arc<Note>>,
}

/// What a text with a name in it means.
pub(super) enum Meaning {
    Itself,
    Executes(Arc<Note>),
}

/// What becomes of a name when its statement succeeds.
#[derive(Debug)]
pub(super) enum Change {
    Prepared(Box<[u8]>, Arc<Note>),
    Gone(Box<[u8]>),
}

impl Named {
    pub(super) fn read(
        &self,
        sql: &[u8],
        named: &NamedStatement,
        mode: Mode,
        cache: &ParseCache,
        under_way: &mut UnderWay,
    ) -> Meaning {
        let name = |range: &Range<usize>| key(sql.get(range.clone()).unwrap_or_default());
        match named {
            NamedStatement::Prepare { name: range, from } => {
                let note = match from {
                    Source::Literal(literal) => {
                        let text = unquoted(sql.get(literal.clone()).unwrap_or_default(), mode);
                        Note::of(&text, mode, cache)
                    }
                    Source::Variable => Note::unknown(),
                };
                under_way.rename(Change::Prepared(name(range), Arc::new(note)));
                Meaning::Itself
            }
            NamedStatement::Deallocate { name: range } => {
                under_way.rename(Change::Gone(name(range)));
                Meaning::Itself
            }
            NamedStatement::Execute { name: range } => {
                let note = self.notes.get(&name(range)).cloned();
                Meaning::Executes(note.unwrap_or_else(|| Arc::new(Note::unknown())))
            }
        }
    }

    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Prepared(name, note) => {
                if self.notes.len() < MOST || self.notes.contains_key(&name) {
                    self.notes.insert(name, note);
                }
            }
            Change::Gone(name) => {
                self.notes.remove(&name);
            }
        }
    }
}

fn key(name: &[u8]) -> Box<[u8]> {
    let bare = match name {
        [b'`', inner @ .., b'`'] | [b'"', inner @ .., b'"'] => inner,
        _ => name,
    };
    bare.to_ascii_lowercase().into()
}

/// The text in a literal: doubled quotes and backslashes undone.
fn unquoted(literal: &[u8], mode: Mode) -> Vec<u8> {
    let Some((&quote, rest)) = literal.split_first() else { return Vec::new() };
    let inner = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'\\' if !mode.no_backslash_escapes => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(b'b') => 8,
                Some(b'Z') => 26,
                Some(other) => other,
                None => b'\\',
            },
            byte if byte == quote => {
                bytes.next();
                quote
            }
            byte => byte,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_read_as_the_server_reads_it() {
        let plain = Mode::default();
        let no_escapes = Mode { no_backslash_escapes: true, ..plain };
        for (literal, mode, text) in [
            ("'DELETE FROM t'", plain, "DELETE FROM t"),
            ("'a''b'", plain, "a'b"),
            ("\"a\"\"b'c\"", plain, "a\"b'c"),
            (r"'a\'b\n\\'", plain, "a'b\n\\"),
            (r"'a\nb'", no_escapes, r"a\nb"),
            ("''", plain, ""),
            ("", plain, ""),
        ] {
            assert_eq!(unquoted(literal.as_bytes(), mode), text.as_bytes(), "{literal}");
        }
    }
}
