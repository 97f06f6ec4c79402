//! The replica is slower than the primary can commit, on any machine.
//!
//! The job's updates call `shop.cost()` for each row. On the primary that function does nothing. They are binlogged as statements, so
//! the replica's only applier calls the function of that name there, which sleeps. That needs no CPU, and one UPDATE of a table of
//! one row changes how long it takes.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sandbox::{APP, Cluster, Options};

use crate::servers::opts;

/// What a row of the job takes the replica: it applies about a hundred a second.
pub(crate) const ROW_TAKES: Duration = Duration::from_millis(10);
/// The tables' making.
const CATCH_UP: Duration = Duration::from_secs(60);

/// On the primary.
pub(crate) const FUNCTION: &str = "CREATE FUNCTION cost() RETURNS INT DETERMINISTIC NO SQL RETURN 0";

pub(crate) fn options() -> Options {
    Options::mysql()
        .argument("--replica-parallel-workers=1")
        // Nothing replicates from it, and its own binlog would be full of warnings.
        .argument("--log-replica-updates=OFF")
        .argument("--log-bin-trust-function-creators=ON")
}

/// Once the replica has everything, it gets a function of its own. Blocks.
pub(crate) fn make(cluster: &Cluster) -> Result<()> {
    cluster.wait_for_replica(CATCH_UP)?;
    let sql = format!(
        "STOP REPLICA SQL_THREAD;
         SET sql_log_bin = 0;
         USE shop;
         CREATE TABLE row_takes (seconds DOUBLE NOT NULL);
         INSERT INTO row_takes VALUES ({});
         DROP FUNCTION cost;
         CREATE FUNCTION cost() RETURNS INT READS SQL DATA RETURN SLEEP((SELECT seconds FROM shop.row_takes LIMIT 1));
         START REPLICA SQL_THREAD;",
        ROW_TAKES.as_secs_f64()
    );
    cluster.replica.root_sql(&sql).context("slowing the replica")?;
    Ok(())
}

/// From the next row on. Nothing at all, and it catches up within a moment.
pub(crate) async fn set(replica: SocketAddr, row_takes: Duration) -> Result<()> {
    let set = async {
        let mut conn = Conn::new(opts(replica, APP)).await?;
        conn.query_drop("SET sql_log_bin = 0").await?;
        conn.query_drop(format!("UPDATE row_takes SET seconds = {}", row_takes.as_secs_f64())).await?;
        conn.disconnect().await
    };
    set.await.context("changing the replica's speed")
}
