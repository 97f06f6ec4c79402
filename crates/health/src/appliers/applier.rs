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

/// A stop that lasted longer than this says nothing more of its speed.
const LONGEST_MARK: f64 = 10.0;
/// No price is endless.
const SLOWEST: f64 = 1e-6;
/// Of what was seen before, how much counts a second later for the speed that is remembered.
const KEEPS: f64 = 0.8;

#[derive(Debug, Default)]
pub(super) struct Applier {
    /// What it had applied, and when that was first seen, while it was behind. Between two of them nothing was seen to happen:
    /// it shows what it has done only at a heartbeat, and there may be much work between two of these.
    marks: VecDeque<(Instant, Work)>,
    weighing: Weighing,
    /// Transactions and weighted rows a second.
    speed: Option<f64>,
    /// The same, over a longer time.
    usual: Usual,
    behind: bool,
    looked: Option<Instant>,
}

/// What it did while it was behind, and in how many seconds; what is long ago counts for less.
#[derive(Debug, Default)]
struct Usual {
    done: Work,
    seconds: f64,
}

impl Applier {
    pub(super) fn observe(&mut self, replica: &Replica, applied: Work, backlog: &Backlog<'_>) {
        if self.looked.is_some_and(|at| at >= replica.at) {
            return;
        }
        self.looked = Some(replica.at);
        let stays_behind = self.behind && replica.lag > backlog.interval.as_secs_f64();
        if !(stays_behind || falls_behind(replica.lag, backlog.interval)) {
            // How fast it could go cannot be seen; next time it goes as it usually did.
            self.behind = false;
            self.speed = self.usual_speed().or(self.speed);
            self.begin(replica.at, applied);
            return;
        }
        self.behind = true;
        if (backlog.work - applied).is_none() {
            // It is busy with what is not ours, and that takes none of our time.
            self.begin(replica.at, applied);
            return;
        }
        match self.marks.back().copied() {
            Some((_, before)) if before == applied => {}
            Some((since, before)) => {
                let seconds = replica.at.saturating_duration_since(since).as_secs_f64();
                self.usual.add(applied - before, seconds.min(LONGEST_MARK));
                self.marks.push_back((replica.at, applied));
            }
            None => self.marks.push_back((replica.at, applied)),
        }
        let window = Duration::from_secs_f64(WINDOW * backlog.threshold)
            .max(backlog.interval * LEAST_SAMPLES)
            .min(LONGEST.max(backlog.interval * LEAST_SAMPLES));
        while self.marks.get(1).is_some_and(|(at, _)| replica.at.saturating_duration_since(*at) >= window) {
            self.marks.pop_front();
        }
        self.measure(replica.at, applied, backlog);
    }

    /// From here on.
    fn begin(&mut self, at: Instant, applied: Work) {
        self.marks.clear();
        self.marks.push_back((at, applied));
    }

    fn measure(&mut self, at: Instant, applied: Work, backlog: &Backlog<'_>) {
        let Some((since, before)) = self.marks.front().copied() else { return };
        let seconds = at.saturating_duration_since(since).as_secs_f64();
        if seconds < 2.0 * backlog.interval.as_secs_f64() {
            return;
        }
        let done = applied - before;
        let row = self.weighing.row();
        if done.is_none() {
            // It may be at one long transaction, or at many between two beats. All that is known is that it would have done
            // everything by now if it were faster than this.
            let most = (backlog.work - applied).weighted(row) / seconds;
            self.speed = self.speed.map(|speed| speed.min(most.max(SLOWEST)));
            return;
        }
        self.weighing.look(done, seconds);
        self.speed = Some((done.weighted(self.weighing.row()) / seconds).max(SLOWEST));
    }

    pub(super) fn is_behind(&self) -> bool {
        self.behind
    }

    /// What its time costs, if it is behind.
    pub(super) fn price_behind(&self) -> Option<Price> {
        self.speed.filter(|_| self.behind).map(|speed| self.price(speed))
    }

    /// What it costs in the long run.
    pub(super) fn usual_price(&self) -> Option<Price> {
        self.usual_speed().map(|speed| self.price(speed))
    }

    fn usual_speed(&self) -> Option<f64> {
        let speed = self.usual.done.weighted(self.weighing.row()) / self.usual.seconds;
        (speed > SLOWEST && speed.is_finite()).then_some(speed)
    }

    fn price(&self, speed: f64) -> Price {
        Price { transaction: 1.0 / speed, row: self.weighing.row() / speed }
    }
}

/// One beat is always on its way; two are not.
pub(super) fn falls_behind(lag: f64, interval: Duration) -> bool {
    lag > 2.0 * interval.as_secs_f64()
}

impl Usual {
    fn add(&mut self, done: Work, seconds: f64) {
        let keeps = KEEPS.powf(seconds);
        self.done = self.done.times(keeps) + done;
        self.seconds = self.seconds * keeps + seconds;
    }
}
