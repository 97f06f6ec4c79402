//! What a metric was in the last hours, for those who look back. Bounded, whatever the interval of its samples.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::gate::State;

/// A point covers so long, and so many are kept: six hours.
const EVERY: Duration = Duration::from_secs(5);
const MOST: usize = 6 * 3600 / 5;

#[derive(Debug, Default)]
pub struct History {
    points: VecDeque<Point>,
}

/// Five seconds of a gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub since: Instant,
    /// `None` where nothing was known.
    pub values: Option<Values>,
    /// As it was last.
    pub state: State,
    pub waiting: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Values {
    pub low: f64,
    pub high: f64,
    pub last: f64,
}

impl History {
    pub fn add(&mut self, now: Instant, value: Option<f64>, state: State, waiting: usize) {
        let values = value.map(|value| Values { low: value, high: value, last: value });
        match self.points.back_mut() {
            Some(point) if now.saturating_duration_since(point.since) < EVERY => {
                point.values = match (point.values, values) {
                    (Some(known), Some(new)) => {
                        Some(Values { low: known.low.min(new.low), high: known.high.max(new.high), last: new.last })
                    }
                    (known, new) => new.or(known),
                };
                (point.state, point.waiting) = (state, waiting);
            }
            _ => {
                if self.points.len() >= MOST {
                    self.points.pop_front();
                }
                self.points.push_back(Point { since: now, values, state, waiting });
            }
        }
    }

    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_keep_the_extremes_and_the_memory_is_bounded() {
        let start = Instant::now();
        let mut history = History::default();
        for (ms, value) in [(0, Some(2.0)), (1000, Some(7.0)), (2000, Some(1.0)), (3000, None), (6000, None)] {
            history.add(start + Duration::from_millis(ms), value, State::Open, 0);
        }
        let values: Vec<_> = history.points().map(|point| point.values).collect();
        assert_eq!(values, [Some(Values { low: 1.0, high: 7.0, last: 1.0 }), None]);
        for second in 0..100_000 {
            history.add(start + Duration::from_secs(second), Some(1.0), State::Open, 0);
        }
        assert_eq!(history.points().count(), MOST);
    }
}
