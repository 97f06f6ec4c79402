//! A command that is larger than what is looked at, with more bytes than the client sent: where its packets are cut
//! moves with them.

use wire::packet::{HEADER_LENGTH, Header, MAX_PAYLOAD};

use super::Session;
use super::forward::More;
use super::read_command::Request;
use super::renumber::Renumber;
use crate::error::SessionError;

impl Session {
    /// `start` stands for the inspected part, and is not shorter than it.
    pub(super) async fn stream_rewritten(&mut self, request: &Request, start: &[u8]) -> Result<(), SessionError> {
        self.client.input.consume(HEADER_LENGTH + request.inspected);
        let mut carried = start.to_vec();
        // Of the client's current packet.
        let mut left = request.header.length - request.inspected;
        let mut continued = request.header.is_continued();
        let mut sequence = request.header.sequence;
        loop {
            let length = (carried.len() + left).min(MAX_PAYLOAD);
            let header = Header { length, sequence };
            sequence = sequence.wrapping_add(1);
            let from_carried = carried.len().min(length);
            let head = [&header.bytes()[..], &carried[..from_carried]].concat();
            self.upstream.transport.send(&head).await.map_err(SessionError::UpstreamIo)?;
            carried.drain(..from_carried);
            left -= length - from_carried;
            self.send_exactly(length - from_carried).await?;
            if !header.is_continued() {
                let clients = self.under_way.map_or(request.header.sequence, |under_way| under_way.sequence);
                self.renumber = Renumber::between(header.sequence, clients);
                self.tracker.expect_behind(header.sequence);
                self.client_has_sent();
                return Ok(());
            }
            // The end of the client's packet opens our next one.
            while left > 0 {
                self.at_least(1).await?;
                let count = left.min(self.client.input.len());
                carried.extend_from_slice(&self.client.input.unread()[..count]);
                self.client.input.consume(count);
                left -= count;
            }
            if continued {
                self.at_least(HEADER_LENGTH).await?;
                let next = Header::read(self.client.input.unread()).ok_or(SessionError::ClientGone)?;
                self.client.input.consume(HEADER_LENGTH);
                (left, continued) = (next.length, next.is_continued());
                if let Some(under_way) = &mut self.under_way {
                    under_way.sequence = next.sequence;
                }
            }
        }
    }

    async fn send_exactly(&mut self, mut count: usize) -> Result<(), SessionError> {
        while count > 0 {
            self.at_least(1).await?;
            let part = count.min(self.client.input.len());
            let sent = self.upstream.transport.send(&self.client.input.unread()[..part]).await;
            self.client.input.consume(part);
            sent.map_err(SessionError::UpstreamIo)?;
            count -= part;
        }
        Ok(())
    }

    /// Reads until the client's buffer has so many bytes.
    async fn at_least(&mut self, count: usize) -> Result<(), SessionError> {
        while self.client.input.len() < count {
            if self.more_from_client().await? == More::UpstreamClosed {
                return Err(SessionError::UpstreamGone);
            }
        }
        Ok(())
    }
}
