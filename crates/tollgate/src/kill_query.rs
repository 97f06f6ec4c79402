//! KILL QUERY for statements whose client has left, by the proxy's own user.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use probes::Connector;
use relay::shared::KillQuery;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::warn;

use crate::probe_settings::{endpoint, login};

/// Kills at once; a crowd of leaving clients must not become a crowd of connections.
const AT_ONCE: usize = 4;
const TIME: Duration = Duration::from_secs(5);

pub(crate) struct ProbeUser {
    connector: Connector,
    places: Semaphore,
}

impl ProbeUser {
    pub(crate) fn new(upstream: &config::Upstream, probe: &config::Probe) -> ProbeUser {
        let connector = Connector::new(&endpoint(upstream), &login(probe));
        ProbeUser { connector, places: Semaphore::new(AT_ONCE) }
    }

    /// A connection of its own, to the address that the upstream's name stood for, if that is known.
    pub(crate) async fn connect(&self, address: Option<SocketAddr>) -> mysql_async::Result<Conn> {
        self.connector.connect(address).await
    }

    async fn kill(&self, id: u32, address: Option<SocketAddr>) -> mysql_async::Result<()> {
        let mut connection = self.connect(address).await?;
        let killed = connection.query_drop(format!("KILL QUERY {id}")).await;
        let _ = connection.disconnect().await;
        killed
    }
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
