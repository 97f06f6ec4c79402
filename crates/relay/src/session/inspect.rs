//! What a command's bytes say, as far as the session itself must know it.

use statement::locks::LockEffect;
use statement::{kill, locks};
use wire::packet::HEADER_LENGTH;
use wire::{Command, Execute, Query};

use super::Session;
use super::read_command::Request;
use crate::error::ClientError;

/// The command byte and a statement's id.
const CLOSE_LENGTH: usize = 1 + 4;

/// And a parameter's number.
const LONG_DATA_HEADER: usize = 1 + 4 + 2;

/// The facts of one command that live until it is settled.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Where the SQL begins in the payload.
    pub(super) sql_offset: Option<usize>,
    pub(super) locks: LockEffect,
    /// The statement that is executed, closed, reset or fetched from.
    pub(super) statement_id: Option<u32>,
    /// How its parameters are laid out.
    pub(super) execute: Option<Execute>,
    /// The payload to send in place of the client's, or of its inspected part.
    pub(super) rewritten: Option<Vec<u8>>,
    /// Connections that a KILL names, as their clients or the upstream know them.
    pub(super) killed: Vec<u32>,
}

impl Session {
    /// `Err`: the command cannot be understood, and a server might understand it otherwise than we.
    pub(super) fn inspect(&self, command: Command, request: &Request) -> Result<Reading, ClientError> {
        let payload = &self.client.input.unread()[HEADER_LENGTH..HEADER_LENGTH + request.inspected];
        let mut reading = Reading::default();
        match command {
            Command::Query => {
                let query = Query::decode(payload, self.capabilities())
                    .map_err(|error| ClientError::malformed_command(error.0))?;
                reading.sql_offset = Some(query.sql_offset);
                self.read_sql(payload, query.sql_offset, request.whole, &mut reading);
            }
            Command::StmtPrepare => {
                reading.sql_offset = Some(1);
                self.read_sql(payload, 1, request.whole, &mut reading);
            }
            Command::ProcessKill => self.read_process_kill(payload, &mut reading),
            Command::StmtExecute => self.read_execute(payload, &mut reading),
            Command::StmtSendLongData => reading.statement_id = self.unanswered(payload, LONG_DATA_HEADER)?,
            Command::StmtClose => reading.statement_id = self.unanswered(payload, CLOSE_LENGTH)?,
            Command::StmtBulkExecute | Command::StmtReset | Command::StmtFetch => {
                reading.statement_id = self.statement_id(payload);
            }
            Command::Quit
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
            | Command::SetOption
            | Command::BinlogDumpGtid
            | Command::ResetConnection => {}
        }
        Ok(reading)
    }

    #[inline]
    fn read_sql(&self, payload: &[u8], offset: usize, whole: bool, reading: &mut Reading) {
        let Some(sql) = payload.get(offset..) else { return };
        let mode = self.mode(whole);
        reading.locks = locks::effect(sql, mode);
        let mut kills = kill::find(sql, mode).peekable();
        if kills.peek().is_some() {
            reading.killed = kills.map(|target| target.id).collect();
            let registry = &self.shared.registry;
            // A translated text may be shorter, which a command that is not here whole cannot become.
            if !whole {
                return;
            }
            reading.rewritten = kill::translate(sql, mode, |id| registry.upstream_id(id))
                .map(|translated| [&payload[..offset], translated.as_slice()].concat());
        }
    }

    /// COM_PROCESS_KILL has the id as four bytes.
    fn read_process_kill(&self, payload: &[u8], reading: &mut Reading) {
        let Some(id) = payload.get(1..5).and_then(|bytes| bytes.first_chunk()) else { return };
        let id = u32::from_le_bytes(*id);
        reading.killed = vec![id];
        if let Some(upstream_id) = self.shared.registry.upstream_id(id) {
            reading.rewritten = Some([&payload[..1], &upstream_id.to_le_bytes(), &payload[5..]].concat());
        }
    }

    fn read_execute(&self, payload: &[u8], reading: &mut Reading) {
        reading.statement_id = self.statement_id(payload);
        let Some(prepared) = reading.statement_id.and_then(|id| self.statements.prepared(id)) else { return };
        reading.locks = prepared.locks;
        let Some(types) = &prepared.kept_types else { return };
        // The client believes that the upstream has the types of an EXECUTE that was refused.
        if let Ok(execute) = Execute::decode(payload, prepared.params, self.capabilities()) {
            if execute.types.is_none() && execute.bind_flag_offset.is_some() {
                reading.rewritten = Some(wire::types_inserted(payload, &execute, types));
            }
            reading.execute = Some(execute);
        }
    }

    /// The statement of a command that has no reply. MySQL answers one that is cut all the same, with 1835, which would
    /// then be taken for the reply to the next.
    fn unanswered(&self, payload: &[u8], least: usize) -> Result<Option<u32>, ClientError> {
        if payload.len() < least {
            return Err(ClientError::malformed_command("a statement's id or parameter is cut"));
        }
        Ok(self.statement_id(payload))
    }

    /// The statement that a command names; MariaDB's clients name the one prepared last by -1.
    fn statement_id(&self, payload: &[u8]) -> Option<u32> {
        let id = u32::from_le_bytes(*payload.get(1..5)?.first_chunk()?);
        self.statements.resolve(id)
    }
}
