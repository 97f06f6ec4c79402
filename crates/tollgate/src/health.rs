//! `tollgate health`: asks a running proxy's HTTP port how it is, for container engines whose images have no `curl`.
//!
//! It does not read proxy.yaml: a file that was broken after the start says nothing about the proxy that runs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

/// For each of connecting, asking and reading. The answer needs no work on the other side.
const TIME: Duration = Duration::from_secs(2);
/// Far more than the answer has; whoever is at that address may not be the proxy.
const MOST: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Should clients be sent here?
    Ready,
    /// Does the process answer?
    Live,
}

pub(crate) fn health(address: SocketAddr, question: Question) -> anyhow::Result<ExitCode> {
    let path = match question {
        Question::Ready => "/readyz",
        Question::Live => "/livez",
    };
    let response = ask(address, path).with_context(|| format!("no answer from http://{address}{path}"))?;
    let (status, text) = parse(&response).with_context(|| format!("{address} does not speak HTTP"))?;
    if status == 200 {
        println!("{}", text.trim());
        Ok(ExitCode::SUCCESS)
    } else {
        bail!("{} (HTTP status {status})", text.trim());
    }
}

fn ask(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIME)?;
    stream.set_read_timeout(Some(TIME))?;
    stream.set_write_timeout(Some(TIME))?;
    // HTTP/1.0: the answer ends with the connection and is not in chunks.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut response = Vec::new();
    stream.take(MOST).read_to_end(&mut response)?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

/// The status and the body.
fn parse(response: &str) -> Option<(u16, &str)> {
    let (head, body) = response.split_once("\r\n\r\n")?;
    let mut words = head.lines().next()?.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    Some((words.next()?.parse().ok()?, body))
}

#[cfg(test)]
mod tests {
    use super::parse;

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
            assert_eq!(parse(response), expected, "{response:?}");
        }
    }
}
