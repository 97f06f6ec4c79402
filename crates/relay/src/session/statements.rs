//! The prepared statements of a session: what a refusal must not lose.

use std::collections::HashMap;
use std::sync::Arc;

use ::session::TextEffect;
use admission::Note;
use wire::PrepareOk;

use super::inspect::Reading;

/// MariaDB's clients may execute the statement prepared last by this id, before they know its own.
const LAST_PREPARED: u32 = u32::MAX;

/// Bytes of parameter types that one session may have kept.
const KEPT_TYPES: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Statements {
    /// Looked into several times an EXECUTE. The ids are the upstream's, so nobody chooses them to collide.
    by_id: HashMap<u32, Prepared, foldhash::fast::RandomState>,
    last: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) params: u16,
    /// What an execution does to the session.
    pub(super) effect: TextEffect,
    /// `KILL ?`, whose parameter may be an id of ours.
    pub(super) kills: bool,
    /// What its executions are judged by.
    pub(super) note: Option<Arc<Note>>,
    /// The ids that a KILL in its text names.
    pub(super) killed: Vec<u32>,
    /// The parameter types of a refused EXECUTE, which the client will not send again.
    pub(super) kept_types: Option<Box<[u8]>>,
    /// Long data has gone upstream since the last EXECUTE or reset.
    pub(super) has_long_data: bool,
}

impl Statements {
    pub(super) fn insert(&mut self, prepare: PrepareOk, reading: &Reading) {
        let prepared = Prepared {
            params: prepare.params,
            effect: reading.effect,
            kills: reading.kills_parameter,
            note: reading.note.clone(),
            killed: reading.killed.clone(),
            kept_types: None,
            has_long_data: false,
        };
        self.by_id.insert(prepare.statement_id, prepared);
        self.last = Some(prepare.statement_id);
    }

    /// Keeps the types of a refused EXECUTE. All together they are bounded, as everything that a client can have kept is;
    /// beyond that a retried EXECUTE gets the server's own error.
    pub(super) fn keep_types(&mut self, id: u32, types: &[u8]) {
        let kept: usize =
            self.by_id.values().filter_map(|prepared| prepared.kept_types.as_ref()).map(|kept| kept.len()).sum();
        if let Some(prepared) = self.by_id.get_mut(&id)
            && kept + types.len() <= KEPT_TYPES
        {
            prepared.kept_types = Some(types.into());
        }
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
