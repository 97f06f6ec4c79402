//! A statement as rules see it. Fingerprints and tables are found when a rule needs them.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use catalog::{Access, Catalog};
use rules::{Query, QueryShapes, Schema, Tables};
use statement::{Class, Classes, Defines, Doubts, Fingerprint, Fingerprints, Outcome, ParseCache, Parsed, Scan, Table};

use crate::note::Note;
use crate::shared_catalog::SharedCatalog;

/// What a decision is about.
pub(crate) trait Decidable: Query {
    /// A gate may hold it, so that it matters to be exempt.
    fn mind_gates(&self);
}

/// A question that can be kept for when it is asked again.
pub(crate) trait Question: Decidable {
    fn keep(&self) -> KnownQuestion;

    /// `None` when the text was not seen, or when it holds several statements.
    fn known_fingerprint(&self) -> Option<Fingerprint>;

    /// Whether views, routines, triggers or tables may be others once it has run.
    fn may_change_catalog(&self) -> bool;

    /// Whether a rule has asked for its tables.
    fn was_asked_for_tables(&self) -> bool;

    /// The doubt about its tables, if a rule has asked for them.
    fn doubt_of_tables(&self) -> Doubts {
        let is_known = |tables| matches!(tables, Tables::Known(_));
        if self.was_asked_for_tables() && !is_known(self.tables()) { Doubts::TABLES } else { Doubts::empty() }
    }
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
        database.map_or(DefaultSchema::None, DefaultSchema::named)
    }

    /// By a name as the client sends it. The meaning of other bytes depends on its character set.
    pub(crate) fn named(name: &[u8]) -> DefaultSchema {
        // MySQL reads up to a NUL, and trailing spaces are no part of a name.
        let is_plain = name.iter().all(|byte| matches!(byte, b'!'..=b'~'));
        if is_plain && !statement::mentions_file(name) {
            DefaultSchema::Known(name.into())
        } else {
            DefaultSchema::Unknown
        }
    }

    pub(crate) fn as_known(&self) -> Schema<'_> {
        match self {
            DefaultSchema::None => Schema::None,
            DefaultSchema::Known(name) => Schema::Known(name),
            DefaultSchema::Unknown => Schema::Unknown,
        }
    }
}

/// The facts about a statement that rules read; the text is not among them.
#[derive(Debug, Clone)]
pub(crate) struct StatementFacts {
    pub(crate) classes: Classes,
    pub(crate) shapes: QueryShapes,
    pub(crate) fingerprints: Fingerprints,
    /// `None`: the text was never seen.
    pub(crate) parsed: Option<Arc<Parsed>>,
}

impl StatementFacts {
    /// The facts for a statement whose text was never seen.
    pub(crate) fn unknown(classes: Classes) -> StatementFacts {
        StatementFacts {
            classes,
            shapes: QueryShapes { certain: statement::Shapes::empty(), possible: statement::Shapes::all() },
            fingerprints: Fingerprints::unknown(),
            parsed: None,
        }
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
    /// `None`: of a text that only gets prepared.
    catalog: Option<&'a SharedCatalog>,
    behind: OnceCell<Behind>,
    gated: Cell<bool>,
    asked_tables: Cell<bool>,
}

impl<'a> TextQuestion<'a> {
    #[inline(always)]
    pub(crate) fn new(
        sql: &'a [u8],
        scan: &'a Scan,
        schema: Schema<'a>,
        cache: &'a ParseCache,
        catalog: Option<&'a SharedCatalog>,
    ) -> TextQuestion<'a> {
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
            catalog,
            behind: OnceCell::new(),
            gated: Cell::new(false),
            asked_tables: Cell::new(false),
        };
        if scan.doubts.contains(Doubts::FUNCTIONS) {
            question.classes = scan.classes_with(question.parsed());
        }
        let defines = scan.statements > 1 && scan.defines != Defines::Nothing;
        if catalog.is_some_and(|catalog| catalog.may_tell(question.classes) || defines) {
            question.classes = question.behind().classes;
        }
        question
    }

    fn behind(&self) -> &Behind {
        self.behind.get_or_init(|| match self.catalog {
            Some(catalog) => {
                let defines = if self.scan.statements > 1 { self.scan.defines } else { Defines::Nothing };
                Behind::of(self.parsed(), catalog, self.schema, self.classes, defines)
            }
            None => Behind::nothing(self.classes),
        })
    }

    /// The strictest class that the text may have.
    #[inline]
    pub(crate) fn class(&self) -> Class {
        if self.classes == self.scan.classes {
            return self.scan.class;
        }
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
        self.asked_tables.set(true);
        self.behind().tables(Some(self.parsed()))
    }

    fn tables_in_doubt(&self) -> bool {
        self.behind().in_doubt
    }

    fn exemption_matters(&self) -> bool {
        self.gated.get()
    }
}

impl Decidable for TextQuestion<'_> {
    fn mind_gates(&self) {
        self.gated.set(true);
    }
}

impl Question for TextQuestion<'_> {
    fn keep(&self) -> KnownQuestion {
        KnownQuestion { facts: self.facts(), schema: kept(self.schema), behind: self.behind().clone() }
    }

    fn may_change_catalog(&self) -> bool {
        may_change(self.classes)
    }

    fn was_asked_for_tables(&self) -> bool {
        self.asked_tables.get()
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
    classes: Classes,
    catalog: &'a SharedCatalog,
    behind: OnceCell<Behind>,
    gated: Cell<bool>,
    asked_tables: Cell<bool>,
}

impl<'a> NotedQuestion<'a> {
    /// The server finds the tables of a prepared statement by the schema of its PREPARE.
    pub(crate) fn new(note: &'a Note, schema: Schema<'a>, catalog: &'a SharedCatalog) -> NotedQuestion<'a> {
        let same = note.schema.as_known() == schema;
        let mut question = NotedQuestion {
            note,
            schema: if same { schema } else { Schema::Unknown },
            classes: note.statement.classes,
            catalog,
            behind: OnceCell::new(),
            gated: Cell::new(false),
            asked_tables: Cell::new(false),
        };
        if catalog.may_tell(question.classes) {
            question.classes = question.behind().classes;
        }
        question
    }

    /// The strictest class that it may have.
    #[inline]
    pub(crate) fn class(&self) -> Class {
        if self.classes == self.note.statement.classes {
            return self.note.facts.class;
        }
        self.classes.iter().fold(self.note.facts.class, Class::or_stricter)
    }

    fn behind(&self) -> &Behind {
        self.behind.get_or_init(|| match &self.note.statement.parsed {
            Some(parsed) => {
                Behind::of(parsed, self.catalog, self.schema, self.note.statement.classes, Defines::Nothing)
            }
            None => Behind::nothing(self.note.statement.classes),
        })
    }
}

impl Query for NotedQuestion<'_> {
    fn schema(&self) -> Schema<'_> {
        self.schema
    }

    fn classes(&self) -> Classes {
        self.classes
    }

    fn shapes(&self) -> QueryShapes {
        self.note.statement.shapes
    }

    fn fingerprints(&self) -> &Fingerprints {
        &self.note.statement.fingerprints
    }

    fn tables(&self) -> Tables<'_> {
        self.asked_tables.set(true);
        self.behind().tables(self.note.statement.parsed.as_deref())
    }

    fn tables_in_doubt(&self) -> bool {
        self.behind().in_doubt
    }

    fn exemption_matters(&self) -> bool {
        self.gated.get()
    }
}

impl Decidable for NotedQuestion<'_> {
    fn mind_gates(&self) {
        self.gated.set(true);
    }
}

impl Question for NotedQuestion<'_> {
    fn keep(&self) -> KnownQuestion {
        let facts = StatementFacts { classes: self.classes, ..self.note.statement.clone() };
        KnownQuestion { facts, schema: kept(self.schema), behind: self.behind().clone() }
    }

    fn may_change_catalog(&self) -> bool {
        may_change(self.classes)
    }

    fn was_asked_for_tables(&self) -> bool {
        self.asked_tables.get()
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
    behind: Behind,
}

impl KnownQuestion {
    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        self.facts.fingerprints.whole()
    }
}

impl Decidable for KnownQuestion {
    /// Whatever its exemptions are, they are known.
    fn mind_gates(&self) {}
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
        self.behind.tables(self.facts.parsed.as_deref())
    }

    fn tables_in_doubt(&self) -> bool {
        self.behind.in_doubt
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

/// The tables and classes of a statement, once the upstream's catalogue has been looked into.
#[derive(Debug, Clone)]
struct Behind {
    /// `None`: those of the text itself.
    tables: Option<Arc<[Table]>>,
    classes: Classes,
    /// A routine whose body is not known, or an unseen text, may touch any table.
    hidden: bool,
    /// A name may stand for a view that is not known.
    in_doubt: bool,
    /// A name may stand for what has just been defined: so nothing is favoured for it.
    outdated: bool,
}

impl Behind {
    fn nothing(classes: Classes) -> Behind {
        Behind { tables: None, classes, hidden: may_hide(classes), in_doubt: false, outdated: false }
    }

    /// `defines_here`: what the text itself defines for its further statements.
    fn of(
        parsed: &Parsed,
        shared: &SharedCatalog,
        schema: Schema<'_>,
        classes: Classes,
        defines_here: Defines,
    ) -> Behind {
        let catalog: &Catalog = &shared.load();
        let writes = classes.iter().any(Class::locks_or_writes);
        let access = if writes { Access::Write } else { Access::Read };
        let schema = match schema {
            Schema::Known(name) => Some(name),
            Schema::None | Schema::Unknown => None,
        };
        let tables = catalog.tables_behind(&parsed.tables, schema, access);
        let calls = catalog.routines_behind(&parsed.calls, schema);
        let calls_are_known = catalog.is_known() && !calls.calls_unknown && !calls.dynamic;
        let mut all = if calls_are_known { classes.with_known_calls() } else { classes };
        let both = [&tables, &calls];
        for (class, may_be) in [
            (Class::Write, both.iter().any(|found| found.writes || found.locks)),
            (Class::Unparsed, both.iter().any(|found| found.dynamic)),
            (Class::Ddl, both.iter().any(|found| found.ddl)),
        ] {
            if may_be {
                all.insert(class);
            }
        }
        let is_same = calls.tables.is_empty() && matches!(tables.tables, Cow::Borrowed(_));
        let is_outdated = (catalog.is_known() && defines_here != Defines::Nothing)
            || shared.recent_changes().is_some_and(|changes| {
                let called: Vec<&Table> = parsed.calls.iter().collect();
                let is_expanded = !is_same || !called.is_empty();
                let writes = writes || both.iter().any(|found| found.writes);
                changes.concern(&tables, &calls, &called, is_expanded, writes)
            });
        Behind {
            tables: (!is_same).then(|| tables.tables.iter().chain(calls.tables.iter()).cloned().collect()),
            classes: all,
            hidden: if calls_are_known { all.contains(Class::Unparsed) } else { may_hide(all) },
            in_doubt: is_outdated || both.iter().any(|found| found.unknown_names || found.calls_unknown),
            outdated: is_outdated,
        }
    }

    fn tables<'a>(&'a self, parsed: Option<&'a Parsed>) -> Tables<'a> {
        let Some(parsed) = parsed.filter(|_| !self.hidden) else { return Tables::Unknown };
        let tables = self.tables.as_deref().unwrap_or(&parsed.tables);
        if self.outdated {
            return Tables::Among(tables);
        }
        match parsed.outcome {
            Outcome::Read => Tables::Known(tables),
            Outcome::Among => Tables::Among(tables),
            Outcome::Failed => Tables::Unknown,
        }
    }
}

/// The tables of a routine or of an unseen statement cannot be read from the text.
fn may_hide(classes: Classes) -> bool {
    classes.contains(Class::Call) || classes.contains(Class::Unparsed)
}

fn may_change(classes: Classes) -> bool {
    classes.intersects(Classes::of(Class::Ddl).with_possible())
}
