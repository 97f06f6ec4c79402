//! How fast the replica really applies, measured while it has a backlog and nothing else goes on.

use super::plan::Plan;
use super::servers::{ROWS_A_WRITER, Servers, direct};
use anyhow::{Context, Result, bail, ensure};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long the replica is to be busy.
const BACKLOG: Duration = Duration::from_secs(5);
const CONNECTIONS: u32 = 8;
/// The tenths of the backlog that count. In the first ones the applier makes up for what the burst of commits held it up.
const TENTHS: (u64, u64) = (4, 9);

/// Single-row transactions a second: commits a backlog, and times how it is worked off.
pub async fn apply_rate(servers: &Servers, plan: &Plan) -> Result<f64> {
    let mut replica = direct(servers.replica()).await?;
    let before = executed(&mut replica).await?;
    let wanted = (plan.replica_rate * BACKLOG.as_secs_f64()) as u64;
    let each = wanted.div_ceil(CONNECTIONS.into());
    let mut writers = JoinSet::new();
    for writer in 0..CONNECTIONS {
        let mut conn = direct(servers.primary()).await?;
        writers.spawn(async move {
            for _ in 0..each {
                let id = writer * ROWS_A_WRITER + 1;
                conn.query_drop(format!("UPDATE storm.counters SET n = n + 1 + storm.cost() WHERE id = {id}")).await?;
            }
            conn.disconnect().await
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.context("a writer panicked")??;
    }
    let all = each * u64::from(CONNECTIONS);
    let rate = time(&mut replica, before + all * TENTHS.0 / 10, before + all * TENTHS.1 / 10).await?;
    wait_for(&mut replica, before + all).await?;
    replica.disconnect().await?;
    Ok(rate)
}

/// Between the moments when the replica has executed so many transactions.
async fn time(replica: &mut Conn, from: u64, to: u64) -> Result<f64> {
    let (first, begin) = wait_for(replica, from).await?;
    let (last, end) = wait_for(replica, to).await?;
    ensure!(end.duration_since(begin) > BACKLOG / 4, "the primary commits too slowly for a backlog to build up");
    Ok((last - first) as f64 / end.duration_since(begin).as_secs_f64())
}

/// Until the replica has executed so many transactions; how many there are then, and when.
async fn wait_for(replica: &mut Conn, count: u64) -> Result<(u64, Instant)> {
    let deadline = Instant::now() + BACKLOG * 10;
    loop {
        let now = executed(replica).await?;
        if now >= count {
            return Ok((now, Instant::now()));
        }
        if Instant::now() > deadline {
            bail!("the replica has applied {now} of {count} transactions and goes no further");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn executed(conn: &mut Conn) -> Result<u64> {
    let set: String = conn.query_first("SELECT @@global.gtid_executed").await?.context("no gtid_executed")?;
    gtid_count(&set).with_context(|| format!("cannot read {set:?}"))
}

/// How many transactions are in a set like `uuid:1-5:8,uuid:1-3`.
fn gtid_count(set: &str) -> Option<u64> {
    let mut count = 0;
    for source in set.split(',').map(str::trim).filter(|source| !source.is_empty()) {
        // A part that begins with a letter is a tag, behind which come its own intervals.
        let parts = source.split(':').skip(1).filter(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        for interval in parts {
            let (first, last) = interval.split_once('-').unwrap_or((interval, interval));
            count += last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)? + 1;
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_in_a_set() {
        for (set, expected) in [
            ("", Some(0)),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5", Some(5)),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:8:10-11,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:7", Some(9)),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:tag:1-2", Some(7)),
            ("3e11fa47-71ca-11e1-9e33-c80aa9429562:5-1", None),
        ] {
            assert_eq!(gtid_count(set), expected, "{set:?}");
        }
    }
}
