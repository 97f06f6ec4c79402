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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sight {
    pub(crate) sessions: Option<u64>,
    /// What the proxy decided, by the names that it made of what it knows.
    pub(crate) decided: Vec<Decided>,
    /// Rows of `shop.history`.
    pub(crate) primary: Option<u64>,
    pub(crate) replica: Option<u64>,
}

/// What the proxy made of one client's queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) client: String,
    pub(crate) passed: u64,
    pub(crate) held: u64,
    pub(crate) rejected: u64,
    /// Would have been held or rejected.
    pub(crate) warned: u64,
    pub(crate) held_for: Duration,
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
        let decided = within(decided(self.http)).await.unwrap_or_default();
        Sight { sessions, decided, primary, replica }
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

async fn get(http: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(http).await?;
    // HTTP/1.0: the answer ends with the connection and is not in chunks.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {http}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn sessions(http: SocketAddr) -> Result<u64> {
    gauge(&get(http, "/metrics").await?, "tollgate_sessions").context("no such metric")
}

async fn decided(http: SocketAddr) -> Result<Vec<Decided>> {
    let answer = get(http, "/clients").await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
    read_decided(body)
}

fn read_decided(body: &str) -> Result<Vec<Decided>> {
    let answer: serde_json::Value = serde_json::from_str(body)?;
    let clients = answer.get("clients").and_then(|clients| clients.as_array()).context("no clients")?;
    let number =
        |client: &serde_json::Value, key: &str| client.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
    Ok(clients
        .iter()
        .map(|client| Decided {
            client: client.get("client").and_then(|name| name.as_str()).unwrap_or_default().to_owned(),
            passed: number(client, "passed"),
            held: number(client, "held"),
            rejected: number(client, "rejected"),
            warned: number(client, "warned"),
            held_for: Duration::from_millis(number(client, "hold_ms")),
        })
        .collect())
}

fn gauge(metrics: &str, name: &str) -> Option<u64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_decided_is_read_by_client() {
        let body = r#"{"waiting":0,"clients":[{"client":"report:etl","passed":3,"held":2,"rejected":1,"warned":4,"hold_ms":1800}]}"#;
        let report = Decided {
            client: "report:etl".to_owned(),
            passed: 3,
            held: 2,
            rejected: 1,
            warned: 4,
            held_for: Duration::from_millis(1800),
        };
        assert_eq!(read_decided(body).unwrap(), [report]);
        assert!(read_decided("{}").is_err());
    }

    #[test]
    fn a_gauge_is_found_by_its_whole_name() {
        let metrics = "# TYPE tollgate_sessions gauge\ntollgate_sessions_old 9\ntollgate_sessions 5\n";
        assert_eq!(gauge(metrics, "tollgate_sessions"), Some(5));
        assert_eq!(gauge(metrics, "tollgate"), None);
    }
}
