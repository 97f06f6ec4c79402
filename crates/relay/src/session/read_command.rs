//! Waiting for the next command, and for whatever else may happen meanwhile.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use tokio::time::{Sleep, sleep};
use wire::packet::{HEADER_LENGTH, Header};
use wire::{Command, OutOfSync};

use super::Session;
use crate::error::SessionError;
use crate::registry::{GRACE, Signal};

/// The first byte of an ERR.
const ERR: u8 = 0xFF;

/// More than a server has to say about why it closes.
const UNASKED_LIMIT: usize = 4096;

/// A command at the start of the client's buffer: all of it, or as much as is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) header: Header,
    /// `None`: a byte whose reply could not be followed.
    pub(super) command: Option<Command>,
    /// How much of the payload may be looked at.
    pub(super) inspected: usize,
    /// Whether that is all of it.
    pub(super) whole: bool,
}

impl Session {
    /// Cancel safe.
    pub(super) async fn read_command(&mut self) -> Result<Request, SessionError> {
        self.under_way = None;
        if self.handle().signal() == Signal::Cut {
            // One that sends ahead never waits.
            return Err(SessionError::Cut);
        }
        loop {
            let unread = self.client.input.unread();
            if let Some(header) = Header::read(unread) {
                let wanted = header.length.min(self.shared.settings.inspect);
                if let Some(payload) = unread.get(HEADER_LENGTH..HEADER_LENGTH + wanted) {
                    return Ok(Request {
                        header,
                        command: payload.first().copied().and_then(Command::from_byte),
                        inspected: wanted,
                        whole: wanted == header.length && !header.is_continued(),
                    });
                }
                self.client.input.reserve(HEADER_LENGTH + wanted);
            }
            self.wait_for_client().await?;
        }
    }

    /// Until the client has sent something. What the upstream says unasked is passed on.
    async fn wait_for_client(&mut self) -> Result<(), SessionError> {
        let at_boundary = self.at_boundary() && self.client.input.is_empty();
        let asked = self.asked;
        let mut grace: Option<Pin<Box<Sleep>>> = None;
        let (client, upstream, handle) = (&mut self.client, &mut self.upstream, &self.entry.handle);
        let spoken = poll_fn(|context| {
            handle.register(context.waker());
            match handle.signal() {
                Signal::None => {}
                Signal::Drain if !at_boundary => {}
                Signal::Drain => {
                    let mut has_had_time =
                        || grace.get_or_insert_with(|| Box::pin(sleep(GRACE))).as_mut().poll(context);
                    if asked || has_had_time().is_ready() {
                        return Poll::Ready(Err(SessionError::Drained));
                    }
                }
                Signal::Cut => return Poll::Ready(Err(SessionError::Cut)),
            }
            match client.poll_fill(context) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(SessionError::ClientGone)),
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(Spoken::Client)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(SessionError::ClientIo(error))),
                Poll::Pending => {}
            }
            match upstream.poll_fill(context) {
                Poll::Ready(Ok(0)) => Poll::Ready(Err(SessionError::UpstreamGone)),
                Poll::Ready(Ok(_)) => Poll::Ready(Ok(Spoken::Upstream)),
                Poll::Ready(Err(error)) => Poll::Ready(Err(SessionError::UpstreamIo(error))),
                Poll::Pending => Poll::Pending,
            }
        })
        .await?;
        match spoken {
            Spoken::Client => Ok(()),
            Spoken::Upstream => self.pass_on_unasked().await,
        }
    }

    /// A server that closes an idle session says why first (4031 after wait_timeout). Anything else unasked would be
    /// taken for the reply to the next command.
    async fn pass_on_unasked(&mut self) -> Result<(), SessionError> {
        let unread = self.upstream.input.unread();
        let (Some(header), first) = (Header::read(unread), unread.get(HEADER_LENGTH)) else { return Ok(()) };
        let length = HEADER_LENGTH + header.length;
        if first.is_some_and(|&first| first != ERR) || length > UNASKED_LIMIT {
            return Err(OutOfSync("a packet that nobody asked for").into());
        }
        if unread.len() < length {
            return Ok(());
        }
        self.client.transport.send(&unread[..length]).await.map_err(SessionError::ClientIo)?;
        self.upstream.input.consume(length);
        // Only a server that ends the session speaks unasked; if it went on, this ERR might as well have been the reply
        // to something that we did not see.
        self.under_way = None;
        Err(SessionError::UpstreamGone)
    }

    /// Before a command goes upstream: nothing may have come from there since the last reply but a farewell, which is as
    /// good as a reply to the command that crossed it, and the last one.
    #[inline]
    pub(super) async fn heed_farewell(&mut self) -> Result<(), SessionError> {
        while !self.upstream.input.is_empty() {
            self.pass_on_unasked().await?;
            self.more_from_upstream().await?;
        }
        Ok(())
    }
}

enum Spoken {
    Client,
    Upstream,
}
