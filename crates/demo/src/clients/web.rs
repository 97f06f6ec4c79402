//! A web application: prepared point selects, and now and then a transaction that changes an order. The selects are the
//! foreground: only they are timed.

use std::time::Duration;

use anyhow::ensure;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sandbox::{APP, Login};

use super::Connection;
use crate::servers::ORDERS;

pub(super) const NAME: &str = "web";
pub(super) const LOGIN: Login = APP;
pub(super) const CONNECTIONS: u64 = 4;

/// Selects before each change. The gate does not concern its changes, and the more there are, the nearer to the threshold the job is
/// let: what passes beside a gate is the replica's work too.
const SELECTS: u64 = 24;
/// Between two queries: enough to look at, and the machine stays usable beside it.
const THINKING: Duration = Duration::from_millis(5);

pub(super) async fn work(connection: &Connection, conn: &mut Conn, number: u64) -> anyhow::Result<()> {
    // Any order that is neither the neighbour's nor the next one.
    let mut id = 1 + number * (ORDERS / CONNECTIONS);
    while !connection.is_to_stop() {
        for _ in 0..SELECTS {
            id = id * 31 % ORDERS + 1;
            let select = conn.exec_first("SELECT id, customer, cents FROM orders WHERE id = ?", (id,));
            let row: Option<(u64, u64, i64)> = connection.timed(select).await?;
            ensure!(row.is_some_and(|(found, ..)| found == id), "asked for order {id}, got {row:?}");
            connection.pause(THINKING).await;
        }
        change(connection, conn, id).await?;
        connection.pause(THINKING).await;
    }
    Ok(())
}

async fn change(connection: &Connection, conn: &mut Conn, id: u64) -> anyhow::Result<()> {
    conn.query_drop("BEGIN").await?;
    conn.exec_drop("UPDATE orders SET cents = cents + 1 WHERE id = ?", (id,)).await?;
    conn.exec_drop("INSERT INTO history (order_id) VALUES (?)", (id,)).await?;
    conn.query_drop("COMMIT").await?;
    connection.figures.change();
    Ok(())
}
