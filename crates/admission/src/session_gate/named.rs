//! PREPARE, EXECUTE and DEALLOCATE as text: an EXECUTE gets the verdict of the text behind its name.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use statement::{Extent, Mode, NamedStatement, ParseCache, Scan, Source};

use super::under_way::UnderWay;
use crate::note::Note;
use crate::question::DefaultSchema;

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
    /// Under a name that only the server knows to compare: it may be any of those that are known.
    PreparedUnderSomeName,
    Gone(Box<[u8]>),
}

impl Named {
    pub(super) fn read(
        &self,
        sql: &[u8],
        scan: &Scan,
        named: &NamedStatement,
        schema: &DefaultSchema,
        cache: &ParseCache,
        under_way: &mut UnderWay,
    ) -> Meaning {
        // Names and literals of a text with several readings are not believed.
        let mode = scan.only_mode();
        let name = |range: &Range<usize>| key(sql.get(range.clone()).unwrap_or_default(), mode?);
        match named {
            NamedStatement::Prepare { name: range, from } => {
                under_way.rename(match name(range).zip(mode) {
                    Some((name, mode)) => Change::Prepared(name, Arc::new(prepared(sql, from, mode, schema, cache))),
                    None => Change::PreparedUnderSomeName,
                });
                Meaning::Itself
            }
            NamedStatement::Deallocate { name: range } => {
                // Under a name that nobody knows it is gone all the same, and its EXECUTE an error.
                if let Some(name) = name(range) {
                    under_way.rename(Change::Gone(name));
                }
                Meaning::Itself
            }
            NamedStatement::Execute { name: range } => {
                let note = name(range).and_then(|name| self.notes.get(&name).cloned());
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
            Change::PreparedUnderSomeName => self.forget_all(),
            Change::Gone(name) => {
                self.notes.remove(&name);
            }
        }
    }

    /// Any of the names may stand for something else now.
    pub(super) fn forget_all(&mut self) {
        self.notes.clear();
    }
}

fn prepared(sql: &[u8], from: &Source, mode: Mode, schema: &DefaultSchema, cache: &ParseCache) -> Note {
    match from {
        Source::Literal(literal) => {
            let text = statement::unquote(sql.get(literal.clone()).unwrap_or_default(), mode);
            // MySQL parses the UTF-8 of the literal in the client's character set (checked): other bytes than these.
            if !mode.charset.keeps_text(&text) {
                return Note::unknown();
            }
            let scan = statement::scan(&text, Mode { extent: Extent::Whole, ..mode });
            Note::of(&text, &scan, schema, cache)
        }
        Source::Variable => Note::unknown(),
    }
}

/// The server compares names by utf8mb3_general_ci, in which `É` is `e` and `a ` is `a`. Of plain words only the case differs.
fn key(name: &[u8], mode: Mode) -> Option<Box<[u8]>> {
    let bare = statement::unquote(name, mode);
    let is_plain = !bare.is_empty() && bare.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(byte));
    is_plain.then(|| bare.to_ascii_lowercase().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_can_be_compared() {
        for (name, known) in [
            ("s", Some("s")),
            ("S1_$", Some("s1_$")),
            ("`S`", Some("s")),
            ("\"s\"", Some("s")),
            ("`s `", None),
            ("é", None),
            ("`a``b`", None),
            ("``", None),
            ("", None),
        ] {
            assert_eq!(key(name.as_bytes(), Mode::default()).as_deref(), known.map(str::as_bytes), "{name}");
        }
    }
}
