//! The prepared statements of a session: what a refusal must not lose.

use std::collections::HashMap;

use statement::locks::LockEffect;
use wire::PrepareOk;

/// MariaDB's clients may execute the statement prepared last by this id, before they know its own.
const LAST_PREPARED: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct Statements {
    by_id: HashMap<u32, Prepared>,
    last: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) params: u16,
    pub(super) locks: LockEffect,
    /// `KILL ?`, whose parameter may be an id of ours.
    pub(super) kills: bool,
    /// The parameter types of a refused EXECUTE, which the client will not send again.
    pub(super) kept_types: Option<Box<[u8]>>,
    /// Long data has gone upstream since the last EXECUTE or reset.
    pub(super) has_long_data: bool,
}

impl Statements {
    pub(super) fn insert(&mut self, prepare: PrepareOk, locks: LockEffect, kills: bool) {
        let prepared = Prepared { params: prepare.params, locks, kills, kept_types: None, has_long_data: false };
        self.by_id.insert(prepare.statement_id, prepared);
        self.last = Some(prepare.statement_id);
    }

    /// A PREPARE failed: -1 names nothing now.
    pub(super) fn prepare_failed(&mut self) {
        self.last = None;
    }

    pub(super) fn resolve(&self, id: u32) -> Option<u32> {
        if id == LAST_PREPARED { self.last } else { Some(id) }
    }

    pub(super) fn prepared(&self, id: u32) -> Option<&Prepared> {
        self.by_id.get(&id)
    }

    pub(super) fn prepared_mut(&mut self, id: u32) -> Option<&mut Prepared> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn close(&mut self, id: u32) {
        self.by_id.remove(&id);
    }

    pub(super) fn clear(&mut self) {
        *self = Statements::default();
    }
}
