//! The gates at work: which restrict anything now, in one word that every decision reads; what runs; and what the laws say
//! after each sample.
//!
//! Sessions read the word and count in [`InFlight`]; where so many begin that it may be too much, they look themselves. Everything
//! else is done by the one who measures, once a sample, and by what a restricting gate concerns.

mod in_flight;
mod latency;
mod seen;

pub(crate) use in_flight::Begun;
pub use in_flight::{Committing, InFlight, ShardId};
pub use latency::{Look, Took, Window};
pub use seen::{GateSeen, MetricSeen, Seen, ServerSeen, Turned};

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use health::board::Fresh;
use health::history::{History, Point};
use health::{Aggregate, Board, BuiltIn, Flow, Gate, Observation, State};
use rules::Mode;
use statement::Class;
use tokio::sync::Notify;

use crate::decision::GatesNow;
use crate::limits::{Limits, Slot};
use crate::policy;

#[derive(Debug)]
pub struct Gates {
    /// A bit for each gate that does not let everything pass, or that somebody waits for who waits at no such gate.
    restricting: AtomicU64,
    /// The same of gates that only warn.
    warning: AtomicU64,
    in_flight: Arc<InFlight>,
    limits: Arc<Limits>,
    shadows: Arc<Limits>,
    kept: Mutex<HashMap<Slot, Kept>>,
    /// What sessions have turned, and nobody has told yet.
    untold: Mutex<Vec<Turned>>,
    /// Somebody waits, or there is something to tell.
    wanted: Notify,
    seen: ArcSwap<Seen>,
}

/// A gate that is in the policy.
#[derive(Debug)]
struct Kept {
    gate: Gate,
    mode: Mode,
    /// Logins that it stopped, or would have.
    logins_stopped: u64,
    /// When it last looked, and at what.
    observed: Option<Instant>,
    aggregate: Aggregate,
    /// When the oldest of that was measured.
    sampled: Option<Instant>,
    /// Since when its state is what it is.
    since: Option<Instant>,
    given_up: u64,
    history: History,
}

/// How the measuring stands.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub now: Instant,
    /// There is no traffic, so the servers are asked rarely.
    pub asleep: bool,
    /// Since when they are asked often.
    pub awake_since: Option<Instant>,
}

impl Gates {
    pub(crate) fn new(in_flight: Arc<InFlight>, limits: Arc<Limits>, shadows: Arc<Limits>) -> Arc<Gates> {
        Arc::new(Gates {
            restricting: AtomicU64::new(0),
            warning: AtomicU64::new(0),
            in_flight,
            limits,
            shadows,
            kept: Mutex::default(),
            untold: Mutex::default(),
            wanted: Notify::new(),
            seen: ArcSwap::default(),
        })
    }

    /// Gates that restrict, a bit each.
    #[inline]
    pub(crate) fn restricting(&self) -> u64 {
        self.restricting.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn warning(&self) -> u64 {
        self.warning.load(Ordering::Relaxed)
    }

    /// As they stand, to a statement that these concern.
    #[inline]
    pub(crate) fn now(&self, concerning: policy::Concerning) -> GatesNow {
        GatesNow { concerning, restricting: self.restricting(), warning: self.warning() }
    }

    pub fn in_flight(&self) -> &Arc<InFlight> {
        &self.in_flight
    }

    #[inline]
    pub(crate) fn took(&self, shard: ShardId, class: Class, took: Duration, commits: bool) {
        if let Some(shard) = self.in_flight.of_shard(shard) {
            shard.latencies.add(class, took, commits);
        }
    }

    /// Takes up the gates of a policy: a gate that was there keeps its slot and what it has learnt.
    pub(crate) fn adopt(&self, gates: Vec<policy::Gate>) -> policy::Gates {
        let mut kept = self.kept();
        let is_there = |kept: &Kept| gates.iter().any(|gate| gate.settings.name == kept.gate.settings().name);
        let gone: Vec<Slot> = kept.iter().filter(|(_, kept)| !is_there(kept)).map(|(slot, _)| *slot).collect();
        for slot in gone {
            kept.remove(&slot);
            self.open(slot);
        }
        for gate in gates.iter().filter(|gate| gate.mode != Mode::Off) {
            let name = &gate.settings.name;
            let known = kept.values_mut().find(|kept| kept.gate.settings().name == *name);
            if let Some(known) = known {
                known.gate.change(gate.settings.clone());
                known.mode = gate.mode;
            } else if let Some(slot) = (0..64).map(Slot).find(|slot| !kept.contains_key(slot)) {
                kept.insert(slot, Kept::new(gate));
            }
        }
        let off: Vec<Slot> = kept
            .iter()
            .filter(|(_, kept)| {
                gates.iter().any(|gate| gate.mode == Mode::Off && gate.settings.name == kept.gate.settings().name)
            })
            .map(|(slot, _)| *slot)
            .collect();
        for slot in off {
            kept.remove(&slot);
            self.open(slot);
        }
        let slot_of =
            |name: &str| kept.iter().find(|(_, kept)| *kept.gate.settings().name == *name).map(|(slot, _)| *slot);
        let placed = policy::Gates::new(gates, slot_of);
        for gate in placed.iter() {
            self.in_flight.set_concerns(gate.slot, policy::Gates::everybodys_classes(gate));
        }
        // A new one lets nobody pass before it has looked, and one that enforces from now on does what it would have done.
        for (slot, kept) in kept.iter() {
            let (at_work, idle) = match kept.mode {
                Mode::Enforce => (&self.limits, &self.shadows),
                Mode::Warn | Mode::Off => (&self.shadows, &self.limits),
            };
            idle.set_flow(*slot, Flow::Open, None);
            at_work.set_flow(*slot, kept.gate.flow(), kept.value());
            at_work.set_trickle(*slot, kept.gate.settings().trickle);
        }
        self.publish(&kept);
        drop(kept);
        self.limits.release();
        self.wanted.notify_one();
        placed
    }

    fn open(&self, slot: Slot) {
        self.in_flight.set_concerns(slot, 0);
        self.limits.forget(slot);
        self.shadows.forget(slot);
    }

    /// What the servers said, to every gate whose time has come. Whoever can go then goes. The gates whose state has changed.
    pub fn observe(&self, board: &Board, moment: &Moment) -> Vec<Turned> {
        // Who still waits at a gate then waits for it, and not for another.
        self.limits.release();
        let mut kept = self.kept();
        let mut turned = Vec::new();
        for (slot, kept) in kept.iter_mut() {
            if kept.is_due(moment) {
                let before = kept.gate.state();
                let waiting = self.look(*slot, kept, board, moment);
                turned.extend(kept.turned(before, moment.now, waiting));
            } else {
                self.step(*slot, kept, moment.now);
            }
        }
        self.publish(&kept);
        drop(kept);
        self.limits.release();
        turned
    }

    /// Those who come by the step do not wait for samples that are rare.
    fn step(&self, slot: Slot, kept: &mut Kept, now: Instant) {
        let limits = self.limits_of(kept.mode);
        let (in_flight, waiting) = limits.waiting_at(slot);
        if let Some(flow) = kept.gate.step(in_flight, waiting, now) {
            limits.set_flow(slot, flow, kept.value());
        }
    }

    /// How many wait for it.
    fn look(&self, slot: Slot, kept: &mut Kept, board: &Board, moment: &Moment) -> usize {
        let settings = kept.gate.settings();
        let our_own = BuiltIn::named(&settings.metric).is_some_and(BuiltIn::is_our_own);
        let fresh = Fresh {
            now: moment.now,
            stale_after: settings.stale_after,
            not_before: moment.awake_since.filter(|_| !our_own),
        };
        let aggregate = board.aggregate(&settings.metric, settings.scope, fresh);
        let replicas = board.replicas(&settings.metric, settings.scope, fresh);
        let is_lag = *settings.metric == *BuiltIn::ReplicationLag.as_str();
        let (in_flight, waiting) = self.limits_of(kept.mode).waiting_at(slot);
        let flow = kept.gate.observe(&Observation {
            now: moment.now,
            aggregate,
            replicas: if is_lag { &replicas } else { &[] },
            work: self.in_flight.work(),
            in_flight,
            ran: self.limits.ran(slot),
            waiting,
            asleep: moment.asleep && !our_own,
        });
        kept.observed = Some(moment.now);
        kept.aggregate = aggregate;
        kept.sampled = replicas.iter().map(|replica| replica.at).min();
        self.limits_of(kept.mode).set_flow(slot, flow, kept.value());
        kept.history.add(moment.now, value_of(aggregate), kept.gate.state(), waiting);
        waiting
    }

    /// Between two samples: whether more comes already than can be borne. The gates whose state has changed.
    pub fn glance(&self, now: Instant) -> Vec<Turned> {
        let mut kept = self.kept();
        let mut turned = std::mem::take(&mut *self.untold.lock().unwrap_or_else(PoisonError::into_inner));
        turned.extend(self.glance_at_all(&mut kept, now));
        turned
    }

    /// The same by a session that was told to, in the middle of a crowd that must not wait for the next tick.
    #[cold]
    pub(crate) fn glance_from(&self, shard: ShardId, now: Instant) {
        let mut kept = match self.kept.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            // Somebody looks already; the next who begins looks again.
            Err(TryLockError::WouldBlock) => return,
        };
        let turned = self.glance_at_all(&mut kept, now);
        if turned.is_empty() {
            self.in_flight.looked(shard, self.allows(&kept));
            return;
        }
        // Before anybody else looks, so that it is told in the order in which it happened.
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).extend(turned);
        drop(kept);
        self.wanted.notify_one();
    }

    fn glance_at_all(&self, kept: &mut HashMap<Slot, Kept>, now: Instant) -> Vec<Turned> {
        let work = self.in_flight.work();
        let mut turned = Vec::new();
        for (slot, kept) in kept.iter_mut().filter(|(_, kept)| kept.gate.allows(work).is_some()) {
            let before = kept.gate.state();
            if let Some(flow) = kept.gate.glance(work, f64::from(self.in_flight.of(*slot)), now) {
                self.limits_of(kept.mode).set_flow(*slot, flow, value_of(kept.aggregate));
                turned.extend(kept.turned(before, now, 0));
            }
        }
        if !turned.is_empty() {
            self.publish(kept);
        }
        turned
    }

    /// How many more may begin before somebody glances again.
    fn allows(&self, kept: &HashMap<Slot, Kept>) -> Option<f64> {
        let work = self.in_flight.work();
        let enforced = kept.values().filter(|kept| kept.mode == Mode::Enforce);
        enforced.filter_map(|kept| kept.gate.allows(work)).reduce(f64::min)
    }

    /// Lets those go whose time has come; when to look again, if nothing happens before.
    pub fn release(&self) -> Option<Instant> {
        self.limits.release()
    }

    /// Until somebody waits who did not before.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    pub(crate) fn want(&self) {
        self.wanted.notify_one();
    }

    /// Units that would not wait but for gates on this metric.
    pub(crate) fn waiting_only_for(&self, metric: BuiltIn) -> usize {
        let kept = self.kept();
        let on_it = kept.iter().filter(|(_, kept)| *kept.gate.settings().metric == *metric.as_str());
        let gates = on_it.fold(0, |gates, (slot, _)| gates | slot.bit());
        if gates == 0 {
            return 0;
        }
        // Who can go by now does not wait.
        self.limits.release();
        self.limits.waiting_only_for(gates)
    }

    /// Another server is the primary now.
    pub fn reset(&self) {
        self.kept().values_mut().for_each(Kept::reset);
    }

    /// This metric is another one now, of the same name.
    pub fn reset_on(&self, metric: &str) {
        let mut kept = self.kept();
        kept.values_mut().filter(|kept| *kept.gate.settings().metric == *metric).for_each(Kept::reset);
    }

    /// The shortest interval at which a gate wants to be told of one of these.
    pub fn interval(&self, metrics: &[BuiltIn]) -> Option<Duration> {
        let kept = self.kept();
        let settings = kept.values().map(|kept| kept.gate.settings());
        let on_these = settings.filter(|gate| metrics.iter().any(|metric| *metric.as_str() == *gate.metric));
        on_these.map(|gate| gate.interval).min()
    }

    /// What the replicas bear, by gate: to be remembered.
    pub fn borne(&self) -> Vec<(Arc<str>, f64)> {
        let kept = self.kept();
        let borne = |kept: &Kept| Some((kept.gate.settings().name.clone(), kept.gate.borne()?));
        kept.values().filter_map(borne).collect()
    }

    pub fn remember(&self, gate: &str, borne: f64) {
        let mut kept = self.kept();
        if let Some(kept) = kept.values_mut().find(|kept| *kept.gate.settings().name == *gate) {
            kept.gate.remember(borne);
        }
    }

    /// The gates, for those who look.
    pub fn seen(&self) -> Vec<GateSeen> {
        let kept = self.kept();
        let seen = |(slot, kept): (&Slot, &Kept)| {
            let limits = self.limits_of(kept.mode);
            let (in_flight, _) = limits.at_gate(*slot);
            let waiting = limits.held_at(*slot);
            let settings = kept.gate.settings().clone();
            let (state, flow) = (kept.gate.state(), kept.gate.flow());
            GateSeen {
                settings,
                mode: kept.mode,
                aggregate: kept.aggregate,
                state,
                flow,
                in_flight,
                waiting,
                logins_stopped: kept.logins_stopped,
                given_up: kept.given_up,
                sampled: kept.sampled,
                since: kept.since,
            }
        };
        let mut gates: Vec<GateSeen> = kept.iter().map(seen).collect();
        gates.sort_by(|one, two| one.settings.name.cmp(&two.settings.name));
        gates
    }

    /// Whether a gate of this name is at work.
    pub fn is_there(&self, gate: &str) -> bool {
        self.kept().values().any(|kept| *kept.gate.settings().name == *gate)
    }

    /// What a gate's metric was in the last hours.
    pub fn history(&self, gate: &str) -> Option<Vec<Point>> {
        let kept = self.kept();
        let kept = kept.values().find(|kept| *kept.gate.settings().name == *gate)?;
        Some(kept.history.points().copied().collect())
    }

    pub(crate) fn login_stopped(&self, gate: &str, mode: Mode) {
        let mut kept = self.kept();
        let is_it = |kept: &&mut Kept| kept.mode == mode && *kept.gate.settings().name == *gate;
        if let Some(kept) = kept.values_mut().find(is_it) {
            kept.logins_stopped += 1;
        }
    }

    /// What is measured, as it was last published.
    pub fn measured(&self) -> Arc<Seen> {
        self.seen.load_full()
    }

    pub fn publish_measured(&self, seen: Seen) {
        self.seen.store(Arc::new(seen));
    }

    fn limits_of(&self, mode: Mode) -> &Arc<Limits> {
        match mode {
            Mode::Enforce => &self.limits,
            Mode::Warn | Mode::Off => &self.shadows,
        }
    }

    /// The words that decisions read.
    fn publish(&self, kept: &HashMap<Slot, Kept>) {
        let (mut restricting, mut warning) = (0, 0);
        for (slot, kept) in kept {
            let flow = kept.gate.flow();
            match kept.mode {
                Mode::Enforce if flow != Flow::Open => restricting |= slot.bit(),
                // Nobody can say what a gate would have done that nobody measures for.
                Mode::Warn if !matches!(flow, Flow::Open | Flow::Waking) => warning |= slot.bit(),
                Mode::Enforce | Mode::Warn | Mode::Off => {}
            }
        }
        // Who comes now must not overtake those who wait for the same, though every gate has opened. Where one of theirs restricts,
        // whoever stands before the same gates sees it by that one; reads that an open one of them concerns go by without the lock.
        restricting |= self.limits.awaited_without(restricting);
        self.restricting.store(restricting, Ordering::Release);
        self.warning.store(warning, Ordering::Relaxed);
        self.in_flight.look_after(self.allows(kept));
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Slot, Kept>> {
        // Whole between any two statements.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn new(gate: &policy::Gate) -> Kept {
        Kept {
            gate: Gate::new(gate.settings.clone()),
            mode: gate.mode,
            logins_stopped: 0,
            observed: None,
            aggregate: Aggregate::Unknown(health::Unknown::NotYet),
            sampled: None,
            since: None,
            given_up: 0,
            history: History::default(),
        }
    }

    /// It wakes, and knows nothing.
    fn reset(&mut self) {
        self.gate.reset();
        (self.observed, self.sampled, self.since) = (None, None, None);
    }

    /// What thresholds of rules are compared with.
    fn value(&self) -> Option<f64> {
        value_of(self.aggregate).filter(|_| self.gate.state() != State::GivenUp)
    }

    /// Its state was this before it looked; what there is to tell, if it is another one now.
    fn turned(&mut self, before: State, now: Instant, waiting: usize) -> Option<Turned> {
        let state = self.gate.state();
        let same = state.as_str() == before.as_str();
        if same && self.since.is_some() {
            return None;
        }
        self.since = Some(now);
        if !same && state == State::GivenUp {
            self.given_up += 1;
        }
        let settings = self.gate.settings();
        (!same).then(|| Turned {
            gate: settings.name.clone(),
            metric: settings.metric.clone(),
            unit: settings.unit,
            mode: self.mode,
            state,
            flow: self.gate.flow(),
            aggregate: self.aggregate,
            threshold: settings.threshold,
            waiting,
        })
    }

    /// Its interval is over; or it waits for a first word, or falls asleep or wakes.
    fn is_due(&self, moment: &Moment) -> bool {
        let waking = self.gate.state() == State::Waking;
        let interval = self.gate.settings().interval;
        waking
            || moment.asleep
            || self.observed.is_none_or(|observed| moment.now.saturating_duration_since(observed) >= interval)
    }
}

fn value_of(aggregate: Aggregate) -> Option<f64> {
    match aggregate {
        Aggregate::Known(value) => Some(value),
        Aggregate::Idle => Some(0.0),
        Aggregate::Unknown(_) => None,
    }
}
