//! The pace as a number at once: for a lag whose gate has `control: permits`.
//!
//! A pool that only grows and shrinks by what the lag shows cannot hold a lag: what a step did shows seconds later, and where the
//! primary is fast one at a time may be many times too much. But the pace is known, and what a second of running brings about is
//! seen: how much a replica must do for what was committed while so many statements ran for so long. As many at once as
//! bring about what the replica can do then are right, and under one it is one at a time, with pauses.

use crate::appliers::Backlog;
use crate::control::paced::{Pace, Paced};
use crate::work::Work;

/// Fewer is as good as none; then the trickle is for it.
const LEAST: f64 = 1e-4;
/// Of what was seen before, how much counts after one more look.
const KEEPS: f64 = 0.9;
/// What a second of running brings about is not believed to fall faster than this from one look to the next: statements that
/// ran for long and came to nothing would make the pool as large as can be.
const FALLS_TO: f64 = 1.0 / 1.5;

#[derive(Debug, Default)]
pub struct PacedAtOnce {
    pub paced: Paced,
    /// All that had been committed, and the seconds that statements had run for it, at the look before.
    before: Option<(Work, f64)>,
    /// The same since then; what is long ago counts for less.
    work: Option<Work>,
    ran: f64,
    /// What a second of running brought about, at the look before.
    a_second: Option<f64>,
}

/// What may pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    Pace(Pace),
    AtOnce(f64),
}

impl PacedAtOnce {
    pub fn remembering(transactions_a_second: f64) -> PacedAtOnce {
        PacedAtOnce { paced: Paced::remembering(transactions_a_second), ..PacedAtOnce::default() }
    }

    /// `ran`: the seconds that statements have run so far, all added up. `None`: no limit.
    pub fn observe(&mut self, backlog: &Backlog<'_>, ran: f64) -> Option<Limit> {
        self.look(backlog.work, ran);
        let before = self.a_second.take();
        let pace = self.paced.observe(backlog)?;
        if self.paced.is_rising() {
            // Nobody has fallen behind yet: a rate is all there is to go by.
            return Some(Limit::Pace(pace));
        }
        let Some(seen) = self.brought_about(pace) else { return Some(Limit::Pace(pace)) };
        let a_second = before.map_or(seen, |before| seen.max(before * FALLS_TO));
        self.a_second = Some(a_second);
        Some(Limit::AtOnce((pace.budget / a_second).max(LEAST)))
    }

    fn look(&mut self, work: Work, ran: f64) {
        let Some((work_before, ran_before)) = self.before.replace((work, ran)) else { return };
        // Most often nobody is asked how long it ran: where nothing is limited, that is nobody's business.
        if ran > ran_before {
            self.work = Some(self.work.map_or(Work::NONE, |work| work.times(KEEPS)) + (work - work_before));
            self.ran = self.ran * KEEPS + (ran - ran_before);
        }
    }

    /// Of the replica's time, in one second of running, by what it costs now.
    fn brought_about(&self, pace: Pace) -> Option<f64> {
        let a_second = pace.price.of(self.work?) / self.ran;
        (a_second.is_finite() && a_second > 0.0).then_some(a_second)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::board::Replica;
    use crate::settings::Over;

    /// A replica that applies 400 transactions a second and is half a second behind, before a primary on which one that
    /// runs alone takes `alone` seconds.
    fn pool(alone: f64) -> Vec<Option<Limit>> {
        let start = Instant::now();
        let mut law = PacedAtOnce::default();
        let each = |transactions: f64| Work { transactions, rows: 0.0 };
        let limits = (0..40).map(|n| {
            let seconds = f64::from(n) / 10.0;
            let now = start + Duration::from_secs_f64(seconds);
            let (applied, committed) = (400.0 * seconds, 400.0 * (seconds + 0.5));
            let replica = Replica { server: "r".into(), lag: 0.5, at: now, applied: Some(each(applied)) };
            let backlog = Backlog {
                replicas: &[replica],
                over: Over::Max,
                work: each(committed),
                waiting: 9,
                in_flight: 1.0,
                threshold: 1.0,
                interval: Duration::from_millis(100),
                now,
            };
            law.observe(&backlog, committed * alone)
        });
        limits.collect()
    }

    #[test]
    fn as_many_at_once_as_bring_about_what_the_replica_can_do() {
        for alone in [0.0001, 0.002, 0.02] {
            let limits = pool(alone);
            assert!(matches!(limits[0], Some(Limit::Pace(_))), "nobody knows yet: {:?}", limits[0]);
            let Some(Some(Limit::AtOnce(at_once))) = limits.last() else { panic!("{:?}", limits.last()) };
            // What is committed waits for half a threshold, a tenth more than it should: so a tenth less goes.
            let expected = 0.9 * 400.0 * alone;
            assert!((at_once / expected - 1.0).abs() < 0.05, "{at_once} for {expected}");
        }
    }

    /// A hundred wait for a lock until they give up: a long time that came to nothing.
    #[test]
    fn what_ran_for_nothing_does_not_open_it() {
        let start = Instant::now();
        let mut law = PacedAtOnce::default();
        let mut before = None;
        for n in 0..40 {
            let seconds = f64::from(n) / 10.0;
            let now = start + Duration::from_secs_f64(seconds);
            let each = |transactions: f64| Work { transactions, rows: 0.0 };
            let replica = Replica { server: "r".into(), lag: 0.5, at: now, applied: Some(each(400.0 * seconds)) };
            let ran = 400.0 * seconds * 0.01 + if n >= 30 { 5000.0 } else { 0.0 };
            let backlog = Backlog {
                replicas: &[replica],
                over: Over::Max,
                work: each(400.0 * (seconds + 0.5)),
                waiting: 9,
                in_flight: 1.0,
                threshold: 1.0,
                interval: Duration::from_millis(100),
                now,
            };
            let limit = law.observe(&backlog, ran);
            if let (Some(Limit::AtOnce(before)), Some(Limit::AtOnce(pool))) = (before, limit) {
                assert!(pool <= 1.51 * before, "{before} → {pool}");
            }
            before = limit;
        }
    }

    #[test]
    fn where_nobody_tells_how_long_they_ran_it_is_a_rate() {
        assert!(pool(0.0).iter().all(|limit| matches!(limit, Some(Limit::Pace(_)))));
    }
}
