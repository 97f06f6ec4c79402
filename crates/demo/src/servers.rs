//! The primary, its replica, the proxy before them, and the data that the clients use.

use anyhow::{Context, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use sandbox::{APP, Cluster, Login};
use std::net::SocketAddr;

use crate::proxy_process::ProxyProcess;

/// The schema that the demo uses.
pub(crate) const DATABASE: &str = "shop";
/// How many rows `shop.orders` has, with the ids from 1.
pub(crate) const ORDERS: u64 = 20_000;

/// Dropping it ends them all.
#[derive(Debug)]
pub(crate) struct Servers {
    // The proxy first: it ends before its upstream does.
    pub(crate) proxy: ProxyProcess,
    pub(crate) cluster: Cluster,
}

impl Servers {
    /// Not cancel safe in itself; the end of the process cleans up after it.
    pub(crate) async fn start() -> Result<Servers> {
        eprintln!("demo: getting MySQL and starting a primary and a replica");
        let cluster = tokio::task::spawn_blocking(Cluster::start).await.context("the servers' start panicked")??;
        let proxy = ProxyProcess::start(cluster.primary.address()).await.context("starting the proxy")?;
        fill(proxy.address).await.context("filling the demo's tables through the proxy")?;
        Ok(Servers { proxy, cluster })
    }

    /// In order: the proxy drains, and says by its exit code that it did.
    pub(crate) fn end(self) -> Result<()> {
        let Servers { proxy, cluster } = self;
        let ended = proxy.end();
        drop(cluster);
        ended
    }
}

/// How to reach the demo's data at an address. The port decides whether that is the proxy or a server itself.
pub(crate) fn opts(address: SocketAddr, login: Login) -> Opts {
    OptsBuilder::default()
        .ip_or_hostname(address.ip().to_string())
        .tcp_port(address.port())
        .user(Some(login.user))
        .pass(Some(login.password))
        .db_name(Some(DATABASE))
        // mysql_async would otherwise find out the server's socket and go around the proxy.
        .prefer_socket(false)
        .into()
}

async fn fill(address: SocketAddr) -> Result<()> {
    let mut conn = Conn::new(OptsBuilder::from_opts(opts(address, APP)).db_name(None::<String>)).await?;
    for statement in [
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, cents INT NOT NULL, note CHAR(60) NOT NULL)"
            .to_owned(),
        "CREATE TABLE history (id BIGINT AUTO_INCREMENT PRIMARY KEY, order_id INT NOT NULL, \
         at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))"
            .to_owned(),
        format!("SET SESSION cte_max_recursion_depth = {ORDERS}"),
        format!(
            "INSERT INTO orders WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < {ORDERS}) \
             SELECT id, id MOD 500, id MOD 10000, REPEAT('x', 60) FROM ids"
        ),
    ] {
        conn.query_drop(statement).await?;
    }
    conn.disconnect().await?;
    Ok(())
}
