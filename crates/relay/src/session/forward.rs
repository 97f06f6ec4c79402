//! Sending a command upstream. Nothing else writes commands there, and this takes a permit.

use std::future::poll_fn;
use std::task::Poll;

use admission::port::Permit;
use wire::Command;
use wire::packet::{HEADER_LENGTH, Passage, put_packet};

use super::Session;
use super::inspect::Reading;
use super::read_command::Request;
use super::renumber::Renumber;
use crate::error::SessionError;
use crate::registry::Signal;
use crate::transport::{Patience, is_stalled};

impl Session {
    /// Keeps the permit until the reply has ended. Not cancel safe.
    pub(super) async fn forward(
        &mut self,
        command: Command,
        request: &Request,
        reading: &Reading,
        permit: Permit,
    ) -> Result<Sent, SessionError> {
        self.permit = Some(permit);
        self.renumber = None;
        self.tracker.begin(command.reply_shape());
        if reading.asks_for_cursor {
            self.tracker.expect_cursor();
        }
        if let (Command::StmtSendLongData, Some(id)) = (command, reading.statement_id)
            && let Some(prepared) = self.statements.prepared_mut(id)
        {
            prepared.has_long_data = true;
        }
        match (&reading.rewritten, request.whole) {
            (None, true) => {
                let length = HEADER_LENGTH + request.header.length;
                let bytes = &self.client.input.unread()[..length];
                let sent = self.upstream.transport.send(bytes).await;
                self.client.input.consume(length);
                self.tracker.expect_behind(request.header.sequence);
                self.after_send(sent)
            }
            (None, false) => self.stream_command().await,
            (Some(payload), true) => {
                let mut packets = Vec::with_capacity(HEADER_LENGTH + payload.len());
                let next = put_packet(&mut packets, request.header.sequence, payload);
                self.renumber = Renumber::between(next.wrapping_sub(1), request.header.sequence);
                self.tracker.expect_behind(next.wrapping_sub(1));
                let sent = self.upstream.transport.send(&packets).await;
                self.client.input.consume(HEADER_LENGTH + request.header.length);
                self.after_send(sent)
            }
            (Some(payload), false) => self.stream_rewritten(request, payload).await.map(|()| Sent::Whole),
        }
    }

    /// A command that is larger than what is looked at: passed on as it arrives.
    async fn stream_command(&mut self) -> Result<Sent, SessionError> {
        let mut passage = Passage::new();
        loop {
            let count = passage.advance(self.client.input.unread());
            let sent = self.upstream.transport.send(&self.client.input.unread()[..count]).await;
            self.client.input.consume(count);
            if let Some(under_way) = &mut self.under_way {
                under_way.sequence = passage.sequence;
            }
            self.tracker.expect_behind(passage.sequence);
            if sent.is_err() || passage.is_done() {
                self.client_has_sent();
                return self.after_send(sent);
            }
            if self.more_from_client().await? == More::UpstreamClosed {
                return self.after_send(Err(std::io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// All of a command or a file, however long that took: what comes now takes as long as the upstream does.
    pub(super) fn client_has_sent(&mut self) {
        if self.patience.has_ended() {
            self.patience = Patience::new();
            if let Some(permit) = &self.permit {
                permit.resumed();
            }
        }
    }

    /// Waits for more of a command or a file; an upstream that will not have the rest says so and closes.
    pub(super) async fn more_from_client(&mut self) -> Result<More, SessionError> {
        let (client, upstream, handle) = (&mut self.client, &mut self.upstream, &self.entry.handle);
        let permit = &self.permit;
        let more = poll_fn(|context| {
            handle.register(context.waker());
            if handle.signal() == Signal::Cut {
                return Poll::Ready(Err(SessionError::Cut));
            }
            match client.poll_fill(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::ClientGone)),
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(More::Client)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::ClientIo(error))),
                Poll::Pending => {}
            }
            while upstream.input.has_room() {
                match upstream.poll_fill(context) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Ok(More::UpstreamClosed)),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => break,
                }
            }
            Poll::Pending
        });
        self.patience.with(more, || permit.iter().for_each(Permit::blocked_on_client)).await
    }

    /// An upstream that closed may have said why before: that is read as the reply, and then the end. One that only does
    /// not read is not waited for any longer.
    fn after_send(&mut self, sent: std::io::Result<()>) -> Result<Sent, SessionError> {
        match sent {
            Ok(()) => Ok(Sent::Whole),
            Err(error) if self.tracker.is_idle() || is_stalled(&error) => Err(SessionError::UpstreamIo(error)),
            Err(_) => Ok(Sent::CutShort),
        }
    }
}

/// How much of a command the upstream took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Whole,
    /// It broke meanwhile: what it said before is the reply, and the last one.
    CutShort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Client,
    UpstreamClosed,
}
