//! A gate: what a metric and its threshold let through now, and what happens when nobody knows.

use std::fmt;
use std::time::{Duration, Instant};

use crate::appliers::Backlog;
use crate::board::{Aggregate, Replica};
use crate::control::paced::Pace;
use crate::control::permits::Crowd;
use crate::control::{Binary, Paced, PacedAtOnce, Permits, paced_at_once};
use crate::metric::BuiltIn;
use crate::reading::Unknown;
use crate::settings::{Control, OnStale, Settings};
use crate::work::Work;

/// How long those who come first wait for somebody to measure.
pub const WAKES_IN: Duration = Duration::from_secs(1);

/// A metric that has fallen by this part is improving.
const IMPROVES_BY: f64 = 0.05;

/// After it was closed, what is in flight grows by this part a sample as long as anybody waits.
const RAMP: f64 = 0.5;

#[derive(Debug)]
pub struct Gate {
    settings: Settings,
    law: Law,
    state: State,
    flow: Flow,
    /// Since when nobody knows, or has known anything at all.
    unknown_since: Option<Instant>,
    closed: Option<Closed>,
    /// It was closed for longer than `max_closed` and is open until the metric has been in order again.
    forced: bool,
    /// How many at once while it opens.
    ramp: Option<f64>,
}

#[derive(Debug)]
enum Law {
    Paced(Paced),
    /// Permits of a lag, which is known by its backlog.
    PacedAtOnce(PacedAtOnce),
    Permits(Permits),
    Binary(Binary),
}

impl Law {
    fn new(settings: &Settings) -> Law {
        let is_lag = BuiltIn::named(&settings.metric) == Some(BuiltIn::ReplicationLag);
        match settings.control {
            Control::Paced => Law::Paced(Paced::default()),
            Control::Permits if is_lag => Law::PacedAtOnce(PacedAtOnce::default()),
            Control::Permits => Law::Permits(Permits::default()),
            Control::Binary => Law::Binary(Binary::default()),
        }
    }

    /// The pace that it goes by, if it does.
    fn paced(&self) -> Option<&Paced> {
        match self {
            Law::Paced(paced) | Law::PacedAtOnce(PacedAtOnce { paced, .. }) => Some(paced),
            Law::Permits(_) | Law::Binary(_) => None,
        }
    }

    fn paced_mut(&mut self) -> Option<&mut Paced> {
        match self {
            Law::Paced(paced) | Law::PacedAtOnce(PacedAtOnce { paced, .. }) => Some(paced),
            Law::Permits(_) | Law::Binary(_) => None,
        }
    }
}

/// Closed, and since when it has not been getting better.
#[derive(Debug, Clone, Copy)]
struct Closed {
    improved: Instant,
    best: f64,
}

/// What may pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flow {
    Open,
    Paced(Pace),
    /// So many at once. Under one: one at a time, with pauses.
    AtOnce(f64),
    /// Closed, but for so many a second.
    Trickle(f64),
    /// Nobody, until somebody has measured.
    Waking,
}

/// In an operator's words: `paced 412/s`, `3 at once`, `closed, 1/s`.
impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flow::Open => f.write_str("open"),
            Flow::Paced(pace) => write!(f, "paced {}/s", few_digits(pace.transactions_a_second())),
            Flow::AtOnce(pool) => write!(f, "{} at once", few_digits(*pool)),
            Flow::Trickle(rate) if *rate <= 0.0 => f.write_str("closed"),
            Flow::Trickle(rate) => write!(f, "closed, {}/s", few_digits(*rate)),
            Flow::Waking => f.write_str("waking"),
        }
    }
}

/// As many as are worth reading: 412, 3.5, 0.25, 0.0312.
fn few_digits(number: f64) -> String {
    let places = match number {
        10.0.. => 0,
        0.1.. => 2,
        _ => 4,
    };
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// For those who look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Open,
    /// Open to less than everything.
    Limiting,
    Closed,
    /// Nobody knows; `on_stale` says what is done.
    Stale(Unknown),
    Waking,
    /// Over its threshold for `max_closed`: it lets everything pass, and somebody should look.
    GivenUp,
}

impl State {
    pub const WORDS: [&'static str; 6] = ["open", "limiting", "closed", "stale", "waking", "given_up"];

    pub fn as_str(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Limiting => "limiting",
            State::Closed => "closed",
            State::Stale(_) => "stale",
            State::Waking => "waking",
            State::GivenUp => "given_up",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a gate looks at, once a sample.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    pub now: Instant,
    pub aggregate: Aggregate,
    /// Whose lag is known; empty for other metrics.
    pub replicas: &'a [Replica],
    /// Committed through us.
    pub work: Work,
    /// Statements that this gate concerns and that run now.
    pub in_flight: f64,
    /// The seconds that such statements have run so far, all added up; it stands still where nothing is limited.
    pub ran: f64,
    /// Units that wait for this gate.
    pub waiting: usize,
    /// The servers are asked so rarely now that what they say is old.
    pub asleep: bool,
}

impl Gate {
    pub fn new(settings: Settings) -> Gate {
        Gate {
            law: Law::new(&settings),
            settings,
            state: State::Waking,
            flow: Flow::Waking,
            unknown_since: None,
            closed: None,
            forced: false,
            ramp: None,
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// What the replicas are known to bear, in transactions a second, where that is looked at.
    pub fn borne(&self) -> Option<f64> {
        self.law.paced().map(Paced::borne)
    }

    /// What was known before a restart.
    pub fn remember(&mut self, borne: f64) {
        match &mut self.law {
            Law::Paced(paced) => *paced = Paced::remembering(borne),
            Law::PacedAtOnce(paced) => *paced = PacedAtOnce::remembering(borne),
            Law::Permits(_) | Law::Binary(_) => {}
        }
    }

    /// The configuration says otherwise now. What the law has learnt stays, if it is the same law on the same metric.
    pub fn change(&mut self, settings: Settings) {
        if settings.control != self.settings.control || settings.metric != self.settings.metric {
            *self = Gate::new(settings);
        } else {
            self.settings = settings;
        }
    }

    /// Another server is behind it.
    pub fn reset(&mut self) {
        *self = Gate::new(self.settings.clone());
    }

    pub fn observe(&mut self, observed: &Observation<'_>) -> Flow {
        let before = self.flow;
        let (state, flow) = self.judge(observed);
        self.state = state;
        self.flow = self.without_herd(before, flow, observed);
        self.flow
    }

    /// Between two samples: whether what has been committed or begun since the last one is too much already.
    pub fn glance(&mut self, work: Work, in_flight: f64, now: Instant) -> Option<Flow> {
        if (self.state, self.flow) != (State::Open, Flow::Open) {
            return None;
        }
        let pace = self.law.paced_mut()?.glance(work, in_flight, now)?;
        (self.state, self.flow) = (State::Limiting, Flow::Paced(pace));
        Some(self.flow)
    }

    /// How many more may begin before somebody must [`glance`](Gate::glance). `None`: as many as come.
    pub fn allows(&self, work: Work) -> Option<f64> {
        if (self.state, self.flow) != (State::Open, Flow::Open) {
            return None;
        }
        self.law.paced()?.allows(work)
    }

    fn judge(&mut self, observed: &Observation<'_>) -> (State, Flow) {
        if observed.asleep {
            self.unknown_since = None;
            // Nobody is held back meanwhile.
            self.closed = None;
            return (State::Waking, Flow::Waking);
        }
        match observed.aggregate {
            Aggregate::Known(value) => {
                self.unknown_since = None;
                self.known(value, observed)
            }
            Aggregate::Idle => {
                self.unknown_since = None;
                self.known(0.0, observed)
            }
            Aggregate::Unknown(why) => self.unknown(why, observed.now),
        }
    }

    fn known(&mut self, value: f64, observed: &Observation<'_>) -> (State, Flow) {
        let limit = self.limit(value, observed);
        let closed = match limit {
            Limit::Closed => true,
            Limit::None | Limit::Flow(_) => value > self.settings.threshold,
        };
        if !closed {
            self.closed = None;
            self.forced = false;
            return match limit {
                Limit::Flow(flow) => (State::Limiting, flow),
                Limit::None | Limit::Closed => (State::Open, Flow::Open),
            };
        }
        if self.is_given_up(value, observed.now) {
            return (State::GivenUp, Flow::Open);
        }
        (State::Closed, Flow::Trickle(self.settings.trickle))
    }

    /// What the law says of this.
    fn limit(&mut self, value: f64, observed: &Observation<'_>) -> Limit {
        let Settings { threshold, interval, trickle, .. } = self.settings;
        let backlog = Backlog {
            replicas: observed.replicas,
            work: observed.work,
            waiting: observed.waiting,
            in_flight: observed.in_flight,
            threshold,
            interval,
            now: observed.now,
        };
        match &mut self.law {
            Law::Paced(paced) => paced.observe(&backlog).map_or(Limit::None, |pace| Limit::paced(pace, trickle)),
            Law::PacedAtOnce(paced) => match paced.observe(&backlog, observed.ran) {
                None => Limit::None,
                Some(paced_at_once::Limit::Pace(pace)) => Limit::paced(pace, trickle),
                Some(paced_at_once::Limit::AtOnce(pool)) => Limit::Flow(Flow::AtOnce(pool)),
            },
            Law::Permits(permits) => {
                let (in_flight, waiting, now) = (observed.in_flight, observed.waiting, observed.now);
                let pool = permits.observe(Crowd { value, threshold, in_flight, waiting, now });
                pool.map_or(Limit::None, |pool| Limit::Flow(Flow::AtOnce(pool)))
            }
            Law::Binary(binary) => {
                if binary.observe(value, threshold) {
                    Limit::Closed
                } else {
                    Limit::None
                }
            }
        }
    }

    /// Nothing that counts has been heard.
    fn unknown(&mut self, why: Unknown, now: Instant) -> (State, Flow) {
        let first = *self.unknown_since.get_or_insert(now);
        let wakes = matches!(self.state, State::Waking) && !why.is_certain();
        if wakes && now.saturating_duration_since(first) < WAKES_IN {
            return (State::Waking, Flow::Waking);
        }
        let closed = Flow::Trickle(self.settings.trickle);
        let flow = match (self.settings.on_stale, self.flow) {
            (OnStale::Open, _) => Flow::Open,
            (OnStale::Closed, _) => closed,
            // Before anybody knew anything there is nothing to hold on to.
            (OnStale::HoldLast, Flow::Waking) => Flow::Open,
            (OnStale::HoldLast, flow) => flow,
        };
        if !matches!(flow, Flow::Trickle(_)) {
            self.closed = None;
        } else if self.is_given_up(f64::INFINITY, now) {
            return (State::GivenUp, Flow::Open);
        }
        (State::Stale(why), flow)
    }

    /// It has been closed for `max_closed` and nothing got better.
    fn is_given_up(&mut self, value: f64, now: Instant) -> bool {
        let closed = self.closed.get_or_insert(Closed { improved: now, best: value });
        if value < closed.best * (1.0 - IMPROVES_BY) {
            *closed = Closed { improved: now, best: value };
        }
        let Some(most) = self.settings.max_closed else { return false };
        self.forced |= now.saturating_duration_since(closed.improved) >= most;
        self.forced
    }

    /// Whoever had to wait does not come all at once.
    fn without_herd(&mut self, before: Flow, flow: Flow, observed: &Observation<'_>) -> Flow {
        let wide = match flow {
            Flow::Open => f64::INFINITY,
            Flow::AtOnce(pool) => pool,
            Flow::Paced(_) | Flow::Trickle(_) | Flow::Waking => {
                self.ramp = None;
                return flow;
            }
        };
        let opens = match (before, flow) {
            (Flow::Trickle(_) | Flow::Waking, _) | (Flow::Paced(_) | Flow::AtOnce(_), Flow::Open) => true,
            _ => self.ramp.is_some(),
        };
        if !opens || observed.waiting == 0 {
            self.ramp = None;
            return flow;
        }
        let from = self.ramp.unwrap_or(observed.in_flight);
        let ramp = from + (from * RAMP).max(1.0);
        if ramp >= wide {
            self.ramp = None;
            return flow;
        }
        self.ramp = Some(ramp);
        Flow::AtOnce(ramp)
    }
}

/// What a law says.
enum Limit {
    None,
    Flow(Flow),
    Closed,
}

impl Limit {
    /// Never less than the trickle, whatever the backlog.
    fn paced(pace: Pace, trickle: f64) -> Limit {
        let enough = pace.transactions_a_second() >= trickle;
        Limit::Flow(if enough { Flow::Paced(pace) } else { Flow::Trickle(trickle) })
    }
}

#[cfg(test)]
mod tests;
