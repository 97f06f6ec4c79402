//! A write-heavy job: one row after another, on many connections, faster than the replica can follow.

use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sandbox::{ETL, Login};
use tokio::sync::watch;

use super::Connection;

pub(super) const NAME: &str = "job";
pub(super) const LOGIN: Login = ETL;
pub(super) const CONNECTIONS: u64 = 12;

/// Together they want two and a half times what the replica applies ([`crate::slow_replica::ROW_TAKES`]): enough that it falls
/// behind on any machine, and not so much that it would never catch up.
const THINKING: Duration = Duration::from_millis(48);
/// While it rests.
const RESTING: Duration = Duration::from_millis(20);

pub(super) async fn work(
    connection: &Connection,
    conn: &mut Conn,
    number: u64,
    works: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    // So that the replica runs the function too, which takes its time there.
    conn.query_drop("SET SESSION binlog_format = 'STATEMENT'").await?;
    // A row of its own: it waits for the gate, not for a neighbour's lock.
    let update = format!("UPDATE stock SET changes = changes + 1 + cost() WHERE id = {} /*app='{NAME}'*/", number + 1);
    while !connection.is_to_stop() {
        if !*works.borrow() {
            connection.pause(RESTING).await;
            continue;
        }
        connection.timed(conn.query_drop(&update)).await?;
        connection.pause(THINKING).await;
    }
    Ok(())
}
