//! What is remembered of a prepared text, so that its executions get the verdict that the text would get.

use std::collections::HashSet;
use std::sync::Arc;

use identity::Kept;
use statement::{Class, Classes, Defines, Doubts, Mode, ModeDependence, ParseCache, Scan, TransactionEffect};

use crate::question::{DefaultSchema, StatementFacts, TextQuestion};
use crate::unit::Facts;

/// Never the SQL itself.
#[derive(Debug)]
pub struct Note {
    pub(crate) facts: Facts,
    pub(crate) statement: StatementFacts,
    /// The default schema when it was prepared.
    pub(crate) schema: DefaultSchema,
    /// Why a fact of it is not certain.
    pub(crate) doubts: Doubts,
    changes_schema: bool,
    pub(crate) defines: Defines,
    /// All its names, if it defines something.
    pub(crate) defined_names: Option<Arc<HashSet<Box<str>>>>,
    /// The server may read the text again, in the mode of then.
    depends_on: ModeDependence,
    /// What its comments said of who asks.
    pub(crate) said: Option<Kept>,
}

impl Note {
    /// Of a text that nobody saw, as in `PREPARE s FROM @v`.
    pub fn unknown() -> Note {
        let facts = Facts { class: Class::Unparsed, free: false, ..Facts::FREE };
        Note { doubts: Doubts::UNSEEN, changes_schema: true, ..Note::without_text(facts) }
    }

    /// Whether an execution may change the session's default schema.
    pub(crate) fn may_change_schema(&self) -> bool {
        self.changes_schema
    }

    /// Whether the facts hold in a session that would read the text in this mode. The server reads it again when a table has
    /// changed (checked on MySQL 9.7).
    #[inline]
    pub(crate) fn holds_in(&self, mode: Option<Mode>) -> bool {
        mode.map_or_else(|| self.depends_on.is_none(), |mode| self.depends_on.holds_in(mode))
    }

    pub(crate) fn without_text(facts: Facts) -> Note {
        Note {
            facts,
            statement: StatementFacts::unknown(Classes::of(facts.class)),
            schema: DefaultSchema::Unknown,
            doubts: Doubts::empty(),
            changes_schema: false,
            defines: Defines::Nothing,
            defined_names: None,
            depends_on: ModeDependence::default(),
            said: None,
        }
    }

    pub(crate) fn of(sql: &[u8], scan: &Scan, schema: &DefaultSchema, cache: &ParseCache) -> Note {
        let question = TextQuestion::new(sql, scan, schema.as_known(), cache, None);
        Note {
            facts: facts(scan, question.class()),
            statement: question.facts(),
            schema: schema.clone(),
            doubts: scan.doubts,
            changes_schema: scan.changes_schema,
            defines: scan.defines,
            defined_names: (scan.defines != Defines::Nothing).then(|| scan.names(sql)).flatten().map(Arc::new),
            depends_on: scan.depends_on(sql),
            said: crate::spoken::comments(sql, scan).map(|said| said.to_owned()),
        }
    }
}

/// Of a text, what its place in a transaction depends on.
#[inline]
pub(crate) fn facts(scan: &Scan, class: Class) -> Facts {
    let transaction = match scan.transaction {
        // It ends one only if autocommit was off, and then the flags of the reply show it.
        TransactionEffect::Ends if scan.begins_with_set => TransactionEffect::None,
        effect => effect,
    };
    Facts {
        class,
        free: scan.free,
        transaction,
        crosses_boundary: scan.crosses_boundary,
        commits_implicitly: scan.commits_implicitly,
        rolls_back: transaction != TransactionEffect::None && scan.rolls_back,
    }
}
