//! Whether there is traffic, and so how often the servers are asked.

use std::time::{Duration, Instant};

use admission::gates::InFlight;

#[derive(Debug)]
pub(super) struct Traffic {
    /// After how long without traffic they are asked how rarely. `None`: no server is asked at all, so there is none to spare.
    idle: Option<(Duration, Duration)>,
    asked: u64,
    last: Instant,
    awake_since: Option<Instant>,
    asleep: bool,
    /// How often somebody came after a pause.
    wakes: u64,
}

impl Traffic {
    pub(super) fn new(idle: Option<(Duration, Duration)>, in_flight: &InFlight, now: Instant) -> Traffic {
        Traffic { idle, asked: in_flight.total_asked(), last: now, awake_since: None, asleep: false, wakes: 0 }
    }

    pub(super) fn look(&mut self, in_flight: &InFlight, waiting: usize, now: Instant) {
        self.count(in_flight.total_asked(), waiting, now);
    }

    fn count(&mut self, asked: u64, waiting: usize, now: Instant) {
        if std::mem::replace(&mut self.asked, asked) != asked || waiting > 0 {
            self.somebody_waits(now);
        }
        let Some((idle_after, _)) = self.idle else { return };
        self.asleep = now.saturating_duration_since(self.last) >= idle_after;
    }

    /// Somebody asks; what was measured before counts no more if nobody did for long.
    pub(super) fn somebody_waits(&mut self, now: Instant) {
        self.last = now;
        if std::mem::take(&mut self.asleep) {
            self.awake_since = Some(now);
            self.wakes += 1;
        }
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.asleep
    }

    pub(super) fn wakes(&self) -> u64 {
        self.wakes
    }

    pub(super) fn awake_since(&self) -> Option<Instant> {
        self.awake_since
    }

    pub(super) fn interval(&self, fast: Duration) -> Duration {
        match self.idle {
            Some((_, rarely)) if self.asleep => rarely.max(fast),
            Some(_) | None => fast,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_asleep_without_traffic_and_wakes_with_the_first_query() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let (after, rarely, fast) = (Duration::from_secs(10), Duration::from_secs(5), Duration::from_millis(250));
        let mut traffic = Traffic::new(Some((after, rarely)), &InFlight::default(), start);
        traffic.count(1, 0, at(1));
        traffic.count(1, 0, at(10));
        assert_eq!((traffic.is_asleep(), traffic.interval(fast)), (false, fast));
        traffic.count(1, 0, at(11));
        assert_eq!((traffic.is_asleep(), traffic.interval(fast)), (true, rarely));
        traffic.count(2, 0, at(20));
        assert_eq!((traffic.is_asleep(), traffic.awake_since(), traffic.wakes()), (false, Some(at(20)), 1));
        traffic.count(2, 1, at(40));
        assert!(!traffic.is_asleep(), "somebody waits");
        assert_eq!((traffic.awake_since(), traffic.wakes()), (Some(at(20)), 1));
    }

    #[test]
    fn who_asks_no_server_does_not_sleep() {
        let start = Instant::now();
        let mut traffic = Traffic::new(None, &InFlight::default(), start);
        traffic.count(0, 0, start + Duration::from_secs(3600));
        assert!(!traffic.is_asleep());
    }
}
