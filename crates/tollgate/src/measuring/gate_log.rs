//! What is logged of gates: each change once, and one that goes to and fro once for as long as it does.
//!
//! What is worse than what was said last is said at once. What is better is said when it has lasted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admission::gates::Turned;
use health::{Aggregate, State};
use tracing::{error, info, warn};

/// A gate that was no worse for so long has calmed down.
const CALM: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct GateLog {
    /// Gates of which something other than that they are open was said last.
    said: HashMap<Arc<str>, Said>,
}

#[derive(Debug)]
struct Said {
    state: State,
    /// What it turned to since, if that is better, and since when it is better.
    better: Option<(Instant, Turned)>,
}

/// What is to be logged.
#[derive(Debug)]
pub(super) struct Line(Turned);

impl GateLog {
    /// `is_there`: whether a gate is still at work.
    pub(super) fn look(
        &mut self,
        turned: impl Iterator<Item = Turned>,
        now: Instant,
        is_there: impl Fn(&str) -> bool,
    ) -> Vec<Line> {
        let mut lines: Vec<Line> = turned.filter_map(|turned| self.turned(turned, now)).collect();
        if self.said.is_empty() {
            return lines;
        }
        self.said.retain(|gate, said| {
            let Some((_, turned)) = said.better.take_if(|(since, _)| now.saturating_duration_since(*since) >= CALM)
            else {
                return is_there(gate);
            };
            said.state = turned.state;
            lines.push(Line(turned));
            said.state != State::Open
        });
        lines
    }

    fn turned(&mut self, turned: Turned, now: Instant) -> Option<Line> {
        // Nobody has measured since the traffic came back: that says nothing.
        let severity = severity(turned.state)?;
        let known = self.said.get_mut(&turned.gate);
        let before = known.as_ref().and_then(|said| self::severity(said.state)).unwrap_or(0);
        match known {
            Some(said) if severity < before => {
                let since = said.better.as_ref().map_or(now, |(since, _)| *since);
                said.better = Some((since, turned));
                None
            }
            Some(said) if severity == before => {
                said.better = None;
                None
            }
            None if severity == 0 => None,
            Some(_) | None => {
                self.said.insert(turned.gate.clone(), Said { state: turned.state, better: None });
                Some(Line(turned))
            }
        }
    }
}

fn severity(state: State) -> Option<u8> {
    match state {
        State::Waking => None,
        State::Open => Some(0),
        State::Limiting => Some(1),
        State::Stale(_) => Some(2),
        State::Closed => Some(3),
        State::GivenUp => Some(4),
    }
}

impl Line {
    pub(super) fn log(&self) {
        let Turned { gate, metric, unit, mode, state, flow, aggregate, threshold, waiting } = &self.0;
        let (gate, metric, mode, waiting) = (&**gate, &**metric, mode.as_str(), *waiting);
        let threshold = unit.show(*threshold);
        let value = match aggregate {
            Aggregate::Known(value) => unit.show(*value),
            Aggregate::Idle => "idle".to_owned(),
            Aggregate::Unknown(why) => why.to_string(),
        };
        match state {
            State::Open => info!(gate, metric, value, threshold, mode, "a gate is open again"),
            State::Limiting => info!(gate, metric, value, threshold, mode, %flow, waiting, "a gate limits what passes"),
            State::Stale(why) => {
                warn!(gate, metric, threshold, mode, %flow, because = why.means(), "a gate's metric is not known");
            }
            State::Closed => warn!(gate, metric, value, threshold, mode, %flow, waiting, "a gate is closed"),
            State::GivenUp => error!(
                gate,
                metric,
                value,
                threshold,
                mode,
                "a gate has been closed for max_closed without its metric getting better: it lets everything pass; \
                 look at the database, or raise the threshold"
            ),
            State::Waking => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use health::{Flow, Unit, Unknown};
    use rules::Mode;

    use super::*;

    fn turned(state: State) -> Turned {
        Turned {
            gate: "lag".into(),
            metric: "replication_lag".into(),
            unit: Unit::Seconds,
            mode: Mode::Enforce,
            state,
            flow: Flow::Open,
            aggregate: Aggregate::Known(6.0),
            threshold: 5.0,
            waiting: 0,
        }
    }

    /// What the gate turned to when, in milliseconds, and what was said by then.
    fn check(turns: &[(u64, Option<State>, &[&str])]) {
        let (start, mut log) = (Instant::now(), GateLog::default());
        for (at, state, said) in turns {
            let lines = log.look(state.map(turned).into_iter(), start + Duration::from_millis(*at), |_| true);
            lines.iter().for_each(Line::log);
            let found: Vec<&str> = lines.iter().map(|line| line.0.state.as_str()).collect();
            assert_eq!(found, *said, "{at} ms, {state:?}");
        }
    }

    #[test]
    fn worse_is_said_at_once_and_better_when_it_has_lasted() {
        check(&[
            (0, Some(State::Open), &[]),
            (1000, Some(State::Limiting), &["limiting"]),
            (2000, Some(State::Closed), &["closed"]),
            (3000, Some(State::Limiting), &[]),
            (3250, Some(State::Closed), &[]),
            (3500, Some(State::Open), &[]),
            (4000, Some(State::Limiting), &[]),
            (8499, None, &[]),
            (8500, None, &["limiting"]),
            (9000, Some(State::Open), &[]),
            (14_000, None, &["open"]),
            (60_000, None, &[]),
            (70_000, Some(State::Closed), &["closed"]),
            (80_000, Some(State::GivenUp), &["given_up"]),
            (90_000, Some(State::Open), &[]),
            (95_000, None, &["open"]),
        ]);
    }

    #[test]
    fn falling_asleep_says_nothing() {
        check(&[
            (0, Some(State::Stale(Unknown::Unreachable)), &["stale"]),
            (1000, Some(State::Waking), &[]),
            (9000, Some(State::Stale(Unknown::Unreachable)), &[]),
            (10_000, Some(State::Waking), &[]),
            (20_000, Some(State::Open), &[]),
            (25_000, None, &["open"]),
        ]);
    }

    #[test]
    fn a_gate_that_is_gone_is_forgotten() {
        let (now, mut log) = (Instant::now(), GateLog::default());
        let closed = || [turned(State::Closed)].into_iter();
        assert_eq!(log.look(closed(), now, |_| true).len(), 1);
        assert_eq!(log.look(std::iter::empty(), now, |_| false).len(), 0);
        assert_eq!(log.look(closed(), now, |_| true).len(), 1);
    }
}
