//! KILL QUERY for statements whose client has left, by the proxy's own user.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, SslOpts};
use relay::shared::KillQuery;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::warn;

/// Kills at once; a crowd of leaving clients must not become a crowd of connections.
const AT_ONCE: usize = 4;
const TIME: Duration = Duration::from_secs(5);

pub(crate) struct ProbeUser {
    opts: OptsBuilder,
    /// `preferred`: plain where the server has no TLS.
    tls_optional: bool,
    places: Semaphore,
}

impl ProbeUser {
    pub(crate) fn new(upstream: &config::Upstream, probe: &config::Probe) -> ProbeUser {
        let opts = OptsBuilder::default()
            .user(Some(&probe.user))
            .pass(Some(probe.password.expose()))
            // Given, so that nothing is asked at the start.
            .max_allowed_packet(Some(1 << 20))
            .wait_timeout(Some(60))
            .prefer_socket(Some(false));
        let opts = match &upstream.address {
            config::UpstreamAddress::Tcp { host, port } => opts.ip_or_hostname(host).tcp_port(*port),
            config::UpstreamAddress::Socket(path) => opts.socket(Some(path.display().to_string())),
        };
        ProbeUser {
            opts: opts.ssl_opts(tls(upstream)),
            tls_optional: upstream.tls == config::UpstreamTls::Preferred,
            places: Semaphore::new(AT_ONCE),
        }
    }

    /// A connection of its own, to the address that the upstream's name stood for, if that is known.
    pub(crate) async fn connect(&self, address: Option<SocketAddr>) -> mysql_async::Result<Conn> {
        let opts = match address {
            Some(address) => self.opts.clone().ip_or_hostname(address.ip().to_string()).tcp_port(address.port()),
            None => self.opts.clone(),
        };
        match Conn::new(opts.clone()).await {
            // As for sessions, `preferred` means TLS where the server has it.
            Err(mysql_async::Error::Driver(mysql_async::DriverError::NoClientSslFlagFromServer))
                if self.tls_optional =>
            {
                Conn::new(opts.ssl_opts(None::<SslOpts>)).await
            }
            connected => connected,
        }
    }

    async fn kill(&self, id: u32, address: Option<SocketAddr>) -> mysql_async::Result<()> {
        let mut connection = self.connect(address).await?;
        let killed = connection.query_drop(format!("KILL QUERY {id}")).await;
        let _ = connection.disconnect().await;
        killed
    }
}

fn tls(upstream: &config::Upstream) -> Option<SslOpts> {
    if matches!(upstream.address, config::UpstreamAddress::Socket(_)) {
        return None;
    }
    let verified = match upstream.tls {
        config::UpstreamTls::Disabled => return None,
        config::UpstreamTls::Preferred | config::UpstreamTls::Required => {
            return Some(
                SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true),
            );
        }
        config::UpstreamTls::VerifyCa => SslOpts::default().with_danger_skip_domain_validation(true),
        config::UpstreamTls::VerifyIdentity => SslOpts::default().with_danger_tls_hostname_override(name(upstream)),
    };
    let ca: Vec<PathBuf> = upstream.ca.iter().cloned().collect();
    Some(verified.with_root_certs(ca.into_iter().map(Into::into).collect()))
}

/// The name in the certificate: the address that is dialled is one it stood for.
fn name(upstream: &config::Upstream) -> Option<String> {
    upstream.server_name.clone().or_else(|| match &upstream.address {
        config::UpstreamAddress::Tcp { host, .. } => Some(host.clone()),
        config::UpstreamAddress::Socket(_) => None,
    })
}

impl KillQuery for ProbeUser {
    fn kill_query(
        &self,
        upstream_id: u32,
        address: Option<SocketAddr>,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(async move {
            // The time counts from when it is this one's turn: in a crowd of leaving clients each gets one.
            let _place = self.places.acquire().await;
            let killed = timeout(TIME, self.kill(upstream_id, address));
            match killed.await {
                Ok(Ok(())) => true,
                // 1094: it has ended by itself.
                Ok(Err(mysql_async::Error::Server(error))) if error.code == 1094 => false,
                Ok(Err(mysql_async::Error::Server(error))) if error.code == 1095 => {
                    warn!(
                        %error,
                        "the probe user may not kill a statement whose client left; \
                         grant it CONNECTION_ADMIN, and SYSTEM_USER if the statements of users who have that are to be killed"
                    );
                    false
                }
                Ok(Err(error)) => {
                    warn!(%error, "a statement whose client left could not be killed");
                    false
                }
                Err(_) => {
                    warn!("a statement whose client left could not be killed in time");
                    false
                }
            }
        })
    }
}
