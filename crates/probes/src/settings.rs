//! Whom to ask, as whom, and how long to wait.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use health::ServerName;
use zeroize::Zeroizing;

#[derive(Debug, Clone)]
pub struct Settings {
    pub primary: Endpoint,
    pub replicas: Replicas,
    pub login: Login,
    pub heartbeat: Option<Heartbeat>,
    /// The deadline of a sample: connecting, asking, and the answer.
    pub timeout: Duration,
    pub host: Host,
}

impl Settings {
    pub const TIMEOUT: Duration = Duration::from_secs(1);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replicas {
    Listed(Vec<Endpoint>),
    /// The primary is asked who follows it, and asked again every 10 s.
    Discover,
}

/// Whether the upstream runs on this machine, whose load then is its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Here,
    Elsewhere,
}

/// A row of this proxy in a table of the primary, written at every beat and read on the replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    pub schema: String,
    pub table: String,
    /// Which row is ours: each proxy before the same primary needs its own.
    pub proxy: String,
    pub missing: MissingTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingTable {
    Create,
    /// Say once with which statements to make it, and wait.
    SayHow,
}

/// The most bytes of [`Heartbeat::proxy`] that the table keeps; what is longer is cut.
pub const LONGEST_PROXY: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub address: Address,
    pub tls: Tls,
}

impl Endpoint {
    pub fn name(&self) -> ServerName {
        self.address.to_string().into()
    }

    /// Another server of the same cluster: its name in a certificate is its own.
    pub(crate) fn beside(&self, address: Address) -> Endpoint {
        Endpoint { address, tls: Tls { server_name: None, ..self.tls.clone() } }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `host` is a name or a number; an IPv6 address has no brackets here. A name is resolved at every dial.
    Tcp {
        host: String,
        port: u16,
    },
    Socket(PathBuf),
}

impl Address {
    /// Whether it may stand for another server tomorrow.
    pub(crate) fn is_a_name(&self) -> bool {
        match self {
            Address::Tcp { host, .. } => host.parse::<std::net::IpAddr>().is_err(),
            Address::Socket(_) => false,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Socket(path) => path.display().fmt(f),
        }
    }
}

/// As for the sessions' connections to the upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub mode: TlsMode,
    /// The authority that a verifying mode trusts.
    pub ca: Option<PathBuf>,
    /// The name to verify, where it is not the address's own.
    pub server_name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    Disabled,
    /// TLS where the server has it.
    Preferred,
    Required,
    VerifyCa,
    VerifyIdentity,
}

impl Tls {
    pub fn new(mode: TlsMode) -> Tls {
        Tls { mode, ca: None, server_name: None }
    }
}

#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: Secret,
}

/// A password that is not printed, and not left in memory by us.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Zeroizing::new(text.into()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_its_address() {
        let tcp = |host: &str| Address::Tcp { host: host.into(), port: 3306 };
        for (address, name, moves) in [
            (tcp("10.0.0.7"), "10.0.0.7:3306", false),
            (tcp("db-1"), "db-1:3306", true),
            (tcp("::1"), "[::1]:3306", false),
            (Address::Socket("/run/mysqld.sock".into()), "/run/mysqld.sock", false),
        ] {
            assert_eq!((address.to_string().as_str(), address.is_a_name()), (name, moves));
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let login = Login { user: "tollgate".into(), password: Secret::new("hunter2") };
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}
