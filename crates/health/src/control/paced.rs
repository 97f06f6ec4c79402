//! As fast as the replica applies that counts: the slowest, or by the gate's scope the best, or all in the mean.
//!
//! Lag is the age of what is being applied now; it says nothing of how much is behind it. But the work that was committed
//! through us is counted, and noted with its time and with each heartbeat, so when a replica shows a heartbeat, or the age of what
//! it applies, we know what it still has to do, and how fast that shrinks. What is released now will wait for all of it: that
//! wait is held at a part of the threshold.
//!
//! While a replica keeps up nobody knows what it could do. Then nothing is limited, unless the rate rises far over any that it has ever
//! shown to bear: there it may rise by a step a sample, so that the first overload is small. A rate at which it fell behind is remembered.

use std::time::{Duration, Instant};

use crate::appliers::{Appliers, Backlog, Late, Price};
use crate::settings::Over;
use crate::work::Work;

/// The part of the threshold at which the wait is held.
const TARGET: f64 = 0.4;
/// How much of an error in the wait is made good in one threshold's time.
const GAIN: f64 = 1.0;
/// Of what it applies, at the most.
const FASTEST: f64 = 3.0;
/// A rate that nobody has seen borne rises by this, for as long as the replicas keep up, and not before it would have shown if they
/// did not. After an overload it rises slower.
const RISES_BY: f64 = 2.0;
const SHOWS_AFTER: u32 = 3;
const RISES_ON_GUARD: f64 = 1.05;
/// And only while so much of it is used: who waits while nothing is committed waits for something else.
const USED: f64 = 0.25;
/// Transactions of a row each, a second, that any replica is taken to bear.
const SURELY_BORNE: f64 = 200.0;
/// More than any replica bears.
const MOST_BORNE: f64 = 1e6;
/// What comes within this is not yet too much, whatever its rate.
const SUDDEN: Duration = Duration::from_millis(50);
/// An overload is expected again for so long.
const ON_GUARD: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub struct Paced {
    appliers: Appliers,
    /// Transactions a second that the replicas are known to bear.
    borne: f64,
    /// A replica was last behind: when, what its time cost, and of that time how much is given out since.
    behind: Option<Behind>,
    /// The rate is held down to what is known to be borne, and since so many samples.
    rising: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Behind {
    last: Instant,
    price: Price,
    budget: f64,
}

impl Default for Paced {
    fn default() -> Self {
        Paced { appliers: Appliers::default(), borne: SURELY_BORNE, behind: None, rising: None }
    }
}

/// Work may be released at this rate: `budget` a second, of which a unit takes its price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    pub budget: f64,
    pub price: Price,
}

impl Pace {
    /// Of transactions with a row each.
    pub fn transactions_a_second(&self) -> f64 {
        self.budget / self.price.of(Work { transactions: 1.0, rows: 1.0 }).max(f64::MIN_POSITIVE)
    }
}

impl Paced {
    /// One that knows from before what the replicas bear.
    pub fn remembering(transactions_a_second: f64) -> Paced {
        Paced { borne: transactions_a_second.clamp(1.0, MOST_BORNE), ..Paced::default() }
    }

    /// What the replicas are known to bear, in transactions a second.
    pub fn borne(&self) -> f64 {
        self.borne
    }

    /// Nobody has fallen behind, and the rate is held down.
    pub fn is_rising(&self) -> bool {
        self.rising.is_some()
    }

    /// `None`: no limit.
    pub fn observe(&mut self, backlog: &Backlog<'_>) -> Option<Pace> {
        let late = self.appliers.observe(backlog);
        if let Some(late) = that_counts(&late, backlog) {
            self.fell_behind(late.usual, backlog.now);
            return Some(pace_of(late, backlog));
        }
        if self.appliers.is_any_behind() {
            // How fast it goes will be known in a moment; until then no faster than before.
            self.rising = Some(0);
            return Some(self.supposing(self.borne, backlog));
        }
        self.explore(backlog)
    }

    /// Nobody knows what they bear. If it were this, no more than fits before them.
    fn supposing(&self, borne: f64, backlog: &Backlog<'_>) -> Pace {
        let wait = self.appliers.before_it() / borne;
        Pace { budget: borne * share(wait, backlog.threshold).min(1.0), price: Price::UNKNOWN }
    }

    fn fell_behind(&mut self, price: Price, now: Instant) {
        self.behind = Some(Behind { last: now, price, budget: 1.0 });
        self.rising = None;
        self.borne = (1.0 / price.of(Work { transactions: 1.0, rows: 1.0 }).max(1e-6)).max(1.0);
    }

    /// Everyone keeps up.
    fn explore(&mut self, backlog: &Backlog<'_>) -> Option<Pace> {
        let (committed, keeps_up) = (self.appliers.committed(), self.appliers.keep_up());
        if let Some(behind) = &mut self.behind {
            if backlog.now.saturating_duration_since(behind.last) < ON_GUARD {
                let pace = Pace { budget: behind.budget, price: behind.price };
                let is_used = committed > USED * pace.transactions_a_second();
                if backlog.waiting > 0 && keeps_up && is_used {
                    behind.budget *= RISES_ON_GUARD;
                }
                return Some(Pace { budget: behind.budget, price: behind.price });
            }
            self.behind = None;
        }
        self.rising = match self.rising {
            None if committed > self.borne * RISES_BY || backlog.waiting as f64 > self.bearable(SUDDEN) => Some(0),
            None => None,
            Some(_) if backlog.waiting == 0 => None,
            Some(samples) if samples + 1 < SHOWS_AFTER || !keeps_up => Some(samples + 1),
            Some(_) => {
                self.borne = (self.borne * RISES_BY).min(MOST_BORNE);
                Some(0)
            }
        };
        if self.rising.is_some() {
            let supposed = if keeps_up { self.borne * RISES_BY } else { self.borne };
            return Some(self.supposing(supposed, backlog));
        }
        self.borne = self.borne.max(committed);
        None
    }

    /// Between two samples, where there was no limit: whether there must be one already. A crowd that comes at once may
    /// overrun a replica before anybody has asked it, so what has begun since counts as if it were committed.
    pub fn glance(&mut self, work: Work, in_flight: f64, now: Instant) -> Option<Pace> {
        if self.rising.is_some() || self.behind.is_some() {
            return None;
        }
        let (committed, passed) = self.appliers.since(work, now)?;
        let coming = Price::UNKNOWN.of(work.mean()) * self.appliers.begun(in_flight);
        if committed + coming <= self.bearable(passed) {
            return None;
        }
        self.rising = Some(0);
        Some(Pace { budget: self.borne * RISES_BY, price: Price::UNKNOWN })
    }

    /// How many more may begin before somebody glances again. `None`: as many as come.
    pub fn allows(&self, work: Work) -> Option<f64> {
        let open = self.appliers.have_looked() && self.rising.is_none() && self.behind.is_none();
        open.then(|| self.bearable(SUDDEN) / Price::UNKNOWN.of(work.mean()))
    }

    /// What may come within this time, where nobody has seen more of it borne.
    fn bearable(&self, passed: Duration) -> f64 {
        self.borne * RISES_BY * passed.max(SUDDEN).as_secs_f64()
    }
}

/// The one that decides the pace.
fn that_counts(late: &[Late], backlog: &Backlog<'_>) -> Option<Late> {
    let rate = |late: &Late| pace_of(*late, backlog).transactions_a_second();
    let by_rate = |one: &Late, two: &Late| rate(one).total_cmp(&rate(two));
    match backlog.over {
        Over::Max => late.iter().copied().min_by(by_rate),
        Over::Min => late.iter().copied().max_by(by_rate),
        Over::Avg => mean(late, backlog.replicas.len()),
    }
}

/// Who keeps up is waited for by nobody, so of all of them the wait is less. Its time costs what those take that are behind: only they
/// say by how much the wait grows with what is released.
fn mean(late: &[Late], of: usize) -> Option<Late> {
    let each = |field: fn(&Late) -> f64| Over::Avg.of(late.iter().map(field));
    Some(Late {
        price: Price { transaction: each(|late| late.price.transaction)?, row: each(|late| late.price.row)? },
        usual: Price { transaction: each(|late| late.usual.transaction)?, row: each(|late| late.usual.row)? },
        wait: late.iter().map(|late| late.wait).sum::<f64>() / of.max(late.len()) as f64,
    })
}

fn pace_of(late: Late, backlog: &Backlog<'_>) -> Pace {
    Pace { budget: share(late.wait, backlog.threshold), price: late.price }
}

/// How much of a replica's time is given out, so that this wait becomes the one that is wanted.
fn share(wait: f64, threshold: f64) -> f64 {
    let error = (TARGET * threshold - wait) / threshold;
    (1.0 + GAIN * error).clamp(0.0, FASTEST)
}

#[cfg(test)]
mod tests;
