//! A report: large ranges as text, one after another.

use std::time::Duration;

use anyhow::ensure;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sandbox::{ETL, Login};

use super::Connection;
use crate::servers::ORDERS;

pub(super) const NAME: &str = "report";
pub(super) const LOGIN: Login = ETL;

/// Rows in a range.
const RANGE: u64 = 500;
const THINKING: Duration = Duration::from_millis(25);

pub(super) async fn work(connection: &Connection, conn: &mut Conn) -> anyhow::Result<()> {
    let mut first = 1;
    while !connection.is_to_stop() {
        let last = first + RANGE - 1;
        let sql = format!("SELECT id, customer, cents, note FROM orders WHERE id BETWEEN {first} AND {last}");
        let rows: Vec<(u64, u64, i64, String)> = connection.timed(conn.query(sql)).await?;
        let count = rows.len();
        ensure!(u64::try_from(count)? == RANGE, "asked for {RANGE} orders from {first} on, got {count}");
        first = (first + RANGE) % (ORDERS - RANGE);
        connection.pause(THINKING).await;
    }
    Ok(())
}
