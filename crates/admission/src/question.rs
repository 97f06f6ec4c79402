//! What is asked, as rules may ask about it. Fingerprint and tables are found when a rule wants them, and not before.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use arc_swap::ArcSwap;
use catalog::{Access, Catalog};

use crate::note::Note;
use rules::{Query, Tables};
use statement::{Class, Doubt, Fingerprint, Mode, Outcome, ParseCache, Parsed, Scan, Shapes, Table};

/// A question that can be kept for when it is asked again.
pub(crate) trait Question: Query {
    fn keep(&self) -> KnownQuestion;

    /// `None`: of a text that nobody saw.
    fn known_fingerprint(&self) -> Option<Fingerprint>;

    /// A gate may hold it, so that it matters to be exempt.
    fn mind_gates(&self);

    /// Whether views, routines, triggers or tables may be others once it has run.
    fn may_change_catalog(&self) -> bool;
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
    /// `None`: of a text that only gets prepared.
    catalog: Option<&'a ArcSwap<Catalog>>,
    behind: OnceCell<Behind>,
    gated: Cell<bool>,
}

impl<'a> TextQuestion<'a> {
    pub(crate) fn new(
        sql: &'a [u8],
        mode: Mode,
        scan: &Scan,
        schema: Option<&'a [u8]>,
        cache: &'a ParseCache,
        catalog: Option<&'a ArcSwap<Catalog>>,
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
            catalog,
            behind: OnceCell::new(),
            gated: Cell::new(false),
        };
        if scan.doubt != Doubt::None {
            question.class = scan.class.or_stricter(question.parsed().class);
        }
        if catalog.is_some_and(|catalog| may_raise(&catalog.load(), question.class)) {
            question.class = question.behind().class;
        }
        question
    }

    fn behind(&self) -> &Behind {
        self.behind.get_or_init(|| match self.catalog {
            Some(catalog) => Behind::of(self.parsed(), &catalog.load(), self.schema, self.class),
            None => Behind::nothing(self.class),
        })
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
        tables(self.parsed(), self.behind())
    }

    fn tables_in_doubt(&self) -> bool {
        self.behind().in_doubt
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
            behind: self.behind().clone(),
        }
    }

    fn may_change_catalog(&self) -> bool {
        may_change(self.class, self.catalog, || self.behind().in_doubt)
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
    catalog: &'a ArcSwap<Catalog>,
    behind: OnceCell<Behind>,
    gated: Cell<bool>,
}

impl<'a> NotedQuestion<'a> {
    pub(crate) fn new(note: &'a Note, schema: Option<&'a [u8]>, catalog: &'a ArcSwap<Catalog>) -> NotedQuestion<'a> {
        NotedQuestion { note, schema, catalog, behind: OnceCell::new(), gated: Cell::new(false) }
    }

    fn behind(&self) -> &Behind {
        self.behind.get_or_init(|| match &self.note.known {
            Some((_, parsed)) => Behind::of(parsed, &self.catalog.load(), self.schema, self.note.facts.class),
            None => Behind::nothing(self.note.facts.class),
        })
    }
}

impl Query for NotedQuestion<'_> {
    fn schema(&self) -> Option<&[u8]> {
        self.schema
    }

    fn class(&self) -> Class {
        let class = self.note.facts.class;
        if may_raise(&self.catalog.load(), class) { self.behind().class } else { class }
    }

    fn shapes(&self) -> Shapes {
        self.note.shapes
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.note.known)
    }

    fn tables(&self) -> Tables<'_> {
        known_tables(&self.note.known, self.behind())
    }

    fn tables_in_doubt(&self) -> bool {
        self.behind().in_doubt
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
            class: self.class(),
            shapes: self.note.shapes,
            schema: self.schema.map(Box::from),
            known: self.note.known.clone(),
            behind: self.behind().clone(),
        }
    }

    fn may_change_catalog(&self) -> bool {
        may_change(self.class(), Some(self.catalog), || self.behind().in_doubt)
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
    behind: Behind,
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
        known_tables(&self.known, &self.behind)
    }

    fn tables_in_doubt(&self) -> bool {
        self.behind.in_doubt
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

fn known_tables<'a>(known: &'a Known, behind: &'a Behind) -> Tables<'a> {
    known.as_ref().map_or(Tables::Unknown, |(_, parsed)| tables(parsed, behind))
}

fn tables<'a>(parsed: &'a Parsed, behind: &'a Behind) -> Tables<'a> {
    match parsed.outcome {
        Outcome::Read => Tables::Known(behind.tables.as_deref().unwrap_or(&parsed.tables)),
        Outcome::Failed => Tables::Unknown,
    }
}

/// What the upstream's catalogue adds to a text.
#[derive(Debug, Clone)]
struct Behind {
    /// `None`: those of the text itself.
    tables: Option<Arc<[Table]>>,
    class: Class,
    in_doubt: bool,
}

impl Behind {
    fn nothing(class: Class) -> Behind {
        Behind { tables: None, class, in_doubt: false }
    }

    fn of(parsed: &Parsed, catalog: &Catalog, schema: Option<&[u8]>, class: Class) -> Behind {
        let access = if class.locks_or_writes() { Access::Write } else { Access::Read };
        let tables = catalog.tables_behind(&parsed.tables, schema, access);
        let calls = catalog.routines_behind(&parsed.calls, schema);
        let both = [&tables, &calls];
        let mut raised = class;
        for (to, when) in [
            (Class::Write, both.iter().any(|found| found.writes || found.locks)),
            (Class::Unparsed, both.iter().any(|found| found.dynamic)),
            (Class::Ddl, both.iter().any(|found| found.ddl)),
        ] {
            if when {
                raised = raised.or_stricter(to);
            }
        }
        let is_same = calls.tables.is_empty() && matches!(tables.tables, Cow::Borrowed(_));
        Behind {
            tables: (!is_same).then(|| tables.tables.iter().chain(calls.tables.iter()).cloned().collect()),
            class: raised,
            in_doubt: both.iter().any(|found| found.unknown_names || found.calls_unknown || found.dynamic),
        }
    }
}

/// Whether the class could be another by the catalogue.
fn may_raise(catalog: &Catalog, class: Class) -> bool {
    match class {
        Class::Read => catalog.reads_may_write(),
        Class::Call | Class::Unparsed => catalog.is_known(),
        Class::Control | Class::Write | Class::Ddl => false,
    }
}

fn may_change(class: Class, catalog: Option<&ArcSwap<Catalog>>, in_doubt: impl FnOnce() -> bool) -> bool {
    match class {
        Class::Ddl | Class::Unparsed => true,
        Class::Call => catalog.is_some_and(|catalog| !catalog.load().is_known()) || in_doubt(),
        Class::Control | Class::Read | Class::Write => false,
    }
}
