//! The frame around every payload: three bytes of length, one of sequence.
//!
//! A payload of 16 MiB − 1 bytes or more is cut into full packets and a last one that is shorter, empty if need be;
//! what belongs together is called a logical packet here.

pub const HEADER_LENGTH: usize = 4;

/// The largest payload of one packet; a packet of just this length is continued by the next.
pub const MAX_PAYLOAD: usize = 0xFF_FFFF;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub length: usize,
    pub sequence: u8,
}

impl Header {
    /// `None`: fewer than four bytes.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Header> {
        let &[a, b, c, sequence] = bytes.first_chunk::<HEADER_LENGTH>()?;
        Some(Header { length: usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16, sequence })
    }

    pub fn bytes(self) -> [u8; HEADER_LENGTH] {
        let [a, b, c, ..] = self.length.to_le_bytes();
        [a, b, c, self.sequence]
    }

    /// Whether the payload goes on in the next packet.
    pub fn is_continued(self) -> bool {
        self.length == MAX_PAYLOAD
    }
}

/// Appends `payload` as one logical packet and returns the sequence number that follows it.
pub fn put_packet(out: &mut Vec<u8>, mut sequence: u8, mut payload: &[u8]) -> u8 {
    loop {
        let (part, rest) = payload.split_at(payload.len().min(MAX_PAYLOAD));
        let header = Header { length: part.len(), sequence };
        out.extend_from_slice(&header.bytes());
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
        payload = rest;
        if !header.is_continued() {
            return sequence;
        }
    }
}

/// How far a stream of bytes has come inside one logical packet that is passed on without being looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Payload bytes of the current packet that are still to come.
    left: usize,
    /// A header comes next: the packet has not begun, or the one before was full.
    header_next: bool,
    /// The sequence number of the last header passed.
    pub sequence: u8,
    /// Payload bytes passed so far.
    pub passed: u64,
}

impl Passage {
    /// A logical packet whose header is the next thing in the stream.
    pub fn new() -> Passage {
        Passage { header_next: true, ..Passage::default() }
    }

    /// How many bytes at the start of `input` belong to the packet. A header that is not there whole is left for the
    /// next call.
    pub fn advance(&mut self, input: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let step = self.left.min(input.len() - at);
            at += step;
            self.left -= step;
            self.passed += step as u64;
            if self.left > 0 || !self.header_next {
                return at;
            }
            let Some(header) = Header::read(&input[at..]) else { return at };
            at += HEADER_LENGTH;
            self.left = header.length;
            self.header_next = header.is_continued();
            self.sequence = header.sequence;
        }
    }

    pub fn is_done(&self) -> bool {
        self.left == 0 && !self.header_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_cut_at_its_largest_payload() {
        for (length, packets) in [(0, 1), (1, 1), (MAX_PAYLOAD - 1, 1), (MAX_PAYLOAD, 2), (MAX_PAYLOAD + 1, 2)] {
            let mut out = Vec::new();
            let next = put_packet(&mut out, 254, &vec![7; length]);
            assert_eq!(out.len(), length + packets * HEADER_LENGTH, "{length}");
            assert_eq!(next, 254u8.wrapping_add(packets as u8), "{length}");
        }
    }

    #[test]
    fn a_passage_ends_with_its_packet_however_the_bytes_arrive() {
        for length in [0, 1, 5, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 3, 2 * MAX_PAYLOAD] {
            let mut stream = Vec::new();
            put_packet(&mut stream, 3, &vec![1; length]);
            let whole = stream.len();
            stream.extend_from_slice(b"the next packet");
            for chunk in [1, 3, 4, 7, 65_536, whole + 15] {
                if chunk < 100 && length > 1000 {
                    continue;
                }
                let (mut passage, mut from, mut to) = (Passage::new(), 0, 0);
                while !passage.is_done() {
                    to = (to + chunk).min(stream.len());
                    from += passage.advance(&stream[from..to]);
                }
                assert_eq!(from, whole, "length {length} in chunks of {chunk}");
                assert_eq!(passage.passed, length as u64);
            }
        }
    }
}
