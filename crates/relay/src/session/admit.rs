//! Asking whether a command may go, and waiting where the verdict says so.

use std::future::poll_fn;
use std::task::Poll;

use wire::Command;
use wire::packet::HEADER_LENGTH;

use super::Session;
use super::inspect::Reading;
use super::read_command::Request;
use crate::admission::{Ask, Hold, Permit, Refusal, Verdict};
use crate::buffer::CHUNK;
use crate::counters::Counter;
use crate::error::{ClientError, SessionError};
use crate::registry::Signal;

impl Session {
    pub(super) async fn admit(
        &mut self,
        command: Command,
        request: &Request,
        reading: &Reading,
    ) -> Result<Result<Permit, Refusal>, SessionError> {
        let payload = &self.client.input.unread()[HEADER_LENGTH..HEADER_LENGTH + request.inspected];
        let verdict = self.shared.admission.ask(&Ask {
            facts: &self.facts,
            command,
            payload,
            whole: request.whole,
            sql: reading.sql_offset.and_then(|offset| payload.get(offset..)),
            in_transaction: self.in_transaction(),
            holds_locks: self.locks.holds_any(),
        });
        match verdict {
            Verdict::Pass(permit) => Ok(Ok(permit)),
            Verdict::Refuse(refusal) => Ok(Err(refusal)),
            Verdict::Hold(hold) => self.hold(hold, request).await,
        }
    }

    /// Waits for a verdict. The command has not gone anywhere: if the client leaves, it never does.
    async fn hold(&mut self, mut hold: Hold, request: &Request) -> Result<Result<Permit, Refusal>, SessionError> {
        let at_boundary = self.at_boundary();
        let limit = HEADER_LENGTH + request.inspected + CHUNK;
        let (client, upstream, handle) = (&mut self.client, &mut self.upstream, &self.entry.handle);
        handle.forget_interrupt();
        poll_fn(|context| {
            if let Poll::Ready(verdict) = hold.as_mut().poll(context) {
                return Poll::Ready(Ok(verdict));
            }
            handle.register(context.waker());
            match handle.signal() {
                Signal::None => {}
                Signal::Drain if !at_boundary => {}
                Signal::Drain => return Poll::Ready(Err(SessionError::Drained)),
                Signal::Cut => return Poll::Ready(Err(SessionError::Cut)),
            }
            if handle.is_interrupted() {
                let ClientError { code, sqlstate, message } = ClientError::interrupted();
                return Poll::Ready(Ok(Err(Refusal { code, sqlstate, message })));
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
