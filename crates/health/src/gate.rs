//! A gate: what a metric and its threshold let through now, and what happens when nobody knows.

use std::fmt;
use std::time::{Duration, Instant};

use crate::appliers::Backlog;
use crate::board::{Aggregate, Replica};
use crate::control::paced::Pace;
use crate::control::permits::Crowd;
use crate::control::{Binary, Paced, PacedAtOnce, Permits, paced_at_once};
use crate::metric::BuiltIn;
use crate::ramp::Ramp;
use crate::reading::Unknown;
use crate::settings::{Control, OnStale, Settings};
use crate::work::Work;

/// How long those who come first wait for somebody to measure.
pub const WAKES_IN: Duration = Duration::from_secs(1);

/// A metric that has fallen by this part is improving.
const IMPROVES_BY: f64 = 0.05;

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
    /// What it lets through but for who must not come all at once.
    wide: Flow,
    /// While it opens.
    ramp: Option<Ramp>,
    /// It held somebody back when it last knew anything.
    held_back: bool,
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

/// Closed, for how long without getting better, and when that was last looked at. Time in which it holds nobody back does not count.
#[derive(Debug, Clone, Copy)]
struct Closed {
    in_vain: Duration,
    looked: Option<Instant>,
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
            wide: Flow::Waking,
            ramp: None,
            held_back: false,
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
            *self = Gate { held_back: self.held_back, ..Gate::new(settings) };
        } else {
            self.settings = settings;
        }
    }

    /// Another server is behind it.
    pub fn reset(&mut self) {
        *self = Gate { held_back: self.held_back, ..Gate::new(self.settings.clone()) };
    }

    pub fn observe(&mut self, observed: &Observation<'_>) -> Flow {
        let before = self.flow;
        (self.state, self.wide) = self.judge(observed);
        self.flow = self.without_herd(before, observed.in_flight, observed.waiting, observed.now);
        self.held_back = match self.flow {
            Flow::Open => false,
            Flow::Waking => self.held_back,
            Flow::Paced(_) | Flow::AtOnce(_) | Flow::Trickle(_) => true,
        };
        self.flow
    }

    /// Between two samples that are far from each other: whether those who come by the step may take the next one.
    pub fn step(&mut self, in_flight: f64, waiting: usize, now: Instant) -> Option<Flow> {
        if !self.ramp?.is_over(now) {
            return None;
        }
        self.flow = self.without_herd(self.flow, in_flight, waiting, now);
        Some(self.flow)
    }

    /// Between two samples: whether what has been committed or begun since the last one is too much already.
    pub fn glance(&mut self, work: Work, in_flight: f64, now: Instant) -> Option<Flow> {
        if (self.state, self.flow) != (State::Open, Flow::Open) {
            return None;
        }
        let pace = self.law.paced_mut()?.glance(work, in_flight, now)?;
        (self.state, self.flow, self.wide) = (State::Limiting, Flow::Paced(pace), Flow::Paced(pace));
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
            self.is_not_closed();
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
        let Settings { threshold, scope, interval, trickle, .. } = self.settings;
        let backlog = Backlog {
            replicas: observed.replicas,
            over: scope.over,
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
                let (in_flight, now) = (observed.in_flight, observed.now);
                // Who waits because they come by the step does not show that the pool is too small.
                let waiting = if self.ramp.is_some() { 0 } else { observed.waiting };
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
        let flow = match (self.settings.on_stale, self.wide) {
            (OnStale::Open, _) => Flow::Open,
            (OnStale::Closed, _) => closed,
            // Before anybody knew anything there is nothing to hold on to.
            (OnStale::HoldLast, Flow::Waking) => Flow::Open,
            // What is held then is that it was given up.
            (OnStale::HoldLast, _) if self.forced => closed,
            (OnStale::HoldLast, flow) => flow,
        };
        if !self.is_as_good_as_closed(flow) {
            self.is_not_closed();
        } else if self.is_given_up(f64::INFINITY, now) {
            return (State::GivenUp, Flow::Open);
        }
        (State::Stale(why), flow)
    }

    /// It lets no more through than it would if it were closed.
    fn is_as_good_as_closed(&self, flow: Flow) -> bool {
        match flow {
            Flow::Trickle(_) => true,
            Flow::Paced(pace) => pace.transactions_a_second() <= self.settings.trickle,
            Flow::Open | Flow::AtOnce(_) | Flow::Waking => false,
        }
    }

    /// It has been closed for `max_closed` and nothing got better.
    fn is_given_up(&mut self, value: f64, now: Instant) -> bool {
        let closed = self.closed.get_or_insert(Closed { in_vain: Duration::ZERO, looked: None, best: value });
        let looked = closed.looked.replace(now).unwrap_or(now);
        closed.in_vain = closed.in_vain.saturating_add(now.saturating_duration_since(looked));
        if value < closed.best * (1.0 - IMPROVES_BY) {
            (closed.in_vain, closed.best) = (Duration::ZERO, value);
        }
        // An operator who says never has it closed again.
        self.forced = self.settings.max_closed.is_some_and(|most| self.forced || closed.in_vain >= most);
        self.forced
    }

    /// Nobody is held back for now, though nobody has seen it in order either.
    fn is_not_closed(&mut self) {
        if let Some(closed) = &mut self.closed {
            closed.looked = None;
        }
    }

    /// Whoever had to wait does not come all at once.
    fn without_herd(&mut self, before: Flow, in_flight: f64, waiting: usize, now: Instant) -> Flow {
        let flow = self.wide;
        let most = match flow {
            Flow::Open => f64::INFINITY,
            Flow::AtOnce(pool) => pool,
            Flow::Paced(_) | Flow::Trickle(_) | Flow::Waking => {
                self.ramp = None;
                return flow;
            }
        };
        let opens = match (before, flow) {
            (Flow::Trickle(_), _) | (Flow::Paced(_) | Flow::AtOnce(_), Flow::Open) => true,
            // Who waited only for the first look came as they would have come without a gate.
            (Flow::Waking, _) => self.held_back,
            _ => self.ramp.is_some(),
        };
        if !opens || waiting == 0 {
            self.ramp = None;
            return flow;
        }
        let ramp = self.ramp.map_or_else(|| Ramp::from(in_flight, now), |ramp| ramp.next(now));
        self.ramp = Some(ramp).filter(|ramp| ramp.at_once() < most);
        self.ramp.map_or(flow, |ramp| Flow::AtOnce(ramp.at_once()))
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
