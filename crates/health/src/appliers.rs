//! The replicas at work: what each still has to do of what was committed through us, and how long that will take it.

mod applier;
mod price;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::board::Replica;
use crate::metric::ServerName;
use crate::settings::Over;
use crate::work::Work;

use applier::Applier;
pub use price::Price;

/// What can be seen at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Backlog<'a> {
    pub replicas: &'a [Replica],
    /// Which of them counts.
    pub over: Over,
    /// All that has been committed through us.
    pub work: Work,
    pub waiting: usize,
    /// Statements that run.
    pub in_flight: f64,
    /// Seconds.
    pub threshold: f64,
    /// Between two samples.
    pub interval: Duration,
    pub now: Instant,
}

/// A replica that is far away never shows the last beat in time. If nothing piles up for so many samples, it keeps up all the same.
const FAR_AWAY: u32 = 12;

/// Who keeps up has no more before it than came in so many samples: a beat is up to one old, and so is the look at it.
const KEEPS_UP_WITHIN: f64 = 2.5;

#[derive(Debug, Default)]
pub struct Appliers {
    replicas: BTreeMap<ServerName, Applier>,
    /// At the sample before.
    before: Option<(Instant, Work)>,
    /// What came since the sample before, a second, where nothing is known of a replica's time.
    committed: f64,
    /// What the one that counts still has to do, in the same terms.
    before_it: f64,
    /// Samples in which nothing piled up.
    level: u32,
    keeps_up: bool,
    behind: bool,
    in_flight: f64,
}

/// A replica that is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// What its time costs.
    pub price: Price,
    /// In the long run.
    pub usual: Price,
    /// Seconds until what is committed now will be there.
    pub wait: f64,
}

impl Appliers {
    /// Those that are behind, as far as that counts and their speed is known.
    pub fn observe(&mut self, backlog: &Backlog<'_>) -> Vec<Late> {
        self.count(backlog);
        self.replicas.retain(|server, _| backlog.replicas.iter().any(|replica| replica.server == *server));
        let mut late = Vec::new();
        for replica in backlog.replicas {
            let Some(applied) = replica.applied else { continue };
            let applier = self.replicas.entry(replica.server.clone()).or_default();
            applier.observe(replica, applied, backlog);
            if let Some(price) = applier.price_behind() {
                let usual = applier.usual_price().unwrap_or(price);
                late.push(Late { price, usual, wait: price.of(backlog.work - applied) });
            }
        }
        self.behind = self.replicas.values().any(Applier::is_behind);
        match backlog.over {
            Over::Max | Over::Avg => late,
            Over::Min => self.if_all_are(late, backlog),
        }
    }

    /// As long as one keeps up the best is not behind, and it may be one whose speed is not known yet.
    fn if_all_are(&mut self, late: Vec<Late>, backlog: &Backlog<'_>) -> Vec<Late> {
        let is_behind = |replica: &Replica| match self.replicas.get(&replica.server) {
            Some(applier) => applier.is_behind(),
            // Nobody knows what it has applied, only how late it is.
            None => applier::falls_behind(replica.lag, backlog.interval),
        };
        self.behind &= backlog.replicas.iter().all(is_behind);
        let best = backlog.replicas.iter().min_by(|one, two| one.lag.total_cmp(&two.lag));
        let is_known = best.and_then(|best| self.replicas.get(&best.server)?.price_behind()).is_some();
        if self.behind && is_known { late } else { Vec::new() }
    }

    /// What was committed since the sample before, a second: transactions of a row each.
    pub fn committed(&self) -> f64 {
        self.committed
    }

    /// What is still to be done by the one that counts, be it the furthest behind, the best or all in the mean: transactions of a row
    /// each.
    pub fn before_it(&self) -> f64 {
        self.before_it
    }

    /// Whether there is no more before it than is on its way anyhow. Lag shows that later, when a whole heartbeat is missing.
    pub fn keep_up(&self) -> bool {
        self.keeps_up
    }

    /// What has been committed since the sample before this moment.
    pub fn since(&self, work: Work, now: Instant) -> Option<(f64, Duration)> {
        let (at, before) = self.before?;
        Some((Price::UNKNOWN.of(work - before), now.saturating_duration_since(at)))
    }

    /// Of so many that run now, how many have begun since the sample before.
    pub fn begun(&self, in_flight: f64) -> f64 {
        (in_flight - self.in_flight).max(0.0)
    }

    fn count(&mut self, backlog: &Backlog<'_>) {
        let since = self.since(backlog.work, backlog.now).filter(|(_, passed)| !passed.is_zero());
        self.committed = since.map_or(0.0, |(committed, passed)| committed / passed.as_secs_f64());
        self.before = Some((backlog.now, backlog.work));
        let on_its_way = self.committed * KEEPS_UP_WITHIN * backlog.interval.as_secs_f64() + 4.0;
        let applied = backlog.replicas.iter().filter_map(|replica| replica.applied);
        let before_each: Vec<f64> = applied.map(|applied| Price::UNKNOWN.of(backlog.work - applied)).collect();
        self.before_it = backlog.over.of(before_each.into_iter()).unwrap_or(0.0);
        // One beat is always on its way.
        let lag = backlog.over.of(backlog.replicas.iter().map(|replica| replica.lag));
        let shows = lag.is_none_or(|lag| lag <= backlog.interval.as_secs_f64());
        self.level = if self.before_it <= on_its_way { self.level.saturating_add(1) } else { 0 };
        self.keeps_up = self.level > if shows { 0 } else { FAR_AWAY };
        self.in_flight = backlog.in_flight;
    }

    /// Whether anybody has been looked at.
    pub fn have_looked(&self) -> bool {
        self.before.is_some()
    }

    /// Whether anybody is behind, as far as that counts.
    pub fn is_any_behind(&self) -> bool {
        self.behind
    }
}
