//! Looks at the servers and the proxy from the side: straight at the servers, and at the proxy's metrics.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::servers::{Servers, opts};

/// A look that takes longer fails; the table goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Observer {
    http: SocketAddr,
    primary: Eye,
    replica: Eye,
}

/// What was seen, where it could be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) sessions: Option<u64>,
    /// Rows of `shop.history`.
    pub(crate) primary: Option<u64>,
    pub(crate) replica: Option<u64>,
}

impl Observer {
    pub(crate) fn new(servers: &Servers) -> Observer {
        let eye = |server: &sandbox::Server| Eye { address: server.address(), conn: None };
        Observer {
            http: servers.proxy.http,
            primary: eye(&servers.cluster.primary),
            replica: eye(&servers.cluster.replica),
        }
    }

    pub(crate) async fn look(&mut self) -> Sight {
        // The replica first: what it has, the primary has then, so that the difference is never negative.
        let replica = self.replica.changes().await.ok();
        let primary = self.primary.changes().await.ok();
        let sessions = within(sessions(self.http)).await.ok();
        Sight { sessions, primary, replica }
    }

    pub(crate) async fn changes_on_primary(&mut self) -> Result<u64> {
        self.primary.changes().await.context("counting the changes on the primary")
    }

    pub(crate) async fn changes_on_replica(&mut self) -> Result<u64> {
        self.replica.changes().await.context("counting the changes on the replica")
    }
}

/// A connection to a server, opened when it is first needed and again after an error.
#[derive(Debug)]
struct Eye {
    address: SocketAddr,
    conn: Option<Conn>,
}

impl Eye {
    async fn changes(&mut self) -> Result<u64> {
        // Taken out: an error or a timeout leaves none behind.
        let conn = self.conn.take();
        let address = self.address;
        let (conn, count) = within(async move {
            let mut conn = match conn {
                Some(conn) => conn,
                None => Conn::new(opts(address, sandbox::APP)).await?,
            };
            let count: Option<u64> = conn.query_first("SELECT COUNT(*) FROM history").await?;
            Ok((conn, count.context("no count")?))
        })
        .await?;
        self.conn = Some(conn);
        Ok(count)
    }
}

async fn within<T>(what: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(PATIENCE, what).await.context("no answer in time")?
}

async fn sessions(http: SocketAddr) -> Result<u64> {
    let mut stream = TcpStream::connect(http).await?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: tollgate\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    gauge(&answer, "tollgate_sessions").context("no such metric")
}

fn gauge(metrics: &str, name: &str) -> Option<u64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_found_by_its_whole_name() {
        let metrics = "# TYPE tollgate_sessions gauge\ntollgate_sessions_old 9\ntollgate_sessions 5\n";
        assert_eq!(gauge(metrics, "tollgate_sessions"), Some(5));
        assert_eq!(gauge(metrics, "tollgate"), None);
    }
}
