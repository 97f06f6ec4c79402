//! One end of a session: its stream, what was read from it, and, while logging in, the sequence of its packets.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use wire::packet::{HEADER_LENGTH, Header, put_packet};

use crate::buffer::Buffer;
use crate::transport::{Prefixed, Transport};

#[derive(Debug)]
pub struct Leg {
    pub transport: Transport,
    pub input: Buffer,
    /// The number of the next packet, whichever side sends it. Kept while logging in only: commands start anew.
    pub sequence: u8,
    pub security: LegSecurity,
    /// Of an upstream: the address that its name stood for.
    pub peer: Option<SocketAddr>,
}

/// What keeps others from reading along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegSecurity {
    Plain,
    UnixSocket,
    Tls,
}

impl LegSecurity {
    /// Whether a password may be sent in clear.
    pub fn is_secure(self) -> bool {
        match self {
            LegSecurity::Plain => false,
            LegSecurity::UnixSocket | LegSecurity::Tls => true,
        }
    }
}

/// Why a packet of a login could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("closed by the peer")]
    Closed,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("a packet of {0} bytes, more than the limit")]
    TooLarge(usize),
    #[error("packet number {got} where {expected} was due")]
    OutOfOrder { got: u8, expected: u8 },
    #[error("a TLS hello where a MySQL packet was due")]
    TlsHello,
}

impl Leg {
    pub fn new(transport: Transport) -> Leg {
        let security = match transport {
            Transport::Unix(_) => LegSecurity::UnixSocket,
            Transport::Tcp(_) | Transport::Boxed(_) => LegSecurity::Plain,
        };
        Leg { transport, input: Buffer::new(), sequence: 0, security, peer: None }
    }

    /// One read into the buffer; `Ok(0)` is the end of the stream. Cancel safe.
    #[inline]
    pub fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.input.poll_fill(context, &mut self.transport)
    }

    /// Reads one packet of a login. Cancel safe.
    pub async fn read_packet(&mut self, limit: usize) -> Result<Vec<u8>, ReadError> {
        std::future::poll_fn(|context| self.poll_packet(context, limit)).await
    }

    /// See [`Leg::read_packet`].
    pub fn poll_packet(&mut self, context: &mut Context<'_>, limit: usize) -> Poll<Result<Vec<u8>, ReadError>> {
        loop {
            if let Some(packet) = self.take_packet(limit)? {
                return Poll::Ready(Ok(packet));
            }
            match self.poll_fill(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ReadError::Closed)),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// A packet that is in the buffer whole.
    fn take_packet(&mut self, limit: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let unread = self.input.unread();
        // A client that believes this to be a TLS port would otherwise be waited for until the time is over.
        if self.sequence == 1 && is_tls_hello(unread) {
            return Err(ReadError::TlsHello);
        }
        let Some(header) = Header::read(unread) else { return Ok(None) };
        if header.length > limit {
            // It is read no further and takes its number all the same: a refusal has the next one, as a server's.
            if header.sequence == self.sequence {
                self.sequence = self.sequence.wrapping_add(1);
            }
            return Err(ReadError::TooLarge(header.length));
        }
        if header.sequence != self.sequence {
            return Err(ReadError::OutOfOrder { got: header.sequence, expected: self.sequence });
        }
        let whole = HEADER_LENGTH + header.length;
        let Some(packet) = unread.get(HEADER_LENGTH..whole) else {
            self.input.reserve(whole);
            return Ok(None);
        };
        let packet = packet.to_vec();
        self.input.consume(whole);
        self.sequence = self.sequence.wrapping_add(1);
        Ok(Some(packet))
    }

    /// Sends one packet of a login. Not cancel safe.
    pub async fn write_packet(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEADER_LENGTH + payload.len());
        self.sequence = put_packet(&mut bytes, self.sequence, payload);
        self.transport.send(&bytes).await
    }

    /// Takes the stream out to wrap it, with the bytes that were read ahead.
    pub fn unwrap_stream(&mut self) -> Prefixed<Transport> {
        // A placeholder that only lives until the wrapped stream is put in.
        let nothing = Transport::Boxed(Box::new(tokio::io::join(tokio::io::empty(), tokio::io::sink())));
        Prefixed::new(self.input.take(), std::mem::replace(&mut self.transport, nothing))
    }

    /// Puts a stream in that has TLS around it.
    pub fn wrap(&mut self, transport: Transport) {
        self.transport = transport;
        self.security = LegSecurity::Tls;
    }
}

/// A TLS record with a client's hello, which begins with its type, version and length. A login of 790 bytes begins with
/// the same three bytes; its fourth is its number 1, and its sixth says that it speaks protocol 4.1, which the type of a
/// hello in that place does not.
fn is_tls_hello(unread: &[u8]) -> bool {
    match unread {
        [0x16, 0x03, 0x00..=0x04, 1, rest @ ..] => rest.get(1) == Some(&1),
        [0x16, 0x03, 0x00..=0x04, _, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_told_from_a_login_of_the_same_first_bytes() {
        for (bytes, is_hello) in [
            (&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03][..], true),
            (&[0x16, 0x03, 0x01, 0x01, 0x17, 0x01, 0x00, 0x01, 0x13, 0x03, 0x03], true),
            // 790 and 66,326 bytes, packet number 1, capabilities with PROTOCOL_41.
            (&[0x16, 0x03, 0x00, 0x01, 0x85, 0xA6, 0xFF, 0x19], false),
            (&[0x16, 0x03, 0x01, 0x01, 0x85, 0xA6, 0xFF, 0x19], false),
            (&[0x16, 0x03, 0x01], false),
            (&[0x16, 0x03, 0x01, 0x01], false),
            (&[0x55, 0x00, 0x00, 0x01, 0x85, 0xA6], false),
        ] {
            assert_eq!(is_tls_hello(bytes), is_hello, "{bytes:02x?}");
        }
    }
}
