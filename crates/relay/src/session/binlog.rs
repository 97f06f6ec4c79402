//! COM_BINLOG_DUMP: a reply that does not end by itself, passed on at the speed of its reader.
//!
//! A semi-synchronous replica answers inside of it with acknowledgements. Only these go upstream, and only once the dump
//! has begun: if anything did, a client whose dump is refused could have sent its next commands unseen.

use std::future::poll_fn;
use std::task::Poll;

use wire::packet::{HEADER_LENGTH, Header};
use wire::{Command, Stop};

use super::Session;
use crate::error::SessionError;

/// The first byte of an acknowledgement: `ReplSemiSyncBase::kPacketMagicNum`.
const ACKNOWLEDGEMENT: u8 = 0xEF;

impl Session {
    pub(super) async fn copy_binlog(&mut self) -> Result<(), SessionError> {
        let mut acknowledged = false;
        loop {
            let step = self.tracker.advance(self.upstream.input.unread())?;
            self.pass_on(step.consumed).await?;
            match step.stop {
                // A dump that was not semi-synchronous has not read them: the server takes them for commands now, and
                // answers each. Nobody could tell these answers from the ones to come.
                Stop::End if acknowledged => {
                    self.under_way = None;
                    return Err(SessionError::UpstreamGone);
                }
                Stop::End => return Ok(()),
                Stop::NeedMore => {}
                Stop::NeedWhole(_) | Stop::Redirect(_) | Stop::LocalInfile => {
                    return Err(wire::OutOfSync("not a binlog event").into());
                }
            }
            // What is acknowledged is an event.
            if self.under_way.is_some_and(|under_way| under_way.answered) {
                acknowledged |= self.pass_acknowledgements().await?;
            }
            self.wait_for_either().await?;
        }
    }

    /// Passes on what the client may say now. A command waits, but one that only says goodbye ends the session: the
    /// upstream would notice it at the next event, which may be far.
    ///
    /// Whether any was passed on.
    async fn pass_acknowledgements(&mut self) -> Result<bool, SessionError> {
        let mut passed = false;
        loop {
            let unread = self.client.input.unread();
            let Some(header) = Header::read(unread) else { return Ok(passed) };
            let Some(&first) = unread.get(HEADER_LENGTH) else { return Ok(passed) };
            if first == Command::Quit as u8 && header.length == 1 {
                return Err(SessionError::ClientGone);
            }
            let whole = HEADER_LENGTH + header.length;
            if first != ACKNOWLEDGEMENT || unread.len() < whole {
                return Ok(passed);
            }
            self.upstream.transport.send(&unread[..whole]).await.map_err(SessionError::UpstreamIo)?;
            self.client.input.consume(whole);
            passed = true;
        }
    }

    async fn wait_for_either(&mut self) -> Result<(), SessionError> {
        let (client, upstream, handle) = (&mut self.client, &mut self.upstream, &self.entry.handle);
        poll_fn(|context| {
            handle.register(context.waker());
            // A dump has no boundary to wait for.
            if handle.signal() != crate::registry::Signal::None {
                return Poll::Ready(Err(SessionError::Drained));
            }
            match upstream.poll_fill(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::UpstreamGone)),
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::UpstreamIo(error))),
                Poll::Pending => {}
            }
            if client.input.has_room() {
                match client.poll_fill(context) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::ClientGone)),
                    Poll::Ready(Ok(_)) => return Poll::Ready(Ok(())),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::ClientIo(error))),
                    Poll::Pending => {}
                }
            }
            Poll::Pending
        })
        .await
    }
}
