//! The primary, its replica, the proxy before them, and the data that the clients use.

use anyhow::{Context, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use sandbox::{APP, Cluster, Login, Options, TOLLGATE};
use std::net::SocketAddr;

use crate::proxy_process::ProxyProcess;
use crate::slow_replica;

/// The schema that the demo uses.
pub(crate) const DATABASE: &str = "shop";
/// How many rows `shop.orders` has, with the ids from 1.
pub(crate) const ORDERS: u64 = 20_000;
/// And `shop.stock`: more than the job has connections.
const STOCK: u64 = 100;

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
        let cluster = blocking(|| {
            let cluster = Cluster::with_options(Options::mysql(), slow_replica::options())?;
            cluster.primary.root_sql(&grants()).context("granting what measuring takes")?;
            Ok(cluster)
        });
        let cluster = cluster.await?;
        let (primary, replica) = (cluster.primary.address(), cluster.replica.address());
        let proxy = ProxyProcess::start(primary, replica).await.context("starting the proxy")?;
        fill(proxy.address).await.context("filling the demo's tables through the proxy")?;
        let cluster = blocking(move || slow_replica::make(&cluster).map(|()| cluster)).await?;
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

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.context("the servers' start panicked")?
}

/// Beyond what the sandbox gives the proxy's user: its heartbeat, and to look at the replica. (`tollgate grants` has the least.)
fn grants() -> String {
    let user = TOLLGATE.user;
    format!(
        "GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON tollgate.* TO {user}@'%';
         GRANT REPLICATION CLIENT, PROCESS ON *.* TO {user}@'%';
         GRANT SELECT ON performance_schema.* TO {user}@'%';"
    )
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
        "CREATE TABLE stock (id INT PRIMARY KEY, changes BIGINT NOT NULL)".to_owned(),
        "CREATE TABLE beat (id INT PRIMARY KEY, at BIGINT NOT NULL)".to_owned(),
        "INSERT INTO beat VALUES (1, 0)".to_owned(),
        slow_replica::FUNCTION.to_owned(),
        format!("SET SESSION cte_max_recursion_depth = {ORDERS}"),
        format!(
            "INSERT INTO orders WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < {ORDERS}) \
             SELECT id, id MOD 500, id MOD 10000, REPEAT('x', 60) FROM ids"
        ),
        format!("INSERT INTO stock SELECT id, 0 FROM orders WHERE id <= {STOCK}"),
    ] {
        conn.query_drop(statement).await?;
    }
    conn.disconnect().await?;
    Ok(())
}
