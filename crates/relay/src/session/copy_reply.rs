//! Passing a reply on as it arrives. The tracker says where it ends; rows are never decoded and never gathered.

use std::future::poll_fn;
use std::task::Poll;

use wire::packet::put_packet;
use wire::packet::{HEADER_LENGTH, Header};
use wire::{Command, Stop, without_redirect};

use admission::port::Permit;

use super::Session;
use super::inspect::Reading;
use crate::counters::Counter;
use crate::error::SessionError;
use crate::registry::Signal;

impl Session {
    /// Until the reply has ended. What it has changed is settled before its last bytes go: who has read them may ask on
    /// another connection for the place that they freed. Not cancel safe.
    pub(super) async fn copy_reply(&mut self, command: Command, reading: &Reading) -> Result<(), SessionError> {
        loop {
            let step = self.tracker.advance(self.upstream.input.unread())?;
            if step.stop == Stop::End {
                self.settle(command, reading);
                return self.pass_on(step.consumed).await;
            }
            self.pass_on(step.consumed).await?;
            match step.stop {
                // What is behind it may be here already.
                Stop::Redirect(length) => {
                    let (stop, packet) = self.take_without_redirect(length)?;
                    if stop == Stop::End {
                        self.settle(command, reading);
                        return self.client.transport.send(&packet).await.map_err(SessionError::ClientIo);
                    }
                    self.client.transport.send(&packet).await.map_err(SessionError::ClientIo)?;
                    continue;
                }
                Stop::LocalInfile => {
                    Box::pin(self.copy_local_infile()).await?;
                    continue;
                }
                // One packet is 16 MiB at the most.
                Stop::NeedWhole(length) => self.upstream.input.reserve(length),
                Stop::NeedMore | Stop::End => {}
            }
            self.more_from_upstream().await?;
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
        let bytes = &self.upstream.input.unread()[..count];
        let (permit, patience) = (&self.permit, &mut self.patience);
        let blocked = || permit.iter().for_each(Permit::blocked_on_client);
        let sent = match &mut self.renumber {
            None => self.client.transport.send_telling(bytes, patience, blocked).await,
            Some(renumber) => self.client.transport.send_telling(&renumber.apply(bytes), patience, blocked).await,
        };
        self.upstream.input.consume(count);
        sent.map_err(SessionError::ClientIo)
    }

    /// Waits for more of the reply. Meanwhile the client may send ahead, up to one chunk, or leave.
    #[inline]
    pub(super) async fn more_from_upstream(&mut self) -> Result<(), SessionError> {
        let (client, upstream, handle) = (&mut self.client, &mut self.upstream, &self.entry.handle);
        poll_fn(|context| {
            match upstream.poll_fill(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::UpstreamGone)),
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::UpstreamIo(error))),
                Poll::Pending => {}
            }
            handle.register(context.waker());
            if handle.signal() == Signal::Cut {
                return Poll::Ready(Err(SessionError::Cut));
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

    /// A server must not send the client to another server, where nobody would ask: the packet that the client gets instead.
    fn take_without_redirect(&mut self, length: usize) -> Result<(Stop, Vec<u8>), SessionError> {
        let packet = &self.upstream.input.unread()[..length];
        let stop = self.tracker.pass_packet(packet)?;
        let sequence = Header::read(packet).map_or(0, |header| self.as_client_counts(header.sequence));
        let payload = &packet[HEADER_LENGTH..];
        let stripped = without_redirect(payload, self.facts.capabilities);
        let mut rewritten = Vec::new();
        put_packet(&mut rewritten, sequence, stripped.as_deref().unwrap_or(payload));
        self.upstream.input.consume(length);
        self.shared.counters.add(Counter::RedirectsStripped);
        if let Some(under_way) = &mut self.under_way {
            under_way.answered = true;
        }
        Ok((stop, rewritten))
    }
}
