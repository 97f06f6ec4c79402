//! What a command's bytes say, as far as the session itself must know it.

use std::sync::Arc;

use ::session::{Source, TextEffect};
use admission::Note;
use statement::{Scan, kill};
use wire::packet::HEADER_LENGTH;
use wire::{BulkExecute, Command, Execute, Query};

use super::read_command::Request;
use super::{Session, kill_parameter};
use crate::error::ClientError;

/// The facts of one command that live until it is settled.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Where the SQL begins in the payload.
    pub(super) sql_offset: Option<usize>,
    /// What the text does to the session once it has run.
    pub(super) effect: TextEffect,
    /// The statement that is executed, closed, reset or fetched from.
    pub(super) statement_id: Option<u32>,
    /// An EXECUTE that opens a cursor: rows come when they are fetched.
    pub(super) asks_for_cursor: bool,
    /// The payload to send in place of the client's, or of its inspected part.
    pub(super) rewritten: Option<Vec<u8>>,
    /// A PREPARE of `KILL ?`.
    pub(super) kills_parameter: bool,
    /// Of a PREPARE: what its executions will be judged by.
    pub(super) note: Option<Arc<Note>>,
    /// Of COM_SET_OPTION.
    pub(super) option: Option<u16>,
    /// Connections that a KILL names, as their clients or the upstream know them.
    pub(super) killed: Vec<u32>,
}

impl Session {
    /// `Err`: the command cannot be understood, and a server might understand it otherwise than we.
    ///
    /// Written in place: it is too large to be handed around for every command.
    pub(super) fn inspect(
        &mut self,
        command: Command,
        request: &Request,
        reading: &mut Reading,
    ) -> Result<(), ClientError> {
        self.scan = None;
        match command {
            Command::Query => self.inspect_text(Source::Query, request, reading),
            Command::StmtPrepare => self.inspect_text(Source::Prepare, request, reading),
            _ => self.inspect_other(command, request, reading),
        }
    }

    #[inline]
    fn inspect_text(&mut self, source: Source, request: &Request, reading: &mut Reading) -> Result<(), ClientError> {
        let payload = &self.client.input.unread()[HEADER_LENGTH..HEADER_LENGTH + request.inspected];
        let offset = match source {
            Source::Query => {
                let query = Query::decode(payload, self.capabilities());
                query.map_err(|error| ClientError::malformed_command(error.0))?.sql_offset
            }
            Source::Prepare => 1,
        };
        reading.sql_offset = Some(offset);
        let Some(sql) = payload.get(offset..) else { return Ok(()) };
        let scan = self.read_text(sql, source, request.whole);
        reading.effect = match source {
            Source::Query => TextEffect::of(&scan),
            Source::Prepare => TextEffect::of_prepared(&scan),
        };
        if scan.may_kill() {
            self.read_kills(payload, offset, &scan, request.whole, reading);
            reading.kills_parameter = source == Source::Prepare && scan.kills_a_parameter(sql);
        }
        self.scan = Some(scan);
        Ok(())
    }

    #[inline]
    fn inspect_other(&self, command: Command, request: &Request, reading: &mut Reading) -> Result<(), ClientError> {
        let payload = &self.client.input.unread()[HEADER_LENGTH..HEADER_LENGTH + request.inspected];
        match command {
            Command::SetOption => {
                reading.option =
                    payload.get(1..3).and_then(|bytes| bytes.first_chunk()).copied().map(u16::from_le_bytes);
            }
            Command::ProcessKill => self.read_process_kill(payload, reading),
            Command::StmtExecute => {
                self.read_execute(payload, reading);
                if request.whole {
                    self.read_kill_parameter(payload, reading);
                }
            }
            Command::StmtBulkExecute => self.read_bulk_execute(payload, reading),
            Command::StmtSendLongData | Command::StmtClose => {
                // MySQL answers one that is cut, as it answers no other: nobody would know whose reply that is.
                let shortest = if command == Command::StmtClose { 5 } else { 7 };
                if payload.len() < shortest {
                    return Err(ClientError::malformed_command("it is cut"));
                }
                reading.statement_id = self.statement_id(payload);
            }
            Command::StmtReset | Command::StmtFetch => reading.statement_id = self.statement_id(payload),
            Command::Query
            | Command::StmtPrepare
            | Command::Quit
            | Command::InitDb
            | Command::FieldList
            | Command::CreateDb
            | Command::DropDb
            | Command::Refresh
            | Command::Shutdown
            | Command::Statistics
            | Command::ProcessInfo
            | Command::Debug
            | Command::Ping
            | Command::ChangeUser
            | Command::BinlogDump
            | Command::RegisterSlave
            | Command::BinlogDumpGtid
            | Command::ResetConnection => {}
        }
        Ok(())
    }

    /// What is remembered of a text that is prepared.
    pub(super) fn note(&mut self, request: &Request) -> Arc<Note> {
        let payload = &self.client.input.unread()[HEADER_LENGTH..HEADER_LENGTH + request.inspected];
        match &self.scan {
            Some(scan) => self.gate.note(payload.get(1..).unwrap_or_default(), scan),
            None => Arc::new(Note::unknown()),
        }
    }

    fn read_kills(&self, payload: &[u8], offset: usize, scan: &Scan, whole: bool, reading: &mut Reading) {
        let sql = payload.get(offset..).unwrap_or_default();
        let targets = scan.kills(sql);
        reading.killed = targets.iter().map(|target| target.id).collect();
        // A translated text may be shorter, which a command that is not here whole cannot become.
        if whole {
            let registry = &self.shared.registry;
            reading.rewritten = kill::translate(sql, &targets, |id| registry.upstream_id(id, self.handle()))
                .map(|translated| [&payload[..offset], translated.as_slice()].concat());
        }
    }

    /// COM_PROCESS_KILL has the id as four bytes.
    fn read_process_kill(&self, payload: &[u8], reading: &mut Reading) {
        let Some(id) = payload.get(1..5).and_then(|bytes| bytes.first_chunk()) else { return };
        let id = u32::from_le_bytes(*id);
        reading.killed = vec![id];
        if let Some(upstream_id) = self.shared.registry.upstream_id(id, self.handle()) {
            reading.rewritten = Some([&payload[..1], &upstream_id.to_le_bytes(), &payload[5..]].concat());
        }
    }

    fn read_execute(&self, payload: &[u8], reading: &mut Reading) {
        reading.statement_id = self.statement_id(payload);
        reading.asks_for_cursor = Execute::asks_for_cursor(payload);
        let Some(prepared) = reading.statement_id.and_then(|id| self.statements.prepared(id)) else { return };
        reading.effect = prepared.effect;
        reading.killed.clone_from(&prepared.killed);
        let Some(types) = &prepared.kept_types else { return };
        // The client believes that the upstream has the types of an EXECUTE that was refused.
        if let Ok(execute) = Execute::decode(payload, prepared.params, self.capabilities())
            && execute.types.is_none()
            && execute.bind_flag_offset.is_some()
        {
            reading.rewritten = Some(wire::types_inserted(payload, &execute, types));
        }
    }

    fn read_kill_parameter(&self, payload: &[u8], reading: &mut Reading) {
        let named = reading.statement_id.and_then(|id| self.statements.prepared(id));
        let Some(prepared) = named.filter(|prepared| prepared.kills) else { return };
        let payload = reading.rewritten.as_deref().unwrap_or(payload);
        let Ok(execute) = Execute::decode(payload, prepared.params, self.capabilities()) else { return };
        // With an attribute behind it, where the value ends is not known here.
        let Some((head, value)) = payload.split_at_checked(execute.values_offset) else { return };
        if execute.parameter_count != 1 {
            return;
        }
        let lookup = |id| self.shared.registry.upstream_id(id, self.handle());
        if let Some((value, id)) = kill_parameter::translated(value, lookup) {
            reading.killed = vec![id];
            reading.rewritten = Some([head, &value].concat());
        }
    }

    fn read_bulk_execute(&self, payload: &[u8], reading: &mut Reading) {
        reading.statement_id = self.statement_id(payload);
        let Some(prepared) = reading.statement_id.and_then(|id| self.statements.prepared(id)) else { return };
        reading.effect = prepared.effect;
        let Some(types) = &prepared.kept_types else { return };
        if let Ok(bulk) = BulkExecute::decode(payload, prepared.params) {
            reading.rewritten = bulk.with_types(types);
        }
    }

    /// The statement that a command names; MariaDB's clients name the one prepared last by -1.
    fn statement_id(&self, payload: &[u8]) -> Option<u32> {
        let id = u32::from_le_bytes(*payload.get(1..5)?.first_chunk()?);
        self.statements.resolve(id)
    }
}
