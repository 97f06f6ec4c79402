//! By how much two servers' clocks differ, seen from here.
//!
//! Each is asked for its time; it was read half-way between the question and the answer, give or take half the round trip.
//! Our own end of the comparison is monotonic, so nobody can set it.

use std::time::{Duration, Instant};

/// A quick answer is better than a newer one, but not for ever: clocks drift, and are set.
const WORTH: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    best: Option<Look>,
}

#[derive(Debug, Clone, Copy)]
struct Look {
    /// The server's seconds since 1970, less ours since `epoch`.
    offset: f64,
    round_trip: Duration,
    at: Instant,
}

impl Clock {
    pub(crate) fn looked(&mut self, epoch: Instant, sent: Instant, received: Instant, server: f64) {
        let round_trip = received.saturating_duration_since(sent);
        let middle = sent.saturating_duration_since(epoch) + round_trip / 2;
        let look = Look { offset: server - middle.as_secs_f64(), round_trip, at: received };
        let better = self
            .best
            .is_none_or(|best| round_trip <= best.round_trip || received.saturating_duration_since(best.at) > WORTH);
        if better {
            self.best = Some(look);
        }
    }

    pub(crate) fn offset(&self) -> Option<f64> {
        self.best.map(|look| look.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_of_late_counts() {
        let epoch = Instant::now();
        let at = |ms: u64| epoch + Duration::from_millis(ms);
        let mut clock = Clock::default();
        assert_eq!(clock.offset(), None);
        let mut look = |sent, received, server: f64| {
            clock.looked(epoch, at(sent), at(received), server);
            clock.offset().map(|offset| (offset * 1000.0).round() / 1000.0)
        };
        assert_eq!(look(1000, 1010, 501.005), Some(500.0));
        assert_eq!(look(2000, 2400, 509.0), Some(500.0), "a slow answer says little");
        assert_eq!(look(3000, 3002, 503.101), Some(500.1));
        assert_eq!(look(14_000, 14_500, 564.25), Some(550.0), "it has been set since");
    }
}
