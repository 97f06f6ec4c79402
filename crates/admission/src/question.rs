//! A statement as rules see it. Fingerprints and tables are found when a rule needs them.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use rules::{Query, QueryShapes, Schema, Tables};
use statement::{Class, Classes, Doubts, Fingerprint, Fingerprints, Outcome, ParseCache, Parsed, Scan};

use crate::note::Note;

/// A question that can be kept for when it is asked again.
pub(crate) trait Question: Query {
    fn keep(&self) -> KnownQuestion;

    /// `None`: of a text that nobody saw, or of several statements.
    fn known_fingerprint(&self) -> Option<Fingerprint>;

    /// A gate may hold it, so that it matters to be exempt.
    fn mind_gates(&self);
}

/// The default schema of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefaultSchema {
    None,
    Known(Box<[u8]>),
    /// It may be any, or none.
    Unknown,
}

impl DefaultSchema {
    pub(crate) fn of_login(database: Option<&[u8]>) -> DefaultSchema {
        database.map_or(DefaultSchema::None, |name| DefaultSchema::Known(name.into()))
    }

    pub(crate) fn as_known(&self) -> Schema<'_> {
        match self {
            DefaultSchema::None => Schema::None,
            DefaultSchema::Known(name) => Schema::Known(name),
            DefaultSchema::Unknown => Schema::Unknown,
        }
    }
}

/// What rules may know of a statement without its text.
#[derive(Debug, Clone)]
pub(crate) struct StatementFacts {
    pub(crate) classes: Classes,
    pub(crate) shapes: QueryShapes,
    pub(crate) fingerprints: Fingerprints,
    /// `None`: the text was never seen.
    pub(crate) parsed: Option<Arc<Parsed>>,
}

impl StatementFacts {
    /// Of a text that was never seen.
    pub(crate) fn unknown(classes: Classes) -> StatementFacts {
        StatementFacts {
            classes,
            shapes: QueryShapes { certain: statement::Shapes::empty(), possible: statement::Shapes::all() },
            fingerprints: Fingerprints::unknown(),
            parsed: None,
        }
    }

    fn tables(&self) -> Tables<'_> {
        self.parsed.as_deref().map_or(Tables::Unknown, |parsed| tables(parsed, self.classes))
    }
}

/// A text that is still in its packet.
#[derive(Debug)]
pub(crate) struct TextQuestion<'a> {
    scan: &'a Scan,
    classes: Classes,
    schema: Schema<'a>,
    sql: &'a [u8],
    cache: &'a ParseCache,
    fingerprints: OnceCell<Fingerprints>,
    parsed: OnceCell<Arc<Parsed>>,
    gated: Cell<bool>,
}

impl<'a> TextQuestion<'a> {
    pub(crate) fn new(sql: &'a [u8], scan: &'a Scan, schema: Schema<'a>, cache: &'a ParseCache) -> TextQuestion<'a> {
        // Behind a USE of the same text the default schema is another.
        let schema = if scan.changes_schema && scan.statements > 1 { Schema::Unknown } else { schema };
        let mut question = TextQuestion {
            scan,
            classes: scan.classes,
            schema,
            sql,
            cache,
            fingerprints: OnceCell::new(),
            parsed: OnceCell::new(),
            gated: Cell::new(false),
        };
        if scan.doubts.contains(Doubts::FUNCTIONS) {
            question.classes = scan.classes_with(question.parsed());
        }
        question
    }

    /// The strictest class that the text may have.
    pub(crate) fn class(&self) -> Class {
        self.classes.iter().fold(self.scan.class, Class::or_stricter)
    }

    fn parsed(&self) -> &Arc<Parsed> {
        self.parsed.get_or_init(|| self.cache.get_or_parse(self.scan, self.sql))
    }

    pub(crate) fn facts(&self) -> StatementFacts {
        StatementFacts {
            classes: self.classes,
            shapes: self.shapes(),
            fingerprints: self.fingerprints().clone(),
            parsed: Some(Arc::clone(self.parsed())),
        }
    }
}

impl Query for TextQuestion<'_> {
    fn schema(&self) -> Schema<'_> {
        self.schema
    }

    fn classes(&self) -> Classes {
        self.classes
    }

    fn shapes(&self) -> QueryShapes {
        QueryShapes { certain: self.scan.certain_shapes & self.scan.shapes, possible: self.scan.shapes }
    }

    fn fingerprints(&self) -> &Fingerprints {
        self.fingerprints.get_or_init(|| self.scan.fingerprints(self.sql))
    }

    fn tables(&self) -> Tables<'_> {
        tables(self.parsed(), self.classes)
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
        KnownQuestion { facts: self.facts(), schema: kept(self.schema) }
    }

    fn known_fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprints().whole()
    }
}

/// An execution of a prepared statement.
#[derive(Debug)]
pub(crate) struct NotedQuestion<'a> {
    note: &'a Note,
    schema: Schema<'a>,
    gated: Cell<bool>,
}

impl<'a> NotedQuestion<'a> {
    /// The server finds the tables of a prepared statement by the schema of its PREPARE.
    pub(crate) fn new(note: &'a Note, schema: Schema<'a>) -> NotedQuestion<'a> {
        let same = note.schema.as_known() == schema;
        NotedQuestion { note, schema: if same { schema } else { Schema::Unknown }, gated: Cell::new(false) }
    }
}

impl Query for NotedQuestion<'_> {
    fn schema(&self) -> Schema<'_> {
        self.schema
    }

    fn classes(&self) -> Classes {
        self.note.statement.classes
    }

    fn shapes(&self) -> QueryShapes {
        self.note.statement.shapes
    }

    fn fingerprints(&self) -> &Fingerprints {
        &self.note.statement.fingerprints
    }

    fn tables(&self) -> Tables<'_> {
        self.note.statement.tables()
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
        KnownQuestion { facts: self.note.statement.clone(), schema: kept(self.schema) }
    }

    fn known_fingerprint(&self) -> Option<Fingerprint> {
        self.note.statement.fingerprints.whole()
    }
}

/// A question that outlives its packet.
#[derive(Debug)]
pub(crate) struct KnownQuestion {
    facts: StatementFacts,
    schema: DefaultSchema,
}

impl KnownQuestion {
    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        self.facts.fingerprints.whole()
    }
}

impl Query for KnownQuestion {
    fn schema(&self) -> Schema<'_> {
        self.schema.as_known()
    }

    fn classes(&self) -> Classes {
        self.facts.classes
    }

    fn shapes(&self) -> QueryShapes {
        self.facts.shapes
    }

    fn fingerprints(&self) -> &Fingerprints {
        &self.facts.fingerprints
    }

    fn tables(&self) -> Tables<'_> {
        self.facts.tables()
    }

    /// It waits already: whatever lets it go matters.
    fn exemption_matters(&self) -> bool {
        true
    }
}

fn kept(schema: Schema<'_>) -> DefaultSchema {
    match schema {
        Schema::None => DefaultSchema::None,
        Schema::Known(name) => DefaultSchema::Known(name.into()),
        Schema::Unknown => DefaultSchema::Unknown,
    }
}

/// What a routine or an unseen text touches is not in the text.
fn tables(parsed: &Parsed, classes: Classes) -> Tables<'_> {
    let hidden = classes.contains(Class::Call) || classes.contains(Class::Unparsed);
    match parsed.outcome {
        Outcome::Read if !hidden => Tables::Known(&parsed.tables),
        Outcome::Read | Outcome::Failed => Tables::Unknown,
    }
}
