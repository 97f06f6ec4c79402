//! A reply counts its packets on from the command's. Where a rewritten command needed one packet more than the client's,
//! the client would find every number of the reply one too high, and most clients end the session over that.

use wire::packet::{HEADER_LENGTH, Header};

use super::Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Renumber {
    /// Taken from every number.
    excess: u8,
    /// Payload bytes of the current packet that have not passed yet.
    left: usize,
}

impl Renumber {
    /// From the numbers of the last packet of a command, as it was sent upstream and as the client sent it.
    pub(super) fn between(upstreams: u8, clients: u8) -> Option<Renumber> {
        let excess = upstreams.wrapping_sub(clients);
        (excess != 0).then_some(Renumber { excess, left: 0 })
    }

    /// The bytes as the client counts them. They end where a tracker's step ends: never inside a header.
    pub(super) fn apply(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        let mut at = self.left.min(out.len());
        self.left -= at;
        while let Some(header) = out.get(at..).and_then(Header::read) {
            out[at + HEADER_LENGTH - 1] = header.sequence.wrapping_sub(self.excess);
            at += HEADER_LENGTH;
            let here = header.length.min(out.len() - at);
            at += here;
            self.left = header.length - here;
        }
        out
    }
}

impl Session {
    /// The number that the client expects on a packet of the reply.
    pub(super) fn as_client_counts(&self, sequence: u8) -> u8 {
        self.renumber.map_or(sequence, |renumber| sequence.wrapping_sub(renumber.excess))
    }
}
