//! One question to a running proxy's HTTP port. Blocking: whoever asks has nothing else to do.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// How long an answer may take and how long it may be; whoever is at that address may not be the proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Asks, and reads the whole answer. The error says whom it asked.
pub(crate) fn ask(
    address: SocketAddr,
    method: Method,
    path: &str,
    body: Option<&str>,
    bounds: Bounds,
) -> anyhow::Result<Response> {
    let answer = exchange(address, method, path, body, bounds)
        .with_context(|| format!("no answer from http://{address}{path}"))?;
    if u64::try_from(answer.len()).is_ok_and(|length| length >= bounds.size) {
        bail!("the answer from http://{address}{path} is longer than {} bytes", bounds.size);
    }
    parse(&String::from_utf8_lossy(&answer)).with_context(|| format!("{address} does not speak HTTP"))
}

fn exchange(
    address: SocketAddr,
    method: Method,
    path: &str,
    body: Option<&str>,
    bounds: Bounds,
) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + bounds.time;
    let mut stream = TcpStream::connect_timeout(&address, bounds.time)?;
    stream.set_write_timeout(Some(bounds.time))?;
    let content = match body {
        Some(body) => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
        None => String::new(),
    };
    // HTTP/1.0: the answer ends with the connection and is not in chunks.
    let head = format!("{} {path} HTTP/1.0\r\nHost: {address}\r\n{content}\r\n", method.as_str());
    stream.write_all(format!("{head}{}", body.unwrap_or_default()).as_bytes())?;
    read(&mut stream, deadline, bounds.size)
}

/// To the end, or as much as there may be.
fn read(stream: &mut TcpStream, deadline: Instant, size: u64) -> io::Result<Vec<u8>> {
    let (mut answer, mut part) = (Vec::new(), [0; 16 * 1024]);
    while u64::try_from(answer.len()).is_ok_and(|length| length < size) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(part.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

fn parse(response: &str) -> Option<Response> {
    let (head, body) = response.split_once("\r\n\r\n")?;
    let mut words = head.lines().next()?.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    Some(Response { status: words.next()?.parse().ok()?, body: body.to_owned() })
}

/// One part of a path, whatever is in it.
pub(crate) fn escaped(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escape = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    part.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_answer() {
        for (response, expected) in [
            ("HTTP/1.0 200 OK\r\ncontent-length: 6\r\n\r\nready\n", Some((200, "ready\n"))),
            ("HTTP/1.1 503 Service Unavailable\r\n\r\ndraining\n", Some((503, "draining\n"))),
            ("HTTP/1.0 200\r\n\r\n", Some((200, ""))),
            ("HTTP/1.0 200 OK\r\n", None),
            ("HTTP/1.0 many\r\n\r\n", None),
            ("J\0\0\0\n9.7.4\0\r\n\r\n", None),
            ("\r\n\r\n", None),
            ("", None),
        ] {
            let expected = expected.map(|(status, body)| Response { status, body: body.to_owned() });
            assert_eq!(parse(response), expected, "{response:?}");
        }
    }

    #[test]
    fn a_name_stays_one_part_of_the_path() {
        for (part, path) in
            [("batch-yields", "batch-yields"), ("a:b@c", "a%3Ab%40c"), ("../x?y", "..%2Fx%3Fy"), ("é", "%C3%A9")]
        {
            assert_eq!(escaped(part), path);
        }
    }
}
