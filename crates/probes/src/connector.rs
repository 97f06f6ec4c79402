//! How the proxy's own user connects to a server, straight and never through the proxy.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use files::Helper;
use mysql_async::{Conn, DriverError, Error, IoError, OptsBuilder, SslOpts};
use rustls::AlertDescription;
use tokio::sync::Mutex;

use crate::settings::{Address, Endpoint, Login, TlsMode};

/// By which the server's own lists tell our connections from the clients'.
pub const PROGRAM_NAME: &str = "tollgate-probe";

/// Answers that are longer are no answers to what we ask.
const LARGEST_PACKET: usize = 1 << 20;

#[derive(Clone)]
pub struct Connector {
    opts: OptsBuilder,
    tls: TlsMode,
    /// TLS, but for the authorities, which are read for each connection.
    ssl: Option<SslOpts>,
    authorities: Option<Arc<Authorities>>,
}

/// The file of the authorities that may have signed a server's certificate. The driver would read whatever is there, to the
/// end, on a new thread for each connection: a pipe or a hung mount would take more and more of them.
struct Authorities {
    path: PathBuf,
    helper: Arc<Helper>,
    /// One reads at a time, as the helper requires.
    turn: Mutex<()>,
}

/// All certificate authorities of the world take a quarter of this.
const LARGEST_FILE: u64 = 1 << 20;

const READ_TIME: Duration = Duration::from_secs(2);

/// The options hold the password.
impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("tls", &self.tls).finish_non_exhaustive()
    }
}

impl Connector {
    pub fn new(endpoint: &Endpoint, login: &Login) -> Connector {
        have_a_crypto_provider();
        let opts = OptsBuilder::default()
            .user(Some(&login.user))
            .pass(Some(login.password.expose()))
            .connect_attribute("program_name", PROGRAM_NAME)
            // Given, so that nothing is asked at the start.
            .max_allowed_packet(Some(LARGEST_PACKET))
            .wait_timeout(Some(60))
            .prefer_socket(Some(false));
        let opts = match &endpoint.address {
            Address::Tcp { host, port } => opts.ip_or_hostname(host).tcp_port(*port),
            Address::Socket(path) => opts.socket(Some(path.display().to_string())),
        };
        let (ssl, ca) = tls(endpoint).unzip();
        let authorities = ca.flatten().map(|path| Authorities { path, helper: Arc::default(), turn: Mutex::default() });
        Connector { opts, tls: endpoint.tls.mode, ssl, authorities: authorities.map(Arc::new) }
    }

    /// A connection of its own; to the address that the server's name stood for, if that is given.
    ///
    /// Cancel safe: what was opened is closed.
    pub async fn connect(&self, address: Option<SocketAddr>) -> mysql_async::Result<Conn> {
        let opts = self.opts.clone().ssl_opts(self.ssl_opts().await?);
        let opts = match address {
            Some(address) => opts.ip_or_hostname(address.ip().to_string()).tcp_port(address.port()),
            None => opts,
        };
        match Conn::new(opts.clone()).await {
            Err(error) if self.tls == TlsMode::Preferred && has_no_usable_tls(&error) => {
                Conn::new(opts.ssl_opts(None::<SslOpts>)).await
            }
            connected => connected,
        }
    }

    async fn ssl_opts(&self) -> io::Result<Option<SslOpts>> {
        match (&self.ssl, &self.authorities) {
            (Some(ssl), Some(authorities)) => {
                let pem = authorities.read().await?;
                Ok(Some(ssl.clone().with_root_certs(vec![pem.into()])))
            }
            (ssl, _) => Ok(ssl.clone()),
        }
    }
}

impl Authorities {
    /// Cancel safe.
    async fn read(&self) -> io::Result<Vec<u8>> {
        let _turn = self.turn.lock().await;
        let (path, helper) = (self.path.clone(), Arc::clone(&self.helper));
        let read = tokio::task::spawn_blocking(move || read_within(&helper, &path)).await;
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot read `upstream.ca` {}: {error}", self.path.display()))
        };
        read.map_err(io::Error::other)?.map_err(named)
    }
}

fn read_within(helper: &Helper, path: &Path) -> io::Result<Vec<u8>> {
    let owned = path.to_owned();
    let content = helper.run(path, READ_TIME, move || files::read(&owned, LARGEST_FILE))??;
    Ok(content.bytes)
}

/// Whether the server offers no TLS, or shares no version or cipher with us. The same rule as the relay's for clients
/// (`relay/src/tls/upstream_leg.rs`).
fn has_no_usable_tls(error: &Error) -> bool {
    let Error::Io(IoError::Io(error)) = error else {
        return matches!(error, Error::Driver(DriverError::NoClientSslFlagFromServer));
    };
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::PeerIncompatible(_)) => true,
        Some(rustls::Error::AlertReceived(alert)) => matches!(
            alert,
            AlertDescription::ProtocolVersion
                | AlertDescription::HandshakeFailure
                | AlertDescription::InsufficientSecurity
                | AlertDescription::InternalError
        ),
        Some(_) | None => false,
    }
}

/// The options, and the file of the authorities that go into them.
fn tls(endpoint: &Endpoint) -> Option<(SslOpts, Option<PathBuf>)> {
    let Address::Tcp { host, .. } = &endpoint.address else { return None };
    let tls = &endpoint.tls;
    let verified = match tls.mode {
        TlsMode::Disabled => return None,
        TlsMode::Preferred | TlsMode::Required => {
            let unverified = SslOpts::default();
            let unverified = unverified.with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true);
            return Some((unverified, None));
        }
        TlsMode::VerifyCa => SslOpts::default().with_danger_skip_domain_validation(true),
        // Given in any case: the address that is dialled may be one that the name stood for.
        TlsMode::VerifyIdentity => SslOpts::default()
            .with_danger_tls_hostname_override(Some(tls.server_name.clone().unwrap_or_else(|| host.clone()))),
    };
    Some((verified, tls.ca.clone()))
}

/// The driver takes the process's; without one it would panic at its first handshake.
fn have_a_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may have been faster, and theirs will do.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}
