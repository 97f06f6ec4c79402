//! The gates as the queue sees them: what each lets through now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use health::valve::Charge;
use health::{Flow, Valve, Work};

use super::need::{Slot, Thing};
use super::thresholds::{Standing, Thresholds};
use crate::gates::InFlight;

#[derive(Debug)]
pub(super) struct Valves {
    gates: Vec<Valved>,
    thresholds: Thresholds,
    /// Statements that run.
    in_flight: Arc<InFlight>,
    pub(super) now: Instant,
}

#[derive(Debug, Default)]
struct Valved {
    valve: Valve,
    /// The metric, while it is known.
    value: Option<f64>,
    /// Statements that have the gate's leave, or that of a threshold at it, and have not begun.
    used: u32,
}

impl Valves {
    pub(super) fn new(in_flight: Arc<InFlight>, now: Instant) -> Valves {
        let gates = std::iter::repeat_with(Valved::default).take(Slot::MOST).collect();
        Valves { gates, thresholds: Thresholds::default(), in_flight, now }
    }

    /// It is later now.
    pub(super) fn turn_to(&mut self, now: Instant, is_awaited: impl Fn(&Thing) -> bool) {
        self.now = self.now.max(now);
        self.gates.iter_mut().for_each(|gate| gate.valve.fill(self.now));
        self.thresholds.step(is_awaited, self.now);
    }

    pub(super) fn set(&mut self, slot: Slot, flow: Flow, value: Option<f64>, is_awaited: impl Fn(&Thing) -> bool) {
        let (now, work) = (self.now, self.in_flight.work());
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            gate.valve.committed(work, now);
            gate.valve.set(flow, now);
            gate.value = value;
        }
        self.thresholds.look(slot, self.standing(slot), self.running(slot), is_awaited, now);
    }

    pub(super) fn set_trickle(&mut self, slot: Slot, rate: f64) {
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            gate.valve.set_trickle(rate);
        }
    }

    /// Nothing is known of it any more, but who has its leave.
    pub(super) fn forget(&mut self, slot: Slot) {
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            *gate = Valved { used: gate.used, ..Valved::default() };
        }
        self.thresholds.forget(slot);
    }

    pub(super) fn flow(&self, slot: Slot) -> Flow {
        self.gates.get(slot.index()).map_or(Flow::Open, |gate| gate.valve.flow())
    }

    pub(super) fn has_room(&self, slot: Slot) -> bool {
        let Some(gate) = self.gates.get(slot.index()) else { return true };
        gate.valve.would_have_room(self.now, self.running(slot))
    }

    /// Somebody asks for a threshold at this gate.
    pub(super) fn hear(&mut self, slot: Slot, thing: &Thing) {
        self.thresholds.hear(thing, self.standing(slot));
    }

    /// Whether a threshold at this gate lets one more pass.
    pub(super) fn is_under(&self, slot: Slot, thing: &Thing) -> bool {
        self.thresholds.has_room(thing, self.standing(slot), || self.running(slot))
    }

    fn standing(&self, slot: Slot) -> Standing {
        let value = self.gates.get(slot.index()).and_then(|gate| gate.value);
        Standing { value, flow: self.flow(slot) }
    }

    /// Statements that this gate concerns and that run now.
    pub(super) fn running(&self, slot: Slot) -> f64 {
        let used = self.gates.get(slot.index()).map_or(0, |gate| gate.used);
        f64::from(used) + f64::from(self.in_flight.of(slot))
    }

    pub(super) fn take(&mut self, slot: Slot) -> Option<Charge> {
        self.gates.get_mut(slot.index())?.valve.take()
    }

    /// One goes that the gate concerns, by its leave or by a threshold at it.
    pub(super) fn goes(&mut self, slot: Slot) {
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            gate.used += 1;
        }
    }

    /// It has begun, and is counted where it runs.
    pub(super) fn give_back(&mut self, slot: Slot) {
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            gate.used = gate.used.saturating_sub(1);
        }
    }

    pub(super) fn ended(&mut self, slot: Slot, ran: Duration) {
        let now = self.now;
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            gate.valve.ended(ran, now);
        }
    }

    pub(super) fn ran(&self, slot: Slot) -> f64 {
        self.gates.get(slot.index()).map_or(0.0, |gate| gate.valve.ran())
    }

    pub(super) fn settle(&mut self, slot: Slot, charge: Charge, work: Work) {
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            if work.transactions > 0.0 {
                gate.valve.learn(work.rows);
            }
            gate.valve.settle(charge, work);
        }
    }

    /// When the valve may let the next one through by itself.
    pub(super) fn next(&self, slot: Slot) -> Option<Instant> {
        self.gates.get(slot.index()).and_then(|gate| gate.valve.next(self.now))
    }
}
