//! Asking whether a command may go, and waiting where the verdict says so.

use std::future::poll_fn;
use std::task::Poll;

use wire::packet::HEADER_LENGTH;
use wire::{Capabilities, Command, Execute, Query};

use super::Session;
use super::inspect::Reading;
use super::read_command::Request;
use crate::buffer::CHUNK;
use crate::counters::Counter;
use crate::error::{ClientError, SessionError};
use crate::registry::Signal;
use admission::port::{Ask, Hold, Permit, Refusal, Verdict};

/// Where SQL begins behind an empty list of query attributes.
const WITHOUT_ATTRIBUTES: usize = 3;

/// How a hold ended.
enum Ended {
    Granted(Permit),
    Refused(Refusal),
    /// By a KILL that the upstream agreed to.
    Killed,
}

impl Session {
    pub(super) async fn admit(
        &mut self,
        command: Command,
        request: &Request,
        reading: &Reading,
    ) -> Result<Result<Permit, Refusal>, SessionError> {
        Ok(match self.ask(command, request, reading) {
            Verdict::Pass(permit) => Ok(permit),
            Verdict::Refuse(refusal) => Err(refusal),
            Verdict::Hold(hold) => match self.hold(hold, request).await? {
                Ended::Granted(permit) => Ok(permit),
                Ended::Refused(refusal) => Err(refusal),
                Ended::Killed => {
                    let ClientError { code, sqlstate, message } = ClientError::interrupted();
                    Err(Refusal { code, sqlstate, message })
                }
            },
        })
    }

    #[inline]
    fn ask(&mut self, command: Command, request: &Request, reading: &Reading) -> Verdict {
        let (session, capabilities) = (self.state(), self.capabilities());
        let payload = &self.client.input.unread()[HEADER_LENGTH..HEADER_LENGTH + request.inspected];
        let prepared = reading.statement_id.and_then(|id| self.statements.prepared(id));
        let attributes = match command {
            Command::Query if reading.sql_offset.is_some_and(|offset| offset > WITHOUT_ATTRIBUTES) => {
                Query::decode(payload, capabilities).ok().and_then(|query| query.attributes).map(|found| (found, 0))
            }
            Command::StmtExecute if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) => {
                prepared.filter(|prepared| !prepared.has_long_data).and_then(|prepared| {
                    let execute = Execute::decode(payload, prepared.params, capabilities).ok()?;
                    execute.attributes(payload, prepared.params)
                })
            }
            _ => None,
        };
        self.gate.ask(&Ask {
            client: self.facts.client(),
            command,
            payload,
            sql: reading.sql_offset.and_then(|offset| payload.get(offset..)).zip(self.scan.as_ref()),
            note: prepared.and_then(|prepared| prepared.note.as_ref()),
            attributes,
            mode: self.text.mode(),
            session,
        })
    }

    /// Waits for a verdict. The command has not gone anywhere: if the client leaves, it never does.
    async fn hold(&mut self, mut hold: Hold, request: &Request) -> Result<Ended, SessionError> {
        let at_boundary = self.at_boundary();
        let limit = HEADER_LENGTH + request.inspected + CHUNK;
        let (client, upstream, handle) = (&mut self.client, &mut self.upstream, &self.entry.handle);
        handle.forget_interrupt();
        poll_fn(|context| {
            if let Poll::Ready(verdict) = hold.as_mut().poll(context) {
                return Poll::Ready(Ok(match verdict {
                    Ok(permit) => Ended::Granted(permit),
                    Err(refusal) => Ended::Refused(refusal),
                }));
            }
            handle.register(context.waker());
            match handle.signal() {
                Signal::None => {}
                Signal::Drain if !at_boundary => {}
                Signal::Drain => return Poll::Ready(Err(SessionError::Drained)),
                Signal::Cut => return Poll::Ready(Err(SessionError::Cut)),
            }
            if handle.is_interrupted() {
                return Poll::Ready(Ok(Ended::Killed));
            }
            // Read ahead one chunk at most, to see it leave. (One that sends more than that and leaves is seen when its
            // reply is written.)
            while client.input.len() < limit {
                match client.poll_fill(context) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::ClientGone)),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::ClientIo(error))),
                    Poll::Pending => break,
                }
            }
            // It may say why it closes (4031 after wait_timeout); what counts is that it does.
            while upstream.input.has_room() {
                match upstream.poll_fill(context) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::UpstreamGone)),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::UpstreamIo(error))),
                    Poll::Pending => break,
                }
            }
            Poll::Pending
        })
        .await
        .inspect_err(|error| {
            if matches!(error, SessionError::ClientGone | SessionError::ClientIo(_)) {
                self.shared.counters.add(Counter::LeftDuringHold);
            }
        })
    }
}
