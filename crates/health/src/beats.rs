//! The heartbeats that this proxy wrote: which number, when, and how much work had been committed by then.
//!
//! The number goes to the servers, the time stays here. So lag is measured by one clock, which nobody can set.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::work::Work;

/// Beats that are remembered: at the finest interval a few minutes, at the usual one almost an hour.
const MOST: usize = 12_000;

#[derive(Debug, Default)]
pub struct Beats {
    written: VecDeque<Beat>,
}

#[derive(Debug, Clone, Copy)]
struct Beat {
    number: u64,
    at: Instant,
    work: Work,
}

/// What a replica shows, in our terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// How long ago the first beat was written that it does not show; nothing, if it shows them all.
    pub lag: Duration,
    /// What had been committed when the one that it shows was written.
    pub applied: Work,
}

impl Beats {
    /// A beat has been committed. Numbers count up.
    pub fn wrote(&mut self, number: u64, at: Instant, work: Work) {
        if self.written.back().is_some_and(|last| last.number >= number) {
            return;
        }
        if self.written.len() >= MOST {
            self.written.pop_front();
        }
        self.written.push_back(Beat { number, at, work });
    }

    pub fn last(&self) -> Option<Instant> {
        self.written.back().map(|beat| beat.at)
    }

    /// The last one's time, if no more and no less had been committed by then.
    pub fn last_with(&self, work: Work) -> Option<Instant> {
        self.written.back().filter(|beat| beat.work == work).map(|beat| beat.at)
    }

    /// What it means that a replica shows this one now. `None`: it is none of ours.
    ///
    /// One from before those that are remembered is at least as old as the oldest of them.
    pub fn shown(&self, number: u64, now: Instant) -> Option<Shown> {
        let (first, last) = (self.written.front()?, self.written.back()?);
        // Written, and not yet confirmed to us: it is newer than all that we know of.
        if number > last.number.saturating_add(2) {
            return None;
        }
        let next = self.written.partition_point(|beat| beat.number <= number);
        let lag = self.written.get(next).map_or(Duration::ZERO, |missing| now.saturating_duration_since(missing.at));
        let shows = next.checked_sub(1).and_then(|at| self.written.get(at)).unwrap_or(first);
        Some(Shown { lag, applied: shows.work })
    }

    /// The servers have changed: what was written says nothing any more.
    pub fn forget(&mut self) {
        self.written.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(transactions: f64) -> Work {
        Work { transactions, rows: 0.0 }
    }

    #[test]
    fn lag_is_the_age_of_the_first_beat_that_is_missing() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut beats = Beats::default();
        assert_eq!(beats.shown(1, start), None);
        for (number, ms) in [(1, 0), (2, 250), (3, 500), (4, 750)] {
            beats.wrote(number, at(ms), work(f64::from(u32::try_from(ms).unwrap())));
        }
        for (number, lag, applied) in [(4, 0, 750.0), (3, 150, 500.0), (1, 650, 0.0), (5, 0, 750.0), (0, 900, 0.0)] {
            let shown = Shown { lag: Duration::from_millis(lag), applied: work(applied) };
            assert_eq!(beats.shown(number, at(900)), Some(shown), "{number}");
        }
        assert_eq!(beats.shown(99, at(900)), None, "nobody here wrote it");
    }

    #[test]
    fn the_time_before_a_beat_does_not_run_backwards() {
        let start = Instant::now();
        let mut beats = Beats::default();
        beats.wrote(7, start + Duration::from_secs(1), work(1.0));
        beats.wrote(7, start + Duration::from_secs(9), work(9.0));
        beats.wrote(6, start + Duration::from_secs(9), work(9.0));
        let shown = beats.shown(6, start).unwrap();
        assert_eq!((shown.lag, shown.applied), (Duration::ZERO, work(1.0)));
    }

    #[test]
    fn memory_is_bounded() {
        let start = Instant::now();
        let mut beats = Beats::default();
        for number in 0..30_000 {
            beats.wrote(number, start, work(0.0));
        }
        assert_eq!(beats.written.len(), MOST);
    }
}
