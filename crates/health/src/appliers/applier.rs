//! One replica: how fast it applies, as far as that can be seen.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Backlog;
use super::price::{Price, Weighing};
use crate::board::Replica;
use crate::work::Work;

/// The speed is taken over this part of the threshold, but at least over so many samples and at most so long.
const WINDOW: f64 = 0.5;
const LEAST_SAMPLES: u32 = 4;
const LONGEST: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct Applier {
    /// What it had applied, at each look while it was behind.
    marks: VecDeque<(Instant, Work)>,
    weighing: Weighing,
    /// Transactions and weighted rows a second.
    speed: Option<f64>,
    behind: bool,
}

impl Applier {
    pub(super) fn observe(&mut self, replica: &Replica, applied: Work, backlog: &Backlog<'_>) {
        if self.marks.back().is_some_and(|(at, _)| *at >= replica.at) {
            return;
        }
        let interval = backlog.interval.as_secs_f64();
        // One beat is always on its way; two are not.
        let is_behind = replica.lag > if self.behind { interval } else { 2.0 * interval };
        if !is_behind {
            // How fast it could go cannot be seen.
            self.behind = false;
            self.marks.clear();
            self.marks.push_back((replica.at, applied));
            return;
        }
        self.behind = true;
        self.marks.push_back((replica.at, applied));
        let window = Duration::from_secs_f64(WINDOW * backlog.threshold)
            .max(backlog.interval * LEAST_SAMPLES)
            .min(LONGEST.max(backlog.interval * LEAST_SAMPLES));
        while self.marks.get(1).is_some_and(|(at, _)| replica.at.saturating_duration_since(*at) >= window) {
            self.marks.pop_front();
        }
        self.measure(replica.at, applied, backlog);
    }

    fn measure(&mut self, at: Instant, applied: Work, backlog: &Backlog<'_>) {
        let Some((since, before)) = self.marks.front().copied() else { return };
        let seconds = at.saturating_duration_since(since).as_secs_f64();
        if seconds < 2.0 * backlog.interval.as_secs_f64() {
            return;
        }
        let done = applied - before;
        self.weighing.look(done, seconds);
        let row = self.weighing.row();
        // Nothing at all may be one long transaction: it is slow, not dead.
        let least = 1.0 / (4.0 * seconds);
        self.speed = Some(((done.transactions + row * done.rows) / seconds).max(least));
    }

    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// What its time costs, if it is behind.
    pub(super) fn price_behind(&self) -> Option<Price> {
        let speed = self.speed.filter(|_| self.behind)?;
        Some(Price { transaction: 1.0 / speed, row: self.weighing.row() / speed })
    }
}
