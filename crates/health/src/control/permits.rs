//! So many at once: for metrics that concurrency causes.
//!
//! The pool is a real number. Under half the threshold it grows a little each sample, while it is used; above, it shrinks. Under
//! one it means one at a time, with pauses. It comes into being when the metric first passes half its threshold, from what is in
//! flight then, and is forgotten after a calm minute.

use std::time::{Duration, Instant};

const GROWS_BY: f64 = 0.05;
/// But by this, if that is more; and a small pool by no more than a part of itself, or each step would be a leap.
const GROWS_AT_LEAST: f64 = 0.25;
const SMALL_GROWS_BY: f64 = 0.3;
const SHRINKS_TO: f64 = 0.9;
const HALVES_TO: f64 = 0.5;
pub const LEAST: f64 = 0.1;
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub struct Permits {
    pool: Option<f64>,
    /// It has just shrunk: what that did is not seen before the next sample.
    shrunk: bool,
    /// The value at the sample before.
    before: Option<f64>,
    calm_since: Option<Instant>,
}

/// What a law of this kind looks at.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    pub value: f64,
    pub threshold: f64,
    pub in_flight: f64,
    pub waiting: usize,
    pub now: Instant,
}

impl Permits {
    /// How many at once. `None`: no limit.
    pub fn observe(&mut self, crowd: Crowd) -> Option<f64> {
        let Crowd { value, threshold, in_flight, waiting, now } = crowd;
        let half = threshold / 2.0;
        let falling = self.before.replace(value).is_some_and(|before| value < before);
        let Some(pool) = self.pool else {
            if value > half {
                self.pool = Some(in_flight.max(1.0));
                self.shrunk = false;
            }
            return self.pool;
        };
        let next = if value <= half {
            self.shrunk = false;
            let used = in_flight >= pool / 2.0 || waiting > 0;
            if used { pool + (pool * GROWS_BY).max(GROWS_AT_LEAST.min(pool * SMALL_GROWS_BY)) } else { pool }
        } else if self.shrunk || falling {
            // It works already; more of it would only be felt later.
            self.shrunk = false;
            pool
        } else {
            self.shrunk = true;
            pool * if value > threshold { HALVES_TO } else { SHRINKS_TO }
        };
        self.pool = Some(next.max(LEAST));
        self.forget_if_calm(value <= half && waiting == 0, now);
        self.pool
    }

    fn forget_if_calm(&mut self, calm: bool, now: Instant) {
        if !calm {
            self.calm_since = None;
            return;
        }
        let since = *self.calm_since.get_or_insert(now);
        if now.saturating_duration_since(since) >= FORGOTTEN_AFTER {
            *self = Permits::default();
        }
    }
}
