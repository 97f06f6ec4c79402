//! The gates as the queue sees them: what each lets through now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use health::valve::Charge;
use health::{Flow, Valve, Work};

use super::need::Slot;
use crate::gates::InFlight;

#[derive(Debug)]
pub(super) struct Valves {
    gates: Vec<Valved>,
    /// Statements that run.
    in_flight: Arc<InFlight>,
    pub(super) now: Instant,
}

#[derive(Debug, Default)]
struct Valved {
    valve: Valve,
    /// The metric, while it is known.
    value: Option<f64>,
    /// Statements that have the gate's leave and have not begun.
    used: u32,
}

impl Valves {
    pub(super) fn new(in_flight: Arc<InFlight>, now: Instant) -> Valves {
        Valves { gates: std::iter::repeat_with(Valved::default).take(Slot::MOST).collect(), in_flight, now }
    }

    /// It is later now.
    pub(super) fn turn_to(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.gates.iter_mut().for_each(|gate| gate.valve.fill(self.now));
    }

    pub(super) fn set(&mut self, slot: Slot, flow: Flow, value: Option<f64>) {
        let (now, work) = (self.now, self.in_flight.work());
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            gate.valve.committed(work, now);
            gate.valve.set(flow, now);
            gate.value = value;
        }
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
    }

    pub(super) fn flow(&self, slot: Slot) -> Flow {
        self.gates.get(slot.index()).map_or(Flow::Open, |gate| gate.valve.flow())
    }

    pub(super) fn has_room(&self, slot: Slot) -> bool {
        let Some(gate) = self.gates.get(slot.index()) else { return true };
        gate.valve.would_have_room(self.now, self.running(slot))
    }

    /// Whether the metric is at most at this threshold. Where nobody knows, the gate itself decides.
    pub(super) fn is_under(&self, slot: Slot, threshold: f64) -> bool {
        let Some(gate) = self.gates.get(slot.index()) else { return true };
        match (gate.value, gate.valve.flow()) {
            // What was true before a pause says nothing.
            (_, Flow::Waking) => false,
            (Some(value), _) => value <= threshold,
            (None, Flow::Trickle(_)) => false,
            (None, Flow::Open | Flow::Paced(_) | Flow::AtOnce(_)) => true,
        }
    }

    /// Statements that this gate concerns and that run now.
    pub(super) fn running(&self, slot: Slot) -> f64 {
        let used = self.gates.get(slot.index()).map_or(0, |gate| gate.used);
        f64::from(used) + f64::from(self.in_flight.of(slot))
    }

    pub(super) fn take(&mut self, slot: Slot) -> Option<Charge> {
        let gate = self.gates.get_mut(slot.index())?;
        gate.used += 1;
        gate.valve.take()
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
