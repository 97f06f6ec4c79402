//! The PROXY protocol, v1 (a line of text) and v2 (binary): how a load balancer tells whom it forwards.
//! Pure: bytes in, addresses out. <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>
//!
//! Whoever may send this header may claim any address, so it is read only from [`Trusted`] peers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest v1 line, its CRLF included (section 2.1).
pub const MAX_V1_LENGTH: usize = 107;
/// What follows the 16 fixed bytes of v2: addresses (216 bytes at most) and TLVs. The format allows 64 KiB, but nobody who
/// has not logged in may make us hold that.
pub const MAX_V2_BODY: usize = 1024;

const V1_START: &[u8] = b"PROXY ";
const V2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED: usize = 16;

/// What a header says. `None` (LOCAL, UNKNOWN, UNSPEC, AF_UNIX): the addresses of the connection itself stand.
/// IPv4 addresses that were written as IPv6 (`::ffff:10.0.0.1`) are given as IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub source: Option<SocketAddr>,
    pub destination: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProxyProtocolError {
    #[error("no PROXY protocol header, although this peer is listed as one that sends it")]
    Missing,
    #[error("PROXY v1 line is longer than {MAX_V1_LENGTH} bytes")]
    V1TooLong,
    #[error("PROXY v1 line is malformed: {0}")]
    V1Malformed(&'static str),
    #[error("PROXY v2 header announces {0} bytes, more than {MAX_V2_BODY}")]
    V2TooLong(u16),
    #[error("PROXY v2 header has the unknown version and command {0:#04x}")]
    V2UnknownCommand(u8),
    #[error("PROXY v2 header has the unknown or unsupported address family and transport {0:#04x}")]
    V2UnknownFamily(u8),
    #[error("PROXY v2 header announces {announced} bytes, too few for its addresses ({needed})")]
    V2TooShort { announced: u16, needed: u16 },
}

/// Reads a header at the start of `bytes`: the header and its length, or `None` when more bytes are needed.
pub fn decode(bytes: &[u8]) -> Result<Option<(Header, usize)>, ProxyProtocolError> {
    if starts_alike(bytes, V2_SIGNATURE) {
        decode_v2(bytes)
    } else if starts_alike(bytes, V1_START) {
        decode_v1(bytes)
    } else {
        Err(ProxyProtocolError::Missing)
    }
}

/// A v2 header (command PROXY, TCP) without TLVs. Addresses of two families are both written as IPv6.
pub fn encode_v2(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let mut out = Vec::with_capacity(V2_FIXED + 36);
    out.extend_from_slice(V2_SIGNATURE);
    out.push(0x21);
    match (source.ip().to_canonical(), destination.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out.extend_from_slice(&[0x11, 0, 12]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
        }
        (from, to) => {
            out.extend_from_slice(&[0x21, 0, 36]);
            out.extend_from_slice(&as_v6(from).octets());
            out.extend_from_slice(&as_v6(to).octets());
        }
    }
    out.extend_from_slice(&source.port().to_be_bytes());
    out.extend_from_slice(&destination.port().to_be_bytes());
    out
}

/// The peers whose PROXY header is believed (and required).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trusted {
    pub nets: Vec<ipnet::IpNet>,
}

impl Trusted {
    /// A listener on `[::]` sees IPv4 peers as `::ffff:a.b.c.d`; they are matched as what they are.
    pub fn contains(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.nets.iter().any(|net| net.contains(&peer))
    }
}

/// Whether `bytes`, as far as they go, are the start of a header that begins with `start`.
fn starts_alike(bytes: &[u8], start: &[u8]) -> bool {
    bytes.iter().zip(start).all(|(a, b)| a == b)
}

fn decode_v1(bytes: &[u8]) -> Result<Option<(Header, usize)>, ProxyProtocolError> {
    let window = bytes.get(..MAX_V1_LENGTH).unwrap_or(bytes);
    let Some(newline) = window.iter().position(|&byte| byte == b'\n') else {
        return if window.len() == MAX_V1_LENGTH { Err(ProxyProtocolError::V1TooLong) } else { Ok(None) };
    };
    let header = window
        .get(V1_START.len()..newline)
        .and_then(|line| line.strip_suffix(b"\r"))
        .ok_or(ProxyProtocolError::V1Malformed("it does not end in CRLF"))
        .and_then(v1_line)?;
    Ok(Some((header, newline + 1)))
}

/// The line between `PROXY ` and CRLF.
fn v1_line(line: &[u8]) -> Result<Header, ProxyProtocolError> {
    let malformed = ProxyProtocolError::V1Malformed;
    // Whatever follows UNKNOWN is to be ignored.
    if line == b"UNKNOWN" || line.starts_with(b"UNKNOWN ") {
        return Ok(Header { source: None, destination: None });
    }
    let line = std::str::from_utf8(line).map_err(|_| malformed("it is not ASCII"))?;
    let mut words = line.split(' ');
    let mut word = || words.next().ok_or(malformed("a field is missing"));

    let family = word()?;
    let parse_address: fn(&str) -> Option<IpAddr> = match family {
        "TCP4" => |text| text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        "TCP6" => |text| text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        _ => return Err(malformed("the protocol is none of TCP4, TCP6, UNKNOWN")),
    };
    let address = |text| parse_address(text).ok_or(malformed("an address is not one of its family"));
    let (from, to) = (address(word()?)?, address(word()?)?);
    let (from_port, to_port) = (v1_port(word()?)?, v1_port(word()?)?);
    if words.next().is_some() {
        return Err(malformed("it has too many fields"));
    }
    Ok(proxied(from, from_port, to, to_port))
}

fn v1_port(text: &str) -> Result<u16, ProxyProtocolError> {
    // `u16::from_str` takes a leading plus sign as well; the format does not.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or(ProxyProtocolError::V1Malformed("a port is not a number up to 65535"))
}

/// Where the addresses of a v2 header are.
enum V2Addresses {
    V4,
    V6,
    Unix,
    Ignored,
}

impl V2Addresses {
    fn length(&self) -> u16 {
        match self {
            V2Addresses::V4 => 12,
            V2Addresses::V6 => 36,
            V2Addresses::Unix => 216,
            V2Addresses::Ignored => 0,
        }
    }
}

fn decode_v2(bytes: &[u8]) -> Result<Option<(Header, usize)>, ProxyProtocolError> {
    let Some((&[command, family, high, low], rest)) =
        bytes.get(V2_SIGNATURE.len()..).and_then(|rest| rest.split_first_chunk::<4>())
    else {
        return Ok(None);
    };
    let addresses = v2_addresses(command, family)?;
    let announced = u16::from_be_bytes([high, low]);
    let body = usize::from(announced);
    if body > MAX_V2_BODY {
        return Err(ProxyProtocolError::V2TooLong(announced));
    }
    let too_short = ProxyProtocolError::V2TooShort { announced, needed: addresses.length() };
    if announced < addresses.length() {
        return Err(too_short);
    }
    // The TLVs behind the addresses say nothing that we use; they count towards the length only.
    let Some(rest) = rest.get(..body) else {
        return Ok(None);
    };
    let header = match addresses {
        V2Addresses::V4 => v2_v4(rest).ok_or(too_short)?,
        V2Addresses::V6 => v2_v6(rest).ok_or(too_short)?,
        V2Addresses::Unix | V2Addresses::Ignored => Header { source: None, destination: None },
    };
    Ok(Some((header, V2_FIXED + body)))
}

fn v2_addresses(command: u8, family: u8) -> Result<V2Addresses, ProxyProtocolError> {
    match (command, family) {
        // LOCAL: the balancer's own connection, a health check. Its family must be disregarded, whatever it is.
        (0x20, _) => Ok(V2Addresses::Ignored),
        (0x21, 0x00) => Ok(V2Addresses::Ignored),
        (0x21, 0x11) => Ok(V2Addresses::V4),
        (0x21, 0x21) => Ok(V2Addresses::V6),
        (0x21, 0x31) => Ok(V2Addresses::Unix),
        (0x21, _) => Err(ProxyProtocolError::V2UnknownFamily(family)),
        (_, _) => Err(ProxyProtocolError::V2UnknownCommand(command)),
    }
}

fn v2_v4(body: &[u8]) -> Option<Header> {
    let (from, rest) = body.split_first_chunk::<4>()?;
    let (to, rest) = rest.split_first_chunk::<4>()?;
    v2_with_ports(IpAddr::from(*from), IpAddr::from(*to), rest)
}

fn v2_v6(body: &[u8]) -> Option<Header> {
    let (from, rest) = body.split_first_chunk::<16>()?;
    let (to, rest) = rest.split_first_chunk::<16>()?;
    v2_with_ports(IpAddr::from(*from), IpAddr::from(*to), rest)
}

fn v2_with_ports(from: IpAddr, to: IpAddr, ports: &[u8]) -> Option<Header> {
    let &[a, b, c, d] = ports.first_chunk::<4>()?;
    Some(proxied(from, u16::from_be_bytes([a, b]), to, u16::from_be_bytes([c, d])))
}

fn proxied(from: IpAddr, from_port: u16, to: IpAddr, to_port: u16) -> Header {
    Header {
        source: Some(SocketAddr::new(from.to_canonical(), from_port)),
        destination: Some(SocketAddr::new(to.to_canonical(), to_port)),
    }
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

#[cfg(test)]
mod tests;
