//! The MySQL server behind the proxy: how it is dialled, and how it last greeted.

mod doubts;
mod tls_fallback;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::session::Beginning;
use arc_swap::ArcSwapOption;
use socket2::SockRef;
use tokio::net::{TcpSocket, UnixStream, lookup_host};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, timeout};
use wire::{Capabilities, ErrPacket, Greeting};

use crate::counters::{Counter, Counters};
use crate::error::ClientError;
use crate::leg::{Leg, ReadError};
use crate::login::finish;
use crate::proxy_protocol;
use crate::tls::UpstreamTls;
use crate::transport::Transport;
use doubts::Doubts;
use tls_fallback::TlsFallback;

/// More than any server's greeting.
const GREETING_LIMIT: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamAddress {
    /// The name is resolved for each dial, so that a failover by DNS is followed.
    Tcp {
        host: String,
        port: u16,
    },
    Unix(PathBuf),
}

impl std::fmt::Display for UpstreamAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UpstreamAddress::Tcp { host, port } => write!(f, "{host}:{port}"),
            UpstreamAddress::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    pub address: UpstreamAddress,
    pub source_address: Option<IpAddr>,
    pub dial_timeout: Duration,
    /// Send a PROXY v2 header with the client's address first.
    pub proxy_protocol: bool,
    /// Logins in progress at once.
    pub logins: usize,
}

#[derive(Debug)]
pub struct Upstream {
    pub settings: UpstreamSettings,
    pub tls: UpstreamTls,
    pub(crate) tls_fallback: TlsFallback,
    /// Places for logins in progress.
    pub logins: Arc<Semaphore>,
    last_seen: ArcSwapOption<Greeting>,
    /// Why the last dial failed; nothing when it did not.
    last_failure: ArcSwapOption<String>,
    /// Held while a first greeting is fetched, so that a crowd of clients dials once.
    learning: Mutex<Option<(Instant, String)>>,
    doubts: Doubts,
    /// See [`Upstream::set_changes_sessions`].
    changes_sessions: AtomicBool,
    counters: Arc<Counters>,
}

/// Why there is no upstream connection.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    #[error("{address}: {error}")]
    Dial { address: UpstreamAddress, error: io::Error },
    #[error("{address}: no answer within {limit:?}")]
    Timeout { address: UpstreamAddress, limit: Duration },
    /// The server's own ERR in place of a greeting: too many connections, host blocked …
    #[error("refused by the server: {}", words(.0))]
    Refused(Vec<u8>),
    #[error("no MySQL greeting: {0}")]
    Greeting(String),
    /// Another client's dial, a moment ago.
    #[error("{0}")]
    Learning(String),
    #[error("TLS: {0}")]
    Tls(String),
    /// A handshake that cannot succeed with these two ends.
    #[error(
        "TLS: {0}: the proxy speaks TLS 1.2 and 1.3, and the server agreed to neither (see its tls_version and ssl_cipher)"
    )]
    TlsIncompatible(String),
    #[error("during login: {0}")]
    Login(String),
}

impl UpstreamError {
    /// What the client is told, as a payload: the server's own words where it had any.
    pub fn payload(&self) -> Vec<u8> {
        match self {
            UpstreamError::Refused(payload) => payload.clone(),
            other => ClientError::upstream_unreachable(&other.to_string()).payload(Capabilities::PROTOCOL_41),
        }
    }

    pub(crate) fn counter(&self) -> Counter {
        match self {
            UpstreamError::Login(_) => Counter::UpstreamLost,
            UpstreamError::Dial { .. }
            | UpstreamError::Timeout { .. }
            | UpstreamError::Learning(_)
            | UpstreamError::Tls(_)
            | UpstreamError::TlsIncompatible(_) => Counter::UpstreamUnreachable,
            UpstreamError::Refused(_) => Counter::UpstreamRefused,
            UpstreamError::Greeting(_) => Counter::UpstreamMalformed,
        }
    }
}

impl Upstream {
    pub fn new(settings: UpstreamSettings, tls: UpstreamTls, counters: Arc<Counters>) -> Upstream {
        let logins = Arc::new(Semaphore::new(settings.logins));
        Upstream {
            settings,
            tls,
            tls_fallback: TlsFallback::default(),
            logins,
            last_seen: ArcSwapOption::empty(),
            last_failure: ArcSwapOption::empty(),
            learning: Mutex::new(None),
            doubts: Doubts::default(),
            changes_sessions: AtomicBool::new(false),
            counters,
        }
    }

    /// Whether the server may begin a session with another character set or sql_mode than its login asks for, which no reply
    /// shows: by `init_connect`, for example. Sessions that begin from now on are read in every way until they say more.
    pub fn set_changes_sessions(&self, changes: bool) {
        self.changes_sessions.store(changes, Ordering::Relaxed);
    }

    pub(crate) fn beginning(&self) -> Beginning {
        if self.changes_sessions.load(Ordering::Relaxed) { Beginning::Unknown } else { Beginning::AsAsked }
    }

    /// How the upstream greeted last; asks it if it never did.
    pub async fn greeting(&self) -> Result<Arc<Greeting>, UpstreamError> {
        if let Some(greeting) = self.last_seen.load_full() {
            return Ok(greeting);
        }
        let waiting_since = Instant::now();
        let mut learned = self.learning.lock().await;
        if let Some(greeting) = self.last_seen.load_full() {
            return Ok(greeting);
        }
        // Those who waited for a dial that failed share its failure: one after the other they would wait for ever.
        if let Some((_, failure)) = learned.as_ref().filter(|(ended, _)| *ended > waiting_since) {
            return Err(UpstreamError::Learning(failure.clone()));
        }
        let greeting = self.learn().await;
        *learned = greeting.as_ref().err().map(|error| (Instant::now(), error.to_string()));
        greeting
    }

    /// Why the upstream could not be reached, if it could not the last time.
    pub fn last_failure(&self) -> Option<Arc<String>> {
        self.last_failure.load_full()
    }

    /// A dial failed or a connection was lost.
    pub fn doubt(&self) {
        self.doubts.add(Instant::now());
    }

    /// Waits for a [`Upstream::doubt`] that was not seen yet. Cancel safe.
    pub async fn doubted(&self) {
        self.doubts.wait().await;
    }

    /// Whether a connection has succeeded since the last doubt.
    pub fn is_doubt_resolved(&self) -> bool {
        self.doubts.are_resolved()
    }

    pub fn last_greeting(&self) -> Option<Arc<Greeting>> {
        self.last_seen.load_full()
    }

    /// Fetches a greeting and completes the login that it opened, with a wrong answer: a handshake that is broken off
    /// counts against our address.
    pub async fn learn(&self) -> Result<Arc<Greeting>, UpstreamError> {
        let (leg, greeting) = self.connect(None).await?;
        let greeting = Arc::new(greeting);
        let seen = Arc::clone(&greeting);
        // Not waited for: a server that is slow to say no must not keep the first client from its greeting.
        tokio::spawn(async move { finish::after_greeting(leg, &seen).await });
        Ok(greeting)
    }

    /// Dials and reads the greeting, which is kept for the next clients. `ends`: the client's address and the one it
    /// came to, for a PROXY header.
    pub async fn connect(&self, ends: Option<(SocketAddr, SocketAddr)>) -> Result<(Leg, Greeting), UpstreamError> {
        let limit = self.settings.dial_timeout;
        let late = || UpstreamError::Timeout { address: self.settings.address.clone(), limit };
        let connected = timeout(limit, self.connect_untimed(ends)).await.unwrap_or_else(|_| Err(late()));
        match &connected {
            Ok(_) => {
                self.doubts.resolve(Instant::now());
                if self.last_failure.load().is_some() {
                    self.last_failure.store(None);
                }
            }
            Err(error) => {
                if let UpstreamError::Dial { .. } | UpstreamError::Timeout { .. } = error {
                    // It may come back with another configuration, or another server may.
                    self.tls_fallback.forget();
                }
                self.counters.add(error.counter());
                self.last_failure.store(Some(Arc::new(error.to_string())));
            }
        }
        connected
    }

    async fn connect_untimed(&self, ends: Option<(SocketAddr, SocketAddr)>) -> Result<(Leg, Greeting), UpstreamError> {
        let dial_error = |error| UpstreamError::Dial { address: self.settings.address.clone(), error };
        let transport = self.dial().await.map_err(dial_error)?;
        let peer = match &transport {
            Transport::Tcp(stream) => stream.peer_addr().ok(),
            Transport::Unix(_) | Transport::Boxed(_) => None,
        };
        let mut leg = Leg { peer, ..Leg::new(transport) };
        if let (true, Some((client, listener))) = (self.settings.proxy_protocol, ends) {
            let header = proxy_protocol::encode_v2(client, listener);
            leg.transport.send(&header).await.map_err(dial_error)?;
        }
        let packet = leg.read_packet(GREETING_LIMIT).await.map_err(|error| match error {
            ReadError::Io(error) => dial_error(error),
            other => UpstreamError::Greeting(other.to_string()),
        })?;
        if packet.first() == Some(&0xFF) {
            return Err(UpstreamError::Refused(packet));
        }
        let greeting = Greeting::decode(&packet).map_err(|error| UpstreamError::Greeting(error.to_string()))?;
        self.remember(&greeting);
        Ok((leg, greeting))
    }

    fn remember(&self, greeting: &Greeting) {
        let same = |seen: &Greeting| {
            seen.version == greeting.version
                && seen.capabilities == greeting.capabilities
                && seen.charset == greeting.charset
                && seen.status == greeting.status
                && seen.auth_plugin == greeting.auth_plugin
        };
        if !self.last_seen.load().as_deref().is_some_and(same) {
            self.last_seen.store(Some(Arc::new(greeting.clone())));
            self.tls_fallback.forget();
        }
    }

    async fn dial(&self) -> io::Result<Transport> {
        match &self.settings.address {
            UpstreamAddress::Unix(path) => Ok(Transport::Unix(UnixStream::connect(path).await?)),
            UpstreamAddress::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                for address in lookup_host((host.as_str(), *port)).await? {
                    match self.dial_address(address).await {
                        Ok(transport) => return Ok(transport),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    async fn dial_address(&self, address: SocketAddr) -> io::Result<Transport> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(source) = self.settings.source_address {
            socket.bind(SocketAddr::new(source, 0)).map_err(|error| bind_error(source, error))?;
        }
        let stream = socket.connect(address).await.map_err(connect_error)?;
        stream.set_nodelay(true)?;
        set_keepalive(SockRef::from(&stream))?;
        Ok(Transport::Tcp(stream))
    }
}

/// In words that say what to do: the system has the same for an address that is not ours and for ports that are used up.
fn bind_error(source: IpAddr, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            let what = format!("upstream.source_address {source} is not an address of this machine");
            io::Error::new(error.kind(), what)
        }
        // The port is taken here, and from this address only.
        io::ErrorKind::AddrInUse => io::Error::new(error.kind(), NO_PORTS),
        _ => error,
    }
}

/// The port is taken here where no source address was set.
fn connect_error(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => io::Error::new(error.kind(), NO_PORTS),
        _ => error,
    }
}

const NO_PORTS: &str = "no local port is left for another connection to it (widen net.ipv4.ip_local_port_range, \
                        lower limits.connections, or use a socket)";

/// What an ERR says.
fn words(payload: &[u8]) -> String {
    ErrPacket::decode(payload).map_or_else(
        |_| "an ERR that cannot be read".to_owned(),
        |err| format!("{} {}", err.code, String::from_utf8_lossy(err.message)),
    )
}

/// A peer that is gone without a word is noticed within two minutes.
pub(crate) fn set_keepalive(socket: SockRef<'_>) -> io::Result<()> {
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(15))
        .with_retries(4);
    socket.set_tcp_keepalive(&keepalive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::{UpstreamTlsMode, UpstreamTlsSettings};

    async fn dial_from(source: &str) -> String {
        let settings = UpstreamSettings {
            address: UpstreamAddress::Tcp { host: "127.0.0.1".to_owned(), port: 1 },
            source_address: Some(source.parse().unwrap()),
            dial_timeout: Duration::from_secs(10),
            proxy_protocol: false,
            logins: 1,
        };
        let tls = UpstreamTlsSettings { mode: UpstreamTlsMode::Disabled, ..UpstreamTlsSettings::default() };
        let upstream = Upstream::new(settings, UpstreamTls::new(tls).unwrap(), Arc::default());
        upstream.connect(None).await.expect_err("nobody is there").to_string()
    }

    #[tokio::test]
    async fn a_source_address_of_another_machine_is_named() {
        // An address for documentation, RFC 5737.
        let error = dial_from("192.0.2.1").await;
        assert_eq!(error, "127.0.0.1:1: upstream.source_address 192.0.2.1 is not an address of this machine");
        let error = dial_from("127.0.0.1").await;
        assert!(error.contains("refused"), "{error}");
    }

    #[test]
    fn used_up_ports_are_told_from_other_failures() {
        let source = IpAddr::from([127, 0, 0, 1]);
        for (error, said) in [
            (connect_error(io::ErrorKind::AddrNotAvailable.into()), NO_PORTS),
            (bind_error(source, io::ErrorKind::AddrInUse.into()), NO_PORTS),
            (connect_error(io::ErrorKind::ConnectionRefused.into()), "connection refused"),
            (bind_error(source, io::ErrorKind::PermissionDenied.into()), "permission denied"),
        ] {
            assert_eq!(error.to_string(), said);
        }
    }
}
