//! The parts of the show: the job with the gate in `mode: warn`, and the same job with it in `mode: enforce`. Between
//! the two the job rests and the replica catches up, so that both begin alike.

use std::time::{Duration, Instant};

use crate::proxy_process::Mode;

/// Without an end the two take turns.
const WARNED: Duration = Duration::from_secs(7);
const ENFORCED: Duration = Duration::from_secs(30);
/// Of the time that there is.
const WARNED_SHARE: f64 = 0.4;
const CATCHES_UP_SHARE: f64 = 0.2;
const CATCHES_UP: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Nobody is held back. Then it catches up.
    Warned,
    /// Then comes what is said.
    CatchingUp(Mode),
    /// Then it catches up, unless the show ends.
    Enforced,
}

impl Part {
    /// For the chart.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Warned => "gate: warn",
            Part::CatchingUp(_) => "job rests",
            Part::Enforced => "gate: enforce",
        }
    }

    pub(crate) fn mode(self) -> Mode {
        match self {
            Part::Warned => Mode::Warn,
            Part::Enforced => Mode::Enforce,
            Part::CatchingUp(next) => next,
        }
    }

    pub(crate) fn job_works(self) -> bool {
        match self {
            Part::Warned | Part::Enforced => true,
            Part::CatchingUp(_) => false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Parts {
    part: Part,
    since: Instant,
    warned: Duration,
    /// `None`: to the end.
    enforced: Option<Duration>,
    catches_up: Duration,
}

impl Parts {
    pub(crate) fn new(limit: Option<Duration>, now: Instant) -> Parts {
        let (warned, enforced, catches_up) = match limit {
            Some(limit) => (limit.mul_f64(WARNED_SHARE), None, limit.mul_f64(CATCHES_UP_SHARE)),
            None => (WARNED, Some(ENFORCED), CATCHES_UP),
        };
        Parts { part: Part::Warned, since: now, warned, enforced, catches_up }
    }

    pub(crate) fn part(&self) -> Part {
        self.part
    }

    /// The part that begins now, if one does. `ready`: proxy.yaml is in force.
    pub(crate) fn turn(&mut self, now: Instant, caught_up: bool, ready: bool) -> Option<Part> {
        let lasted = now.saturating_duration_since(self.since);
        let next = match self.part {
            Part::Warned => (lasted >= self.warned).then_some(Part::CatchingUp(Mode::Enforce)),
            Part::Enforced => {
                self.enforced.is_some_and(|enforced| lasted >= enforced).then_some(Part::CatchingUp(Mode::Warn))
            }
            Part::CatchingUp(next) => {
                let over = ready && (caught_up || lasted >= self.catches_up);
                over.then_some(match next {
                    Mode::Warn => Part::Warned,
                    Mode::Enforce => Part::Enforced,
                })
            }
        }?;
        (self.part, self.since) = (next, now);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATCHING_UP: Part = Part::CatchingUp(Mode::Enforce);

    #[test]
    fn both_parts_are_within_the_time_that_there_is() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut parts = Parts::new(Some(Duration::from_secs(10)), begin);
        for (ms, caught_up, ready, turns_to) in [
            (3900, true, true, None),
            (4000, true, true, Some(CATCHING_UP)),
            (4500, false, true, None),
            (4500, true, false, None),
            (4900, true, true, Some(Part::Enforced)),
            (9_999_999, true, true, None),
        ] {
            assert_eq!(parts.turn(at(ms), caught_up, ready), turns_to, "{ms}");
        }
    }

    #[test]
    fn a_replica_that_does_not_catch_up_does_not_stop_the_show_and_a_file_that_is_not_in_force_does() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut parts = Parts::new(Some(Duration::from_secs(10)), begin);
        parts.turn(at(4000), false, true);
        assert_eq!(parts.turn(at(7000), false, false), None);
        assert_eq!(parts.turn(at(7000), false, true), Some(Part::Enforced));
    }

    #[test]
    fn without_an_end_they_take_turns() {
        let mut now = Instant::now();
        let mut parts = Parts::new(None, now);
        let mut seen = Vec::new();
        for _ in 0..100 {
            now += Duration::from_secs(1);
            seen.extend(parts.turn(now, true, true));
        }
        let round = [CATCHING_UP, Part::Enforced, Part::CatchingUp(Mode::Warn), Part::Warned];
        assert_eq!(seen[..4], round);
        assert_eq!(seen[4..8], round);
    }
}
