//! The foreground: point selects at a fixed, modest rate, and how long each took.

use super::servers::{ITEMS, opts};
use anyhow::{Context, Result};
use hdrhistogram::{CreationError, Histogram};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use rand::RngExt;
use sandbox::APP;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const CONNECTIONS: u32 = 4;
/// Latencies are gathered over windows of this length, for the plot.
pub const WINDOW: Duration = Duration::from_secs(5);

/// In microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
}

/// A histogram a window.
#[derive(Debug)]
pub struct Latencies {
    begin: Instant,
    windows: Mutex<Vec<Histogram<u32>>>,
    errors: Mutex<u64>,
}

impl Latencies {
    pub fn new(begin: Instant) -> Self {
        Self { begin, windows: Mutex::default(), errors: Mutex::default() }
    }

    fn record(&self, at: Instant, latency: Duration) {
        let Some(since) = at.checked_duration_since(self.begin) else { return };
        let index = (since.as_secs() / WINDOW.as_secs()) as usize;
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        while windows.len() <= index {
            match histogram() {
                Ok(histogram) => windows.push(histogram),
                Err(_) => return,
            }
        }
        if let Some(histogram) = windows.get_mut(index) {
            histogram.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
        }
    }

    /// Each window by itself; `None` where nothing was answered.
    pub fn each(&self) -> Vec<Option<Latency>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).iter().map(latency).collect()
    }

    /// All windows that begin at this time or later, together.
    pub fn from(&self, warm_up: Duration) -> Result<Option<Latency>> {
        let skip = warm_up.as_secs().div_ceil(WINDOW.as_secs()) as usize;
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = histogram()?;
        for window in windows.iter().skip(skip) {
            all.add(window)?;
        }
        Ok(latency(&all))
    }

    pub fn errors(&self) -> u64 {
        *self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Up to a minute, whereupon it saturates. With bounds: without them hdrhistogram saturates at 2.
fn histogram() -> Result<Histogram<u32>, CreationError> {
    Histogram::new_with_bounds(1, 60_000_000, 3)
}

fn latency(histogram: &Histogram<u32>) -> Option<Latency> {
    (!histogram.is_empty()).then(|| Latency {
        count: histogram.len(),
        p50: histogram.value_at_quantile(0.5),
        p99: histogram.value_at_quantile(0.99),
        max: histogram.max(),
    })
}

/// Starts it; dropping the set ends it.
pub async fn start(proxy: SocketAddr, rate: f64, latencies: &Arc<Latencies>) -> Result<JoinSet<()>> {
    let mut tasks = JoinSet::new();
    let pause = Duration::from_secs_f64(f64::from(CONNECTIONS) / rate);
    for number in 0..CONNECTIONS {
        let conn = Conn::new(opts(proxy, APP)).await.context("connecting the foreground")?;
        let first = Instant::now() + pause.mul_f64(f64::from(number) / f64::from(CONNECTIONS));
        tasks.spawn(select(conn, first, pause, Arc::clone(latencies)));
    }
    Ok(tasks)
}

/// Open loop: a query that comes late because the one before it took long has its wait counted, as its user would.
/// That the timer woke us late is not counted.
async fn select(mut conn: Conn, first: Instant, pause: Duration, latencies: Arc<Latencies>) {
    let mut due = first;
    loop {
        let begin = if Instant::now() > due {
            due
        } else {
            tokio::time::sleep_until(due.into()).await;
            Instant::now()
        };
        let id = rand::rng().random_range(1..=ITEMS);
        match conn.query_drop(format!("SELECT note FROM storm.items WHERE id = {id}")).await {
            Ok(()) => latencies.record(due, begin.elapsed()),
            Err(_) => {
                *latencies.errors.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                tokio::time::sleep(pause).await;
            }
        }
        due += pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_their_sum() {
        let begin = Instant::now();
        let latencies = Latencies::new(begin + Duration::from_secs(10));
        for (second, micros) in [(9, 9000), (10, 100), (14, 200), (21, 300), (22, 70_000)] {
            latencies.record(begin + Duration::from_secs(second), Duration::from_micros(micros));
        }
        let counts: Vec<_> = latencies.each().iter().map(|window| window.map(|latency| latency.count)).collect();
        assert_eq!(counts, [Some(2), None, Some(2)]);
        let late = latencies.from(Duration::from_secs(6)).unwrap().unwrap();
        assert_eq!((late.count, late.p50), (2, 300));
        assert!((69_900..70_100).contains(&late.max), "{}", late.max);
        assert_eq!(latencies.from(Duration::from_secs(60)).unwrap(), None);
    }
}
