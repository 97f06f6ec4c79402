//! The replica's lag, as we see it from the side: the proxy is not asked.
//!
//! A number is written straight to the primary and read straight from the replica. It is the time of one clock, ours, so that
//! lag is how long ago the newest one was written that the replica has.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sandbox::APP;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::servers::{Servers, opts};

/// Between two beats, and between two looks.
const EVERY: Duration = Duration::from_millis(50);
const AFTER_AN_ERROR: Duration = Duration::from_millis(200);

/// Dropping it ends it.
#[derive(Debug)]
pub(crate) struct LagMeter {
    looks: Arc<Mutex<Vec<Duration>>>,
    _tasks: JoinSet<()>,
}

impl LagMeter {
    pub(crate) fn start(servers: &Servers) -> LagMeter {
        let (primary, replica) = (servers.cluster.primary.address(), servers.cluster.replica.address());
        let begin = Instant::now();
        let looks = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(again_and_again(primary, async move |conn: &mut Conn| beat(conn, begin).await));
        let seen = Arc::clone(&looks);
        tasks.spawn(again_and_again(replica, async move |conn: &mut Conn| {
            if let Some(lag) = look(conn, begin).await? {
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(lag);
            }
            Ok(())
        }));
        LagMeter { looks, _tasks: tasks }
    }

    /// What was seen since the last call.
    pub(crate) fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.looks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Over one connection, and another after an error: whoever reads sees that there was nothing in between.
async fn again_and_again(address: SocketAddr, mut once: impl AsyncFnMut(&mut Conn) -> mysql_async::Result<()>) {
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if let Ok(mut conn) = Conn::new(opts(address, APP)).await {
            while once(&mut conn).await.is_ok() {
                tick.tick().await;
            }
        }
        tokio::time::sleep(AFTER_AN_ERROR).await;
    }
}

async fn beat(conn: &mut Conn, begin: Instant) -> mysql_async::Result<()> {
    conn.query_drop(format!("UPDATE beat SET at = {} WHERE id = 1", begin.elapsed().as_micros())).await
}

/// `None`: the first beat is not there yet.
async fn look(conn: &mut Conn, begin: Instant) -> mysql_async::Result<Option<Duration>> {
    let asked = begin.elapsed();
    let at: Option<u64> = conn.query_first("SELECT at FROM beat WHERE id = 1").await?;
    Ok(at.filter(|at| *at > 0).map(|at| asked.saturating_sub(Duration::from_micros(at))))
}
