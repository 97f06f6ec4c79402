//! Passing a reply on as it arrives. The tracker says where it ends; rows are never decoded and never gathered.

use std::future::poll_fn;
use std::task::Poll;

use wire::packet::put_packet;
use wire::packet::{HEADER_LENGTH, Header};
use wire::{Stop, without_redirect};

use super::Session;
use crate::counters::Counter;
use crate::error::SessionError;

impl Session {
    /// Until the reply has ended. Not cancel safe.
    pub(super) async fn copy_reply(&mut self) -> Result<(), SessionError> {
        loop {
            let step = self.tracker.advance(self.upstream.input.unread())?;
            self.pass_on(step.consumed).await?;
            match step.stop {
                Stop::End => return Ok(()),
                Stop::NeedMore => self.more_from_upstream().await?,
                Stop::NeedWhole(length) => {
                    // One packet is 16 MiB at the most.
                    self.upstream.input.reserve(length);
                    self.more_from_upstream().await?;
                }
                // After these two the rest may have arrived already: the tracker says whether to wait for it.
                Stop::LocalInfile => Box::pin(self.copy_local_infile()).await?,
                Stop::Redirect(length) => {
                    if self.pass_without_redirect(length).await? == Stop::End {
                        return Ok(());
                    }
                }
            }
        }
    }

    #[inline]
    pub(super) async fn pass_on(&mut self, count: usize) -> Result<(), SessionError> {
        if count == 0 {
            return Ok(());
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.answered = true;
        }
        let sent = self.client.transport.send(&self.upstream.input.unread()[..count]).await;
        self.upstream.input.consume(count);
        sent.map_err(SessionError::ClientIo)
    }

    /// Waits for more of the reply. Meanwhile the client may send ahead, up to one chunk, or leave.
    #[inline]
    pub(super) async fn more_from_upstream(&mut self) -> Result<(), SessionError> {
        let (client, upstream) = (&mut self.client, &mut self.upstream);
        poll_fn(|context| {
            match upstream.poll_fill(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::UpstreamGone)),
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::UpstreamIo(error))),
                Poll::Pending => {}
            }
            while client.input.has_room() {
                match client.poll_fill(context) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::ClientGone)),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::ClientIo(error))),
                    Poll::Pending => break,
                }
            }
            Poll::Pending
        })
        .await
    }

    /// A server must not send the client to another server, where nobody would ask.
    async fn pass_without_redirect(&mut self, length: usize) -> Result<Stop, SessionError> {
        let packet = &self.upstream.input.unread()[..length];
        let stop = self.tracker.pass_packet(packet)?;
        let sequence = Header::read(packet).map_or(0, |header| header.sequence);
        let payload = &packet[HEADER_LENGTH..];
        let stripped = without_redirect(payload, self.facts.capabilities);
        let mut rewritten = Vec::new();
        put_packet(&mut rewritten, sequence, stripped.as_deref().unwrap_or(payload));
        self.upstream.input.consume(length);
        self.shared.counters.add(Counter::RedirectsStripped);
        if let Some(under_way) = &mut self.under_way {
            under_way.answered = true;
        }
        self.client.transport.send(&rewritten).await.map_err(SessionError::ClientIo)?;
        Ok(stop)
    }
}
