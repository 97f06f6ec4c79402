//! True lag, seen without Tollgate: a heartbeat of the rig's own, written straight to the primary and read straight from
//! the replica, both by this process's clock.

use super::load::Tally;
use super::series::Look;
use super::servers::{Servers, direct};
use anyhow::{Context, Result};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

const INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Observer {
    seen: Arc<Seen>,
    tasks: JoinSet<Result<()>>,
}

#[derive(Debug)]
struct Seen {
    /// Since when heartbeats count their microseconds.
    epoch: Instant,
    /// When the writers begin.
    begin: Instant,
    tally: Arc<Tally>,
    beats: Mutex<Vec<Beat>>,
    looks: Mutex<Vec<Look>>,
}

#[derive(Clone, Copy, Debug)]
struct Beat {
    /// Microseconds since the epoch.
    at: u64,
    /// How many rows had been committed before it was written.
    rows: u64,
}

impl Observer {
    pub async fn start(servers: &Servers, begin: Instant, tally: &Arc<Tally>) -> Result<Self> {
        let (primary, replica) = (direct(servers.primary()).await?, direct(servers.replica()).await?);
        let seen = Arc::new(Seen {
            epoch: Instant::now(),
            begin,
            tally: Arc::clone(tally),
            beats: Mutex::default(),
            looks: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(write_beats(primary, Arc::clone(&seen)));
        tasks.spawn(read_beats(replica, Arc::clone(&seen)));
        Ok(Self { seen, tasks })
    }

    /// Why it ended, if it has: it does not by itself.
    pub async fn failed(&mut self) -> Result<()> {
        self.tasks.join_next().await.context("there is no observer")?.context("the observer panicked")?
    }

    pub fn newest(&self) -> Option<Look> {
        self.seen.looks().last().copied()
    }

    /// Everything that was seen since the writers began.
    pub fn finish(self) -> Vec<Look> {
        drop(self.tasks);
        std::mem::take(&mut *self.seen.looks())
    }
}

impl Seen {
    fn looks(&self) -> MutexGuard<'_, Vec<Look>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beats(&self) -> MutexGuard<'_, Vec<Beat>> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// What the replica showed, at a moment after it was asked: lag may look larger by the time of one query, never less.
    fn look(&self, newest: u64) {
        let Some(at) = Instant::now().checked_duration_since(self.begin) else { return };
        let rows_then = {
            let beats = self.beats();
            let index = beats.partition_point(|beat| beat.at <= newest);
            index.checked_sub(1).and_then(|index| beats.get(index)).map_or(0, |beat| beat.rows)
        };
        let look = Look {
            at: at.as_secs_f64(),
            lag: self.micros().saturating_sub(newest) as f64 / 1e6,
            commits: self.tally.commits.load(Ordering::Relaxed),
            rows: self.tally.rows.load(Ordering::Relaxed),
            applied: rows_then,
        };
        self.looks().push(look);
    }
}

async fn write_beats(mut primary: Conn, seen: Arc<Seen>) -> Result<()> {
    let mut ticks = ticks();
    loop {
        ticks.tick().await;
        let beat = Beat { at: seen.micros(), rows: seen.tally.rows.load(Ordering::Relaxed) };
        seen.beats().push(beat);
        primary.query_drop(format!("UPDATE storm.beat SET at = {} WHERE id = 1", beat.at)).await?;
    }
}

async fn read_beats(mut replica: Conn, seen: Arc<Seen>) -> Result<()> {
    let mut ticks = ticks();
    loop {
        ticks.tick().await;
        let newest: Option<u64> = replica.query_first("SELECT at FROM storm.beat WHERE id = 1").await?;
        seen.look(newest.context("the replica has no heartbeat row")?);
    }
}

fn ticks() -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
