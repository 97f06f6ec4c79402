//! The writers, and what limits those that the rig limits itself.

use super::plan::{AROUND_SHARE, BY_HAND_SHARE, Control, LARGE_ONE_IN, LARGE_ROWS, Plan, Scenario};
use super::servers::{AROUND_WRITERS, ROWS_A_WRITER, large_start, opts, rows_worth};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use rand::RngExt;
use sandbox::ETL;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// After an error, before the next attempt.
const AFTER_AN_ERROR: Duration = Duration::from_millis(100);

/// What the writers got, all together.
#[derive(Debug, Default)]
pub struct Tally {
    pub commits: AtomicU64,
    pub rows: AtomicU64,
    /// By what was said, which is few texts: the number of an ERR, or that the connection was lost.
    errors: Mutex<BTreeMap<String, u64>>,
}

impl Tally {
    fn committed(&self, rows: u32) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows.into(), Ordering::Relaxed);
    }

    fn failed(&self, error: &Error) {
        let kind = match error {
            Error::Server(error) => format!("ERR {}", error.code),
            Error::Driver(_) | Error::Io(_) | Error::Other(_) | Error::Url(_) => "connection lost".to_owned(),
        };
        *self.errors.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += 1;
    }

    pub fn errors(&self) -> BTreeMap<String, u64> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Gives out moments so that no more than a rate passes, however many wait.
#[derive(Debug)]
struct Pacer {
    plan: Plan,
    begin: Instant,
    /// Rows a second at the replica's full speed; fewer while it is slow.
    rate: f64,
    next: Mutex<Instant>,
}

impl Pacer {
    fn new(plan: &Plan, begin: Instant, rate: f64) -> Self {
        Self { plan: plan.clone(), begin, rate, next: Mutex::new(begin) }
    }

    /// When so many rows may go.
    fn moment(&self, now: Instant, rows: u32) -> Instant {
        let rate = self.rate * self.plan.speed(now.saturating_duration_since(self.begin));
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let moment = (*next).max(now);
        *next = moment + Duration::from_secs_f64(f64::from(rows) / rate);
        moment
    }

    async fn pass(&self, rows: u32) {
        tokio::time::sleep_until(self.moment(Instant::now(), rows).into()).await;
    }
}

/// One closed-loop writer.
#[derive(Debug)]
struct Writer {
    number: u32,
    address: SocketAddr,
    sizes: Sizes,
    pacer: Option<Arc<Pacer>>,
    tally: Arc<Tally>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sizes {
    One,
    Mixed,
}

/// Starts all writers of a run; dropping the set ends them. `rate` is what the replica was measured to apply.
pub fn start(
    plan: &Plan,
    proxy: SocketAddr,
    primary: SocketAddr,
    rate: f64,
    begin: Instant,
    tally: &Arc<Tally>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let sizes = if plan.scenario == Scenario::Sizes { Sizes::Mixed } else { Sizes::One };
    let around = if plan.scenario == Scenario::Around { AROUND_SHARE } else { 0.0 };
    let by_hand = Arc::new(Pacer::new(plan, begin, rate * (BY_HAND_SHARE - around)));
    let paced_around = Arc::new(Pacer::new(plan, begin, rate * AROUND_SHARE));
    let pacer = (plan.control == Control::ByHand).then_some(by_hand);
    let writer =
        |number, address, pacer| Writer { number, address, sizes, pacer, tally: Arc::clone(tally) }.write(begin);
    for number in 0..plan.writers {
        tasks.spawn(writer(number, proxy, pacer.clone()));
    }
    if plan.scenario == Scenario::Around {
        for number in plan.writers..plan.writers + AROUND_WRITERS {
            tasks.spawn(writer(number, primary, Some(Arc::clone(&paced_around))));
        }
    }
    if let Some((at, worth)) = plan.large_update() {
        let (first, rows) = (large_start(plan), rows_worth(plan, worth));
        tasks.spawn(large_update(proxy, begin + at, first, rows, Arc::clone(tally)));
    }
    tasks
}

impl Writer {
    /// Until it is aborted.
    async fn write(self, begin: Instant) {
        // All log in before the storm begins, so that it begins at once.
        let mut conn = self.connect().await;
        tokio::time::sleep_until(begin.into()).await;
        loop {
            let rows = self.rows();
            if let Some(pacer) = &self.pacer {
                pacer.pass(rows).await;
            }
            let free = ROWS_A_WRITER - rows;
            let first = self.number * ROWS_A_WRITER + 1 + rand::rng().random_range(0..=free);
            match conn.query_drop(update(first, rows)).await {
                Ok(()) => self.tally.committed(rows),
                Err(error) => {
                    self.tally.failed(&error);
                    tokio::time::sleep(AFTER_AN_ERROR).await;
                    if !matches!(error, Error::Server(_)) {
                        conn = self.connect().await;
                    }
                }
            }
        }
    }

    async fn connect(&self) -> Conn {
        loop {
            match Conn::new(opts(self.address, ETL)).await {
                Ok(conn) => return conn,
                Err(error) => self.tally.failed(&error),
            }
            tokio::time::sleep(AFTER_AN_ERROR).await;
        }
    }

    fn rows(&self) -> u32 {
        match self.sizes {
            Sizes::Mixed if rand::rng().random_ratio(1, LARGE_ONE_IN) => LARGE_ROWS,
            Sizes::One | Sizes::Mixed => 1,
        }
    }
}

/// One more client, with one statement.
async fn large_update(proxy: SocketAddr, at: Instant, first: u32, rows: u32, tally: Arc<Tally>) {
    tokio::time::sleep_until(at.into()).await;
    let done = async { Conn::new(opts(proxy, ETL)).await?.query_drop(update(first, rows)).await };
    match done.await {
        Ok(()) => tally.committed(rows),
        Err(error) => tally.failed(&error),
    }
}

fn update(first: u32, rows: u32) -> String {
    let condition = match rows {
        1 => format!("id = {first}"),
        _ => format!("id BETWEEN {first} AND {}", first + rows - 1),
    };
    format!("UPDATE storm.counters SET n = n + 1 + storm.cost() WHERE {condition}")
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    #[test]
    fn a_pacer_follows_the_replica() {
        let begin = Instant::now();
        let after = |milliseconds| begin + Duration::from_millis(milliseconds);
        let pacer = Pacer::new(&plan(Scenario::Drop, Control::ByHand), begin, 100.0);
        assert_eq!(pacer.moment(begin, 1), begin);
        assert_eq!(pacer.moment(begin, 5), after(10));
        assert_eq!(pacer.moment(begin, 1), after(60));
        // Nothing is saved up in a pause; and at 40 s the replica is slow.
        assert_eq!(pacer.moment(after(40_000), 1), after(40_000));
        assert_eq!(pacer.moment(after(40_000), 1), after(40_025));
    }

    #[test]
    fn statements() {
        assert_eq!(update(7, 1), "UPDATE storm.counters SET n = n + 1 + storm.cost() WHERE id = 7");
        assert!(update(7, 50).ends_with("WHERE id BETWEEN 7 AND 56"));
    }
}
