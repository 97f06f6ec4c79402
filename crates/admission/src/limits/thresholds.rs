//! Thresholds that rules set at gates: closed over one, open again well under it, as a `binary` gate is, and whoever waited comes by
//! the step.

use std::collections::HashMap;
use std::time::Instant;

use health::{Flow, Ramp};

use super::need::{Slot, Thing};

/// Those that do not let everybody pass. Who asks first at a value that is too high closes one; all others are open.
#[derive(Debug, Default)]
pub(super) struct Thresholds(HashMap<Thing, State>);

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    /// Until nobody waits for it any more.
    Opening(Ramp),
}

/// What a gate knows and does, as far as a threshold at it needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// The metric, while it is known.
    pub(super) value: Option<f64>,
    pub(super) flow: Flow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Over,
    /// Not so high that it closes, not so low that it opens.
    Between,
    WellUnder,
}

impl Standing {
    /// Where nobody knows, the gate itself decides.
    fn level(&self, Threshold { over, opens_at, .. }: Threshold) -> Level {
        match (self.value, self.flow) {
            // What was true before a pause says nothing.
            (_, Flow::Waking) => Level::Between,
            (Some(value), _) if value > over => Level::Over,
            (Some(value), _) if value > opens_at => Level::Between,
            (Some(_), _) => Level::WellUnder,
            (None, Flow::Trickle(_)) => Level::Over,
            (None, Flow::Open | Flow::Paced(_) | Flow::AtOnce(_)) => Level::WellUnder,
        }
    }
}

impl Thresholds {
    /// Somebody asks for it.
    pub(super) fn hear(&mut self, thing: &Thing, standing: Standing) {
        if let Some(threshold) = threshold(thing)
            && standing.level(threshold) == Level::Over
        {
            self.0.insert(thing.clone(), State::Closed);
        }
    }

    /// `running`: statements that the gate concerns. They are many counters to add up, and seldom asked for.
    pub(super) fn has_room(&self, thing: &Thing, standing: Standing, running: impl Fn() -> f64) -> bool {
        let Some(threshold) = threshold(thing) else { return true };
        if standing.flow == Flow::Waking {
            return false;
        }
        match self.0.get(thing) {
            Some(State::Closed) => false,
            Some(State::Opening(ramp)) => running() + 1.0 <= ramp.at_once(),
            None => standing.level(threshold) != Level::Over,
        }
    }

    /// The gate has looked, and so many run that it concerns.
    pub(super) fn look(
        &mut self,
        slot: Slot,
        standing: Standing,
        running: f64,
        is_awaited: impl Fn(&Thing) -> bool,
        now: Instant,
    ) {
        self.0.retain(|thing, state| {
            let Some(threshold) = threshold(thing).filter(|threshold| threshold.at == slot) else { return true };
            match (standing.level(threshold), *state) {
                (Level::Over, _) => *state = State::Closed,
                (Level::WellUnder, State::Closed) => *state = State::Opening(Ramp::from(running, now)),
                (Level::Between, _) | (Level::WellUnder, State::Opening(_)) => {}
            }
            matches!(state, State::Closed) || is_awaited(thing)
        });
    }

    /// Time has passed.
    pub(super) fn step(&mut self, is_awaited: impl Fn(&Thing) -> bool, now: Instant) {
        self.0.retain(|thing, state| match state {
            State::Opening(ramp) if ramp.is_over(now) => {
                *ramp = ramp.next(now);
                is_awaited(thing)
            }
            State::Opening(_) | State::Closed => true,
        });
    }

    /// The gate is there no more.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.0.retain(|thing, _| threshold(thing).is_some_and(|threshold| threshold.at != slot));
    }
}

#[derive(Debug, Clone, Copy)]
struct Threshold {
    at: Slot,
    over: f64,
    opens_at: f64,
}

fn threshold(thing: &Thing) -> Option<Threshold> {
    match thing {
        Thing::Under(at, over, opens_at) => {
            Some(Threshold { at: *at, over: f64::from_bits(*over), opens_at: f64::from_bits(*opens_at) })
        }
        Thing::Rule(_) | Thing::Gate(_) => None,
    }
}
