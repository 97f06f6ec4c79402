//! What is asked, as rules may ask about it. Fingerprint and tables are found when a rule wants them, and not before.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use crate::note::Note;
use rules::{Query, Tables};
use statement::{Class, Doubt, Fingerprint, Mode, Outcome, ParseCache, Parsed, Scan, Shapes};

/// A question that can be kept for when it is asked again.
pub(crate) trait Question: Query {
    fn keep(&self) -> KnownQuestion;

    /// `None`: of a text that nobody saw.
    fn known_fingerprint(&self) -> Option<Fingerprint>;

    /// A gate may hold it, so that it matters to be exempt.
    fn mind_gates(&self);
}

/// A text that is still in its packet.
#[derive(Debug)]
pub(crate) struct TextQuestion<'a> {
    pub(crate) class: Class,
    pub(crate) shapes: Shapes,
    pub(crate) schema: Option<&'a [u8]>,
    pub(crate) sql: &'a [u8],
    pub(crate) mode: Mode,
    pub(crate) cache: &'a ParseCache,
    fingerprint: OnceCell<Fingerprint>,
    parsed: OnceCell<Arc<Parsed>>,
    gated: Cell<bool>,
}

impl<'a> TextQuestion<'a> {
    pub(crate) fn new(
        sql: &'a [u8],
        mode: Mode,
        scan: &Scan,
        schema: Option<&'a [u8]>,
        cache: &'a ParseCache,
    ) -> TextQuestion<'a> {
        let mut question = TextQuestion {
            class: scan.class,
            shapes: scan.shapes,
            schema,
            sql,
            mode,
            cache,
            fingerprint: OnceCell::new(),
            parsed: OnceCell::new(),
            gated: Cell::new(false),
        };
        if scan.doubt != Doubt::None {
            question.class = scan.class.or_stricter(question.parsed().class);
        }
        question
    }

    fn parsed(&self) -> &Arc<Parsed> {
        self.parsed.get_or_init(|| self.cache.get_or_parse(self.fingerprint(), self.sql, self.mode))
    }
}

impl Query for TextQuestion<'_> {
    fn schema(&self) -> Option<&[u8]> {
        self.schema
    }

    fn class(&self) -> Class {
        self.class
    }

    fn shapes(&self) -> Shapes {
        self.shapes
    }

    fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| statement::fingerprint(self.sql, self.mode))
    }

    fn tables(&self) -> Tables<'_> {
        tables(self.parsed())
    }

    fn exemption_matters(&self) -> bool {
        self.gated.get()
    }
}

impl Question for TextQuestion<'_> {
    fn mind_gates(&self) {
        self.gated.set(true);
    }

    fn keep(&self) -> KnownQuestion {
        KnownQuestion {
            class: self.class,
            shapes: self.shapes,
            schema: self.schema.map(Box::from),
            known: Some((self.fingerprint(), Arc::clone(self.parsed()))),
        }
    }

    fn known_fingerprint(&self) -> Option<Fingerprint> {
        Some(self.fingerprint())
    }
}

/// An execution of a prepared statement.
#[derive(Debug)]
pub(crate) struct NotedQuestion<'a> {
    note: &'a Note,
    schema: Option<&'a [u8]>,
    gated: Cell<bool>,
}

impl<'a> NotedQuestion<'a> {
    pub(crate) fn new(note: &'a Note, schema: Option<&'a [u8]>) -> NotedQuestion<'a> {
        NotedQuestion { note, schema, gated: Cell::new(false) }
    }
}

impl Query for NotedQuestion<'_> {
    fn schema(&self) -> Option<&[u8]> {
        self.schema
    }

    fn class(&self) -> Class {
        self.note.facts.class
    }

    fn shapes(&self) -> Shapes {
        self.note.shapes
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.note.known)
    }

    fn tables(&self) -> Tables<'_> {
        known_tables(&self.note.known)
    }

    fn exemption_matters(&self) -> bool {
        self.gated.get()
    }
}

impl Question for NotedQuestion<'_> {
    fn mind_gates(&self) {
        self.gated.set(true);
    }

    fn keep(&self) -> KnownQuestion {
        KnownQuestion {
            class: self.note.facts.class,
            shapes: self.note.shapes,
            schema: self.schema.map(Box::from),
            known: self.note.known.clone(),
        }
    }

    fn known_fingerprint(&self) -> Option<Fingerprint> {
        self.note.known.as_ref().map(|(fingerprint, _)| *fingerprint)
    }
}

/// A question that outlives its packet.
#[derive(Debug)]
pub(crate) struct KnownQuestion {
    class: Class,
    shapes: Shapes,
    schema: Option<Box<[u8]>>,
    pub(crate) known: Known,
}

/// `None`: of a text that nobody saw.
pub(crate) type Known = Option<(Fingerprint, Arc<Parsed>)>;

impl Query for KnownQuestion {
    fn schema(&self) -> Option<&[u8]> {
        self.schema.as_deref()
    }

    fn class(&self) -> Class {
        self.class
    }

    fn shapes(&self) -> Shapes {
        self.shapes
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.known)
    }

    fn tables(&self) -> Tables<'_> {
        known_tables(&self.known)
    }

    /// It waits already: whatever lets it go matters.
    fn exemption_matters(&self) -> bool {
        true
    }
}

fn fingerprint(known: &Known) -> Fingerprint {
    // No text has this one.
    known.as_ref().map_or(Fingerprint(0), |(fingerprint, _)| *fingerprint)
}

fn known_tables(known: &Known) -> Tables<'_> {
    known.as_ref().map_or(Tables::Unknown, |(_, parsed)| tables(parsed))
}

fn tables(parsed: &Parsed) -> Tables<'_> {
    match parsed.outcome {
        Outcome::Read => Tables::Known(&parsed.tables),
        Outcome::Failed => Tables::Unknown,
    }
}
