//! Answering a command in the upstream's place, so that the session can go on as if it had never been sent.

use wire::packet::{HEADER_LENGTH, Passage, put_packet};
use wire::{BulkExecute, Command, Execute, ReplyShape, Stop};

use super::forward::More;
use super::inspect::Reading;
use super::read_command::Request;
use super::{Flow, Session};
use crate::counters::Counter;
use crate::error::{ClientError, SessionError};
use admission::port::Refusal;

impl Session {
    /// Takes the command from the client and answers with an ERR.
    pub(super) async fn refuse(&mut self, request: &Request, error: &ClientError) -> Result<Flow, SessionError> {
        let sequence = self.discard_command(request).await?;
        let mut packet = Vec::new();
        put_packet(&mut packet, sequence.wrapping_add(1), &error.payload(self.capabilities()));
        self.client.transport.send(&packet).await.map_err(SessionError::ClientIo)?;
        self.under_way = None;
        Ok(Flow::Continue)
    }

    /// A refusal by verdict. A refused EXECUTE leaves its statement whole: client libraries send the types of parameters
    /// once and never again, and send long data again that the upstream already has.
    pub(super) async fn refuse_statement(
        &mut self,
        command: Command,
        request: &Request,
        reading: &Reading,
        refusal: Refusal,
    ) -> Result<Flow, SessionError> {
        self.shared.counters.add(Counter::Refused);
        if matches!(command, Command::StmtExecute | Command::StmtBulkExecute)
            && let Some(id) = reading.statement_id
        {
            self.keep_types(id, command, request);
            self.reset_long_data(id).await?;
        }
        let Refusal { code, sqlstate, message } = refusal;
        self.refuse(request, &ClientError { code, sqlstate, message }).await
    }

    fn keep_types(&mut self, id: u32, command: Command, request: &Request) {
        let payload = &self.client.input.unread()[HEADER_LENGTH..HEADER_LENGTH + request.inspected];
        let capabilities = self.facts.capabilities;
        let Some(prepared) = self.statements.prepared(id) else { return };
        let types = if command == Command::StmtBulkExecute {
            BulkExecute::decode(payload, prepared.params).ok().and_then(|bulk| bulk.types)
        } else {
            let execute = Execute::decode(payload, prepared.params, capabilities).ok();
            execute.and_then(|execute| execute.types).and_then(|range| payload.get(range))
        };
        if let Some(types) = types {
            self.statements.keep_types(id, types);
        }
    }

    /// The upstream keeps long data until an EXECUTE or a reset; the client will send it again.
    async fn reset_long_data(&mut self, id: u32) -> Result<(), SessionError> {
        let Some(prepared) = self.statements.prepared_mut(id).filter(|prepared| prepared.has_long_data) else {
            return Ok(());
        };
        prepared.has_long_data = false;
        let mut packet = Vec::new();
        let id = id.to_le_bytes();
        put_packet(&mut packet, 0, &[Command::StmtReset as u8, id[0], id[1], id[2], id[3]]);
        self.upstream.transport.send(&packet).await.map_err(SessionError::UpstreamIo)?;
        self.tracker.begin(ReplyShape::Simple);
        self.tracker.expect_behind(0);
        loop {
            let step = self.tracker.advance(self.upstream.input.unread())?;
            self.upstream.input.consume(step.consumed);
            match step.stop {
                Stop::End => return Ok(()),
                Stop::NeedMore => self.more_from_upstream().await?,
                Stop::NeedWhole(length) => {
                    self.upstream.input.reserve(length);
                    self.more_from_upstream().await?;
                }
                Stop::Redirect(length) => {
                    self.tracker.pass_packet(&self.upstream.input.unread()[..length])?;
                    self.upstream.input.consume(length);
                    return Ok(());
                }
                Stop::LocalInfile => return Err(wire::OutOfSync("a reset asked for a file").into()),
            }
        }
    }

    /// Reads a command to its end and returns the sequence number of its last packet.
    async fn discard_command(&mut self, request: &Request) -> Result<u8, SessionError> {
        if request.whole {
            self.client.input.consume(HEADER_LENGTH + request.header.length);
            return Ok(request.header.sequence);
        }
        let mut passage = Passage::new();
        loop {
            let count = passage.advance(self.client.input.unread());
            self.client.input.consume(count);
            if passage.is_done() {
                return Ok(passage.sequence);
            }
            if self.more_from_client().await? == More::UpstreamClosed {
                return Err(SessionError::UpstreamGone);
            }
        }
    }
}
