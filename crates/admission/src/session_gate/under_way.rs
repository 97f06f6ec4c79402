//! What the statement under way changes in the session, once it is answered.

use statement::{Class, Classes, Doubts, Scan};

use super::named::{Change, Named};
use crate::note::Note;
use crate::policy::Concerning;
use crate::question::DefaultSchema;
use crate::recent_changes::ChangeUnderWay;
use crate::unit::Facts;

#[derive(Debug, Default)]
pub(super) struct UnderWay {
    schema: Option<SchemaChange>,
    named: Option<Change>,
    /// It may prepare and forget statements by name, which its text does not show.
    may_prepare: bool,
    held: Option<(Facts, Concerning)>,
    changes_catalog: bool,
    definition: Option<ChangeUnderWay>,
}

#[derive(Debug)]
enum SchemaChange {
    /// USE, or COM_INIT_DB.
    Used(Box<[u8]>),
    /// The last of several statements' USE: if one of them failed, it is not known.
    UsedAmongOthers(Box<[u8]>),
    /// A text that is not seen may have changed it.
    MaybeUsed {
        /// Unless it failed: then nothing of it has had an effect.
        fails_whole: bool,
    },
}

/// What is remembered of a session besides its unit.
#[derive(Debug)]
pub(super) struct Remembered {
    pub(super) schema: DefaultSchema,
    pub(super) named: Named,
}

impl UnderWay {
    #[inline]
    pub(super) fn clear(&mut self) {
        *self = UnderWay::default();
    }

    #[inline]
    pub(super) fn read(&mut self, sql: &[u8], scan: &Scan) {
        if scan.changes_schema {
            self.schema = Some(match &scan.schema {
                None => SchemaChange::MaybeUsed { fails_whole: scan.fails_whole() },
                Some(range) => match scan.only_mode() {
                    None => SchemaChange::MaybeUsed { fails_whole: scan.fails_whole() },
                    Some(mode) => {
                        let name = statement::unquote(sql.get(range.clone()).unwrap_or_default(), mode).into();
                        if scan.fails_whole() { SchemaChange::Used(name) } else { SchemaChange::UsedAmongOthers(name) }
                    }
                },
            });
        }
        // DDL among several statements hides what else is there; so does what was not inspected.
        self.may_prepare = may_call(scan.classes)
            || (scan.prepares && scan.named.is_none())
            || (scan.statements > 1 && scan.class == Class::Ddl)
            || scan.doubts.contains(Doubts::CUT);
    }

    /// An execution of a prepared statement.
    #[inline]
    pub(super) fn execute(&mut self, note: &Note) {
        self.may_prepare = may_call(note.statement.classes);
        // Where the text is known, it is no USE: the servers prepare none but by SQL.
        self.schema = note.may_change_schema().then_some(SchemaChange::MaybeUsed { fails_whole: false });
    }

    /// As COM_INIT_DB has it.
    pub(super) fn use_schema(&mut self, name: &[u8]) {
        self.schema = Some(match DefaultSchema::named(name) {
            DefaultSchema::Known(name) => SchemaChange::Used(name),
            DefaultSchema::None | DefaultSchema::Unknown => SchemaChange::MaybeUsed { fails_whole: true },
        });
    }

    pub(super) fn rename(&mut self, change: Change) {
        self.named = Some(change);
    }

    /// Views, routines, triggers or tables may be others once it has run.
    pub(super) fn may_change_catalog(&mut self, may: bool) {
        self.changes_catalog = may;
    }

    /// Views, routines or triggers are defined.
    pub(super) fn define(&mut self, definition: ChangeUnderWay) {
        self.definition = Some(definition);
    }

    pub(super) fn has_changed_catalog(&self) -> bool {
        self.changes_catalog
    }

    pub(super) fn hold(&mut self, facts: Facts, concerning: Concerning) {
        self.held = Some((facts, concerning));
    }

    pub(super) fn take_held(&mut self) -> Option<(Facts, Concerning)> {
        self.held.take()
    }

    #[inline]
    pub(super) fn apply(&mut self, session: &mut Remembered, succeeded: bool) {
        match self.schema.take() {
            Some(SchemaChange::Used(name) | SchemaChange::UsedAmongOthers(name)) if succeeded => {
                session.schema = DefaultSchema::Known(name);
            }
            Some(SchemaChange::MaybeUsed { fails_whole: true }) if !succeeded => {}
            Some(SchemaChange::MaybeUsed { .. } | SchemaChange::UsedAmongOthers(_)) => {
                session.schema = DefaultSchema::Unknown;
            }
            Some(SchemaChange::Used(_)) | None => {}
        }
        self.definition = None;
        if self.may_prepare {
            session.named.forget_all();
        }
        if let Some(change) = self.named.take().filter(|_| succeeded) {
            session.named.apply(change);
        }
    }
}

/// A routine or an unseen text may prepare and forget statements.
fn may_call(classes: Classes) -> bool {
    classes.contains(Class::Call) || classes.contains(Class::Unparsed)
}
