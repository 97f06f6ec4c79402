//! The gates of a policy: whom each concerns, found without looking at every one of them.

use std::sync::Arc;
use std::time::Duration;

use health::control::binary::OPENS_AT;
use rules::{Action, Key, Matcher, Mode, Query};
use statement::{Class, Classes};
use tokio::time::Instant;

use crate::attempt::Attempt;
use crate::limits::{Need, Slot};
use crate::who::Who;

/// A gate as it is configured.
#[derive(Debug)]
pub struct Gate {
    pub settings: health::Settings,
    pub mode: Mode,
    pub classes: Vec<Class>,
    /// It concerns those who connect.
    pub logins: bool,
    /// `None`: everybody.
    pub matching: Option<Matcher>,
    /// What that looks at.
    pub reads: Vec<Key>,
    pub action: Action,
    pub max_delay: Duration,
    /// The most that a transaction is held which has only read.
    pub max_delay_after_reads: Duration,
}

impl Gate {
    /// When a hold by this gate ends.
    pub(crate) fn deadline(&self, attempt: &Attempt) -> Instant {
        attempt.deadline_after(self.max_delay, self.max_delay_after_reads)
    }
}

/// A gate in a policy that is in force.
#[derive(Debug)]
pub struct Placed {
    pub slot: Slot,
    pub gate: Gate,
}

impl Placed {
    pub fn name(&self) -> &Arc<str> {
        &self.gate.settings.name
    }

    /// What one needs of it who has this threshold there: its leave, and to be under that.
    pub(crate) fn needs(&self, threshold: f64, restricting: bool) -> impl Iterator<Item = Need> + use<> {
        let own = self.gate.settings.threshold;
        // A looser one is an exemption up to it.
        let gate = (threshold <= own && restricting).then(|| Need::gate(self.slot));
        // And it is never stricter than none: where the gate itself would let one pass, it does too.
        let opens_at = threshold * OPENS_AT;
        let opens_at = if threshold > own { opens_at.max(own) } else { opens_at };
        let under = (threshold != own).then(|| Need::under(self.slot, threshold, opens_at));
        gate.into_iter().chain(under)
    }
}

#[derive(Debug, Default)]
pub struct Gates {
    gates: Vec<Placed>,
    /// For those who look.
    off: Vec<Gate>,
    enforced: Words,
    warned: Words,
    /// Gates that do not concern everybody.
    choosy: u64,
}

/// A bit for each gate's slot.
#[derive(Debug, Default, Clone, Copy)]
struct Words {
    by_class: [u64; Class::ALL.len()],
    logins: u64,
}

/// The gates that a statement is concerned by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Concerning {
    pub(crate) enforced: u64,
    pub(crate) warned: u64,
    /// Of both, those that do not concern everybody.
    pub(crate) choosy: u64,
}

/// The classes that a gate concerns: its own, and what may be one of them.
fn possible(gate: &Gate) -> Classes {
    gate.classes.iter().copied().collect::<Classes>().with_possible().including_calls()
}

impl Gates {
    /// `slots` gives each gate's, by its name. One that is off, or has no slot, is at work nowhere.
    pub fn new(gates: Vec<Gate>, slots: impl Fn(&str) -> Option<Slot>) -> Gates {
        let mut placed = Gates::default();
        for gate in gates {
            let Some(slot) = slots(&gate.settings.name).filter(|_| gate.mode != Mode::Off) else {
                placed.off.push(gate);
                continue;
            };
            let words = match gate.mode {
                Mode::Off => continue,
                Mode::Warn => &mut placed.warned,
                Mode::Enforce => &mut placed.enforced,
            };
            for class in possible(&gate).iter() {
                if let Some(word) = words.by_class.get_mut(class as usize) {
                    *word |= slot.bit();
                }
            }
            if gate.logins {
                words.logins |= slot.bit();
            }
            if gate.matching.is_some() {
                placed.choosy |= slot.bit();
            }
            placed.gates.push(Placed { slot, gate });
        }
        placed
    }

    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Placed> {
        self.gates.iter()
    }

    /// Those that are off.
    pub fn off(&self) -> impl Iterator<Item = &Gate> {
        self.off.iter()
    }

    pub fn at(&self, slot: Slot) -> Option<&Placed> {
        self.gates.iter().find(|placed| placed.slot == slot)
    }

    /// Judged on all facts and on the trusted ones: who is concerned by either is concerned.
    #[inline]
    pub(crate) fn concerning<Q: Query>(&self, who: &Who, question: &Q) -> Concerning {
        let classes = question.classes();
        let of = |words: &Words| {
            let bits = classes.iter().filter_map(|class| words.by_class.get(class as usize));
            bits.fold(0, |all, bits| all | bits)
        };
        let all = Concerning { enforced: of(&self.enforced), warned: of(&self.warned), choosy: 0 };
        if (all.enforced | all.warned) & self.choosy == 0 {
            return all;
        }
        self.choose(all, |matcher| who.concerned(matcher, question))
    }

    pub(crate) fn concerning_login(&self, who: &Who, schema: Option<&[u8]>) -> Concerning {
        let all = Concerning { enforced: self.enforced.logins, warned: self.warned.logins, choosy: 0 };
        self.choose(all, |matcher| who.concerned_by_login(matcher, schema))
    }

    fn choose(&self, all: Concerning, is_concerned: impl Fn(&Matcher) -> bool) -> Concerning {
        let others = |placed: &&Placed| {
            let concerns = placed.gate.matching.as_ref().is_none_or(&is_concerned);
            (all.enforced | all.warned) & placed.slot.bit() != 0 && !concerns
        };
        let not = self.gates.iter().filter(others).fold(0, |bits, placed| bits | placed.slot.bit());
        let (enforced, warned) = (all.enforced & !not, all.warned & !not);
        Concerning { enforced, warned, choosy: (enforced | warned) & self.choosy }
    }

    /// The classes of a gate that concerns everybody, a bit each.
    pub(crate) fn everybodys_classes(placed: &Placed) -> u8 {
        if placed.gate.matching.is_some() {
            return 0;
        }
        possible(&placed.gate).iter().fold(0, |bits, class| bits | 1 << class as u8)
    }

    /// Gates on connections are enforced or warn.
    pub(crate) fn look_at_logins(&self) -> bool {
        self.enforced.logins | self.warned.logins != 0
    }
}
