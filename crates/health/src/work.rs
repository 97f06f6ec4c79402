//! What a replica will have to do for what was committed: transactions, and the rows in them.

use std::collections::VecDeque;
use std::ops::{Add, Sub};
use std::time::{Duration, Instant};

/// Counts up for as long as the proxy runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    pub transactions: f64,
    pub rows: f64,
}

impl Work {
    pub const NONE: Work = Work { transactions: 0.0, rows: 0.0 };

    /// In transactions, of which a row is this much.
    pub fn weighted(self, row: f64) -> f64 {
        self.transactions + row * self.rows
    }

    /// Of one transaction; one row, as long as there was none.
    pub fn mean(self) -> Work {
        let rows = if self.transactions > 0.0 { self.rows / self.transactions } else { 1.0 };
        Work { transactions: 1.0, rows }
    }

    pub fn times(self, factor: f64) -> Work {
        Work { transactions: self.transactions * factor, rows: self.rows * factor }
    }

    pub fn is_none(self) -> bool {
        self.transactions <= 0.0 && self.rows <= 0.0
    }
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work { transactions: self.transactions + other.transactions, rows: self.rows + other.rows }
    }
}

/// Never less than nothing.
impl Sub for Work {
    type Output = Work;

    fn sub(self, other: Work) -> Work {
        Work {
            transactions: (self.transactions - other.transactions).max(0.0),
            rows: (self.rows - other.rows).max(0.0),
        }
    }
}

/// How much had been committed when: what a replica still has to do follows from its lag, where no heartbeat tells.
#[derive(Debug, Default)]
pub struct WorkLog {
    noted: VecDeque<(Instant, Work)>,
}

impl WorkLog {
    /// Two notes are at least so far apart, and so many are kept: half an hour.
    const APART: Duration = Duration::from_millis(25);
    const MOST: usize = 72_000;

    pub fn note(&mut self, now: Instant, work: Work) {
        if self.noted.back().is_some_and(|(last, _)| now.saturating_duration_since(*last) < WorkLog::APART) {
            return;
        }
        if self.noted.len() >= WorkLog::MOST {
            self.noted.pop_front();
        }
        self.noted.push_back((now, work));
    }

    /// What had been committed then, as far back as is known.
    pub fn at(&self, then: Instant) -> Option<Work> {
        let next = self.noted.partition_point(|(at, _)| *at <= then);
        self.noted.get(next.saturating_sub(1)).map(|(_, work)| *work)
    }

    pub fn forget(&mut self) {
        self.noted.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_knows_what_had_been_committed_when() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut log = WorkLog::default();
        assert_eq!(log.at(start), None);
        for (ms, transactions) in [(0, 1.0), (10, 2.0), (30, 3.0), (100, 4.0)] {
            log.note(at(ms), Work { transactions, rows: 0.0 });
        }
        for (ms, transactions) in [(0, 1.0), (29, 1.0), (30, 3.0), (99, 3.0), (5000, 4.0)] {
            assert_eq!(log.at(at(ms)).map(|work| work.transactions), Some(transactions), "{ms}");
        }
        for ms in 0..3_000_000 {
            log.note(at(ms), Work::NONE);
        }
        assert_eq!(log.noted.len(), WorkLog::MOST);
    }
}
