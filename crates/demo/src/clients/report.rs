//! Two that read large ranges as text, one after another, and want the same: one is favoured by the rules, one is not.
//! Their comments say who asks.

use std::time::Duration;

use anyhow::ensure;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sandbox::{APP, ETL, Login};

use super::Connection;
use crate::servers::ORDERS;

/// A name, which is also in the comments, and a user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    pub(super) name: &'static str,
    pub(super) login: Login,
}

pub(super) const BILLING: Reader = Reader { name: "billing", login: APP };
pub(super) const REPORT: Reader = Reader { name: "report", login: ETL };

/// Rows in a range.
const RANGE: u64 = 500;
const THINKING: Duration = Duration::from_millis(25);

pub(super) async fn work(connection: &Connection, conn: &mut Conn, reader: Reader) -> anyhow::Result<()> {
    let mut first = 1;
    while !connection.is_to_stop() {
        let last = first + RANGE - 1;
        let sql = format!(
            "SELECT id, customer, cents, note FROM orders WHERE id BETWEEN {first} AND {last} /*app='{}'*/",
            reader.name
        );
        let rows: Vec<(u64, u64, i64, String)> = connection.timed(conn.query(sql)).await?;
        let count = rows.len();
        ensure!(u64::try_from(count)? == RANGE, "asked for {RANGE} orders from {first} on, got {count}");
        first = (first + RANGE) % (ORDERS - RANGE);
        connection.pause(THINKING).await;
    }
    Ok(())
}
