//! Whoever had to wait comes by the step: what is in flight grows by a part of itself, as long as anybody waits.

use std::time::{Duration, Instant};

/// Of what was in flight, and at least one.
pub(crate) const GROWS_BY: f64 = 0.5;
/// A step is a sample, and no more than this where samples are rare.
const LONGEST_STEP: Duration = Duration::from_millis(250);

/// How many at once, and since when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ramp {
    at_once: f64,
    since: Instant,
}

impl Ramp {
    /// The first step, from what is in flight.
    pub fn from(in_flight: f64, now: Instant) -> Ramp {
        Ramp { at_once: in_flight + (in_flight * GROWS_BY).max(1.0), since: now }
    }

    pub fn next(self, now: Instant) -> Ramp {
        Ramp::from(self.at_once, now)
    }

    pub fn at_once(self) -> f64 {
        self.at_once
    }

    /// However rare samples are, the next step may begin.
    pub fn is_over(self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= LONGEST_STEP
    }
}
