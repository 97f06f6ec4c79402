//! Addresses to listen on and to dial.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer};

use super::read_text;
use crate::plan::{ListenAddress, UpstreamAddress};
use crate::tree::Complaint;

const MYSQL_PORT: u16 = 3306;

/// `127.0.0.1:6033`, `[::1]:6033`, or a socket's path.
#[derive(Debug)]
pub(crate) struct ListenAt(pub(crate) ListenAddress);

impl ListenAt {
    pub(super) fn parse(text: &str) -> Result<Self, Complaint> {
        match socket_path(text)? {
            Some(path) => Ok(ListenAt(ListenAddress::Socket(path))),
            None => Ok(ListenAt(ListenAddress::Tcp(listen_tcp(text, 6033)?))),
        }
    }
}

/// `127.0.0.1:6034`, or `off`.
#[derive(Debug)]
pub(crate) struct HttpAt(pub(crate) Option<SocketAddr>);

impl HttpAt {
    fn parse(text: &str) -> Result<Self, Complaint> {
        if text == "off" { Ok(HttpAt(None)) } else { listen_tcp(text, 6034).map(Some).map(HttpAt) }
    }
}

impl<'de> Deserialize<'de> for HttpAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "an address, such as `127.0.0.1:6034`, or `off`", Self::parse)
    }
}

/// `db.example.com:3306`, `10.0.0.5`, `[fd00::5]:3306`, or a socket's path.
#[derive(Debug)]
pub(crate) struct DialAt(pub(crate) UpstreamAddress);

impl DialAt {
    fn parse(text: &str) -> Result<Self, Complaint> {
        if let Some(path) = socket_path(text)? {
            return Ok(DialAt(UpstreamAddress::Socket(path)));
        }
        if text.contains("://") {
            let remedy = "write only the host and the port, such as `db.example.com:3306`";
            return Err(Complaint::new("a URL is not an address", remedy));
        }
        let (host, port) = split(text, MYSQL_PORT)?;
        let port = match port {
            None => MYSQL_PORT,
            Some(port) => dialable_port(port, host)?,
        };
        check_host(host)?;
        Ok(DialAt(UpstreamAddress::Tcp { host: host.to_owned(), port }))
    }
}

impl<'de> Deserialize<'de> for DialAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "`host:port`, such as `127.0.0.1:3306`, or a socket's path", Self::parse)
    }
}

/// An address of this machine, without a port.
#[derive(Debug)]
pub(crate) struct SourceAddress(pub(crate) IpAddr);

impl SourceAddress {
    fn parse(text: &str) -> Result<Self, Complaint> {
        text.parse().map(SourceAddress).map_err(|_| {
            let remedy = "write an IP address of this machine, such as `10.0.0.7`, without a port";
            Complaint::new(format!("`{text}` is not an IP address"), remedy)
        })
    }
}

impl<'de> Deserialize<'de> for SourceAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "an IP address of this machine, such as `10.0.0.7`", Self::parse)
    }
}

/// The name of a host, without a port.
#[derive(Debug)]
pub(crate) struct HostName(pub(crate) String);

impl HostName {
    fn parse(text: &str) -> Result<Self, Complaint> {
        check_host(text).map(|()| HostName(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for HostName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a host name, such as `db.example.com`", Self::parse)
    }
}

/// What a `sockaddr_un` holds on Linux, without its closing zero.
const SOCKET_PATH_BYTES: usize = 107;

fn socket_path(text: &str) -> Result<Option<PathBuf>, Complaint> {
    if !["/", "./", "../"].iter().any(|start| text.starts_with(start)) {
        return Ok(None);
    }
    if text.len() > SOCKET_PATH_BYTES {
        let what = format!("the socket's path has {} bytes", text.len());
        return Err(Complaint::new(what, format!("choose one of at most {SOCKET_PATH_BYTES} bytes")));
    }
    Ok(Some(PathBuf::from(text)))
}

fn listen_tcp(text: &str, usual_port: u16) -> Result<SocketAddr, Complaint> {
    let (host, port) = split(text, usual_port)?;
    let ip = match host {
        "localhost" => IpAddr::from(Ipv4Addr::LOCALHOST),
        "*" | "" => {
            let remedy = format!("write `0.0.0.0:{usual_port}` for all of IPv4, or `[::]:{usual_port}` for IPv6 too");
            return Err(Complaint::new("the address to listen on is missing", remedy));
        }
        host => host.parse().map_err(|_| {
            let remedy = format!("write an IP address and a port, such as `127.0.0.1:{usual_port}`");
            Complaint::new(format!("`{host}` is not an IP address of this machine"), remedy)
        })?,
    };
    let Some(port) = port else {
        let remedy = format!("write `{}`", SocketAddr::new(ip, usual_port));
        return Err(Complaint::new("the port is missing", remedy));
    };
    match port.parse() {
        Ok(port) => Ok(SocketAddr::new(ip, port)),
        Err(_) => Err(no_port(port, SocketAddr::new(ip, usual_port))),
    }
}

fn dialable_port(port: &str, host: &str) -> Result<u16, Complaint> {
    match port.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err(no_port(port, UpstreamAddress::Tcp { host: host.to_owned(), port: MYSQL_PORT })),
    }
}

fn no_port(port: &str, example: impl std::fmt::Display) -> Complaint {
    Complaint::new(format!("`{port}` is not a port"), format!("write a number up to 65535, such as `{example}`"))
}

/// Host and port; the brackets of an IPv6 address are gone.
fn split(text: &str, usual_port: u16) -> Result<(&str, Option<&str>), Complaint> {
    let bad_brackets = || {
        let remedy = format!("write an IPv6 address as `[::1]:{usual_port}`");
        Complaint::new(format!("`{text}` is not an address"), remedy)
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(bad_brackets)?;
        host.parse::<Ipv6Addr>().map_err(|_| bad_brackets())?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err(bad_brackets()),
        };
    }
    match text.split_once(':') {
        Some((_, after)) if after.contains(':') => {
            let remedy = match text.parse::<Ipv6Addr>() {
                Ok(address) => format!("write `[{address}]:{usual_port}`"),
                Err(_) => format!("write `host:port`, and an IPv6 address as `[::1]:{usual_port}`"),
            };
            Err(Complaint::new("an IPv6 address needs brackets", remedy))
        }
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

fn check_host(host: &str) -> Result<(), Complaint> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = !host.is_empty() && host.len() <= 253 && host.chars().all(allowed) && !host.starts_with(['-', '.']);
    if name || host.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    let remedy = "write a host name or an IP address, such as `db.example.com` or `10.0.0.5`";
    Err(Complaint::new(format!("`{host}` is not a host name"), remedy))
}
