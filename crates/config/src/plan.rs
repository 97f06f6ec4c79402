//! What the rest of the program reads: plain types, every default filled in, nothing left to parse.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use crate::policy::Policy;
use crate::secret::Secret;

/// A validated `proxy.yaml`. It is immutable: a changed file gives a new plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Never empty, no address twice.
    pub listen: Vec<Listener>,
    pub upstream: Upstream,
    pub tls: ClientTlsFiles,
    pub limits: Limits,
    /// The proxy's own user upstream. Without it nothing is asked or killed on the proxy's behalf.
    pub probe: Option<Probe>,
    pub drain: Drain,
    pub workers: Workers,
    pub admin: Admin,
    pub log: Log,
    pub policy: Policy,
    /// Where the rules added at run time are kept. It need not be there yet.
    pub state_dir: PathBuf,
}

/// A place where clients connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub address: ListenAddress,
    /// What rules call it; no name twice. Without one of its own it is the address as it was written.
    pub name: String,
    pub tls: ClientTls,
    /// Peers that must begin with a PROXY protocol header; from all others one is an error.
    pub proxy_protocol_from: Vec<IpNet>,
}

impl Default for Listener {
    fn default() -> Self {
        let address = ListenAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 6033)));
        let name = address.to_string();
        Listener { address, name, tls: ClientTls::default(), proxy_protocol_from: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// Port 0 lets the system choose one.
    Tcp(SocketAddr),
    Socket(PathBuf),
}

impl ListenAddress {
    /// Whether only this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            ListenAddress::Tcp(address) => address.ip().is_loopback(),
            ListenAddress::Socket(_) => true,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Tcp(address) => address.fmt(f),
            ListenAddress::Socket(path) => path.display().fmt(f),
        }
    }
}

/// What a listener says to a client that asks for TLS, and to one that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientTls {
    Disabled,
    #[default]
    Optional,
    Required,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    pub address: UpstreamAddress,
    pub tls: UpstreamTls,
    /// Set if and only if `tls` verifies.
    pub ca: Option<PathBuf>,
    /// The proxy's own certificate, for an upstream that asks for one.
    pub certificate: Option<CertificateFiles>,
    /// The name to ask for and to verify, where it is not the address's own.
    pub server_name: Option<String>,
    pub proxy_protocol: ProxyProtocol,
    /// The address to dial from; of the same family as an upstream given as a number.
    pub source_address: Option<IpAddr>,
    pub dial_timeout: Duration,
    /// Measured, never routed to.
    pub replicas: Replicas,
    /// What becomes of sessions on a server that is the primary no more.
    pub on_demotion: OnDemotion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replicas {
    /// May be empty.
    Listed(Vec<UpstreamAddress>),
    /// The primary is asked for them, again and again.
    Discover,
}

impl Replicas {
    /// There are none to measure, whatever the primary knows.
    pub fn are_none(&self) -> bool {
        match self {
            Replicas::Listed(addresses) => addresses.is_empty(),
            Replicas::Discover => false,
        }
    }

    /// Those that are known before anybody is asked.
    pub fn listed(&self) -> &[UpstreamAddress] {
        match self {
            Replicas::Listed(addresses) => addresses,
            Replicas::Discover => &[],
        }
    }
}

impl Default for Replicas {
    fn default() -> Self {
        Replicas::Listed(Vec::new())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDemotion {
    /// They end at a transaction's boundary.
    #[default]
    Close,
    Keep,
}

impl Upstream {
    pub(crate) const DIAL_TIMEOUT: Duration = Duration::from_secs(5);
}

/// Kept as a name, because it is resolved again at every dial.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UpstreamAddress {
    /// `host` is a name or a number; an IPv6 address has no brackets here.
    Tcp {
        host: String,
        port: u16,
    },
    Socket(PathBuf),
}

impl UpstreamAddress {
    /// Whether it is surely this machine: a socket, a loopback number, or `localhost`.
    pub fn is_local(&self) -> bool {
        match self {
            UpstreamAddress::Tcp { host, .. } => {
                host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
            }
            UpstreamAddress::Socket(_) => true,
        }
    }
}

impl fmt::Display for UpstreamAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpstreamAddress::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            UpstreamAddress::Tcp { host, port } => write!(f, "{host}:{port}"),
            UpstreamAddress::Socket(path) => path.display().fmt(f),
        }
    }
}

/// The modes of MySQL's own `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamTls {
    Disabled,
    #[default]
    Preferred,
    Required,
    VerifyCa,
    VerifyIdentity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProxyProtocol {
    #[default]
    Off,
    V2,
}

/// A PEM certificate chain and its private key. Both files could be opened when the plan was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientTlsFiles {
    /// Without one, a self-signed certificate is made at start.
    pub certificate: Option<CertificateFiles>,
    /// With it, clients' certificates are asked for and verified.
    pub client_ca: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub connections: usize,
    pub per_user: Option<usize>,
    pub per_address: Option<usize>,
    pub unauthenticated: usize,
    /// The most of those connections that one IPv4 address or one IPv6 /64 may have.
    pub unauthenticated_per_address: Option<usize>,
    pub login_time: Duration,
    /// Bytes of all that a client sends before it is logged in.
    pub login_size: usize,
    /// Logins in progress upstream at once.
    pub upstream_logins: usize,
    /// How many bytes of a command are looked at.
    pub inspect: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 5000,
            per_user: None,
            per_address: None,
            unauthenticated: 500,
            unauthenticated_per_address: Some(250),
            login_time: Duration::from_secs(10),
            login_size: 96 * 1024,
            upstream_logins: 64,
            // An extended INSERT of mysqldump has up to 1 MiB.
            inspect: 1 << 20,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub user: String,
    pub password: Secret,
    /// Without it, lag is what the replicas say of themselves.
    pub heartbeat: Option<Heartbeat>,
    /// Of one question.
    pub timeout: Duration,
    /// Between two samples while there is no traffic.
    pub idle_interval: Duration,
    /// How long without a query that is.
    pub idle_after: Duration,
    /// Between two looks at the server's catalogue without a reason.
    pub catalogue_interval: Duration,
}

impl Probe {
    pub const TIMEOUT: Duration = Duration::from_secs(1);
    pub const IDLE_INTERVAL: Duration = Duration::from_secs(5);
    pub const IDLE_AFTER: Duration = Duration::from_secs(10);
    pub const CATALOGUE_INTERVAL: Duration = Duration::from_secs(60);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    pub table: TableName,
    /// Whether the proxy may make it, with its schema.
    pub create: bool,
}

/// As it was written. It prints as SQL has it, in backticks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    pub schema: String,
    pub name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`.`{}`", self.schema.replace('`', "``"), self.name.replace('`', "``"))
    }
}

/// Both are counted from the signal; `wait` is never longer than `deadline`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drain {
    pub wait: Duration,
    pub deadline: Duration,
}

impl Default for Drain {
    fn default() -> Self {
        Drain { wait: Duration::from_secs(10), deadline: Duration::from_secs(60) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workers {
    /// One thread a core.
    #[default]
    Auto,
    /// At least one.
    Exactly(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// `None`: the HTTP port is off.
    pub http: Option<SocketAddr>,
    /// By which it may be asked for, besides addresses and `localhost`.
    pub host_names: Vec<String>,
}

impl Default for Admin {
    fn default() -> Self {
        Admin { http: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 6034))), host_names: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Log {
    pub format: LogFormat,
    pub level: LogLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    /// The word as it is written in the file, which is also the one that `tracing` takes.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}
