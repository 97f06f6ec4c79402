//! LOAD DATA LOCAL: in the middle of a reply the client sends a file, up to an empty packet.

use wire::packet::Passage;

use super::forward::More;
use super::{Session, Turn, UnderWay};
use crate::error::SessionError;
use crate::transport::is_stalled;

impl Session {
    /// The file is the client's own answer to the server's request; the proxy opens nothing.
    pub(super) async fn copy_local_infile(&mut self) -> Result<(), SessionError> {
        let mut passage = Passage::new();
        if let Some(under_way) = &mut self.under_way {
            under_way.turn = Turn::Client;
        }
        loop {
            let count = passage.advance(self.client.input.unread());
            if count > 0 {
                let sent = self.upstream.transport.send(&self.client.input.unread()[..count]).await;
                self.client.input.consume(count);
                match sent {
                    Ok(()) => {}
                    Err(error) if is_stalled(&error) => return Err(SessionError::UpstreamIo(error)),
                    // It may have said why before.
                    Err(_) => return Ok(()),
                }
            }
            if passage.is_done() {
                if passage.passed == 0 {
                    self.client_has_sent();
                    // The reply goes on behind the client's last packet.
                    self.tracker.expect_behind(passage.sequence);
                    if let Some(under_way) = &mut self.under_way {
                        *under_way = UnderWay { sequence: passage.sequence, answered: false, turn: Turn::Upstream };
                    }
                    return Ok(());
                }
                passage = Passage::new();
            } else if self.more_from_client().await? == More::UpstreamClosed {
                return Ok(());
            }
        }
    }
}
