//! What a unit got, each part for as long as it is needed.

use std::sync::Arc;

use health::Work;
use health::valve::Charge;
use rules::RuleId;

use super::need::{Needs, Slot, Thing, leaves};
use super::{Grant, Limits};

/// Taken together; given back one by one.
#[derive(Debug, Default)]
pub struct Taken {
    /// Under rules, until the unit ends.
    pub places: Option<Places>,
    /// Of gates, until the statement has begun and is counted where it runs.
    pub leave: Option<Places>,
    /// By gates that count work, until it is known what was committed.
    pub charges: Option<Charges>,
}

impl Taken {
    pub(super) fn new(limits: &Arc<Limits>, grant: Grant) -> Taken {
        let Grant { needs, charges } = grant;
        let is_of_unit = |thing: &&Thing| matches!(thing, Thing::Rule(_));
        let places = |needs: Needs| (!needs.is_empty()).then(|| Places::new(limits, needs));
        let of_unit: Needs = needs.iter().filter(is_of_unit).cloned().collect();
        let of_statement: Needs =
            if of_unit.is_empty() { needs } else { needs.iter().filter(|need| !is_of_unit(need)).cloned().collect() };
        let charges = (!charges.is_empty()).then(|| Charges { limits: Arc::clone(limits), charges });
        Taken { places: places(of_unit), leave: places(of_statement), charges }
    }
}

/// Places under limits; given back when dropped.
#[derive(Debug)]
pub struct Places {
    limits: Arc<Limits>,
    needs: Needs,
}

impl Places {
    fn new(limits: &Arc<Limits>, needs: Needs) -> Places {
        Places { limits: Arc::clone(limits), needs }
    }

    /// The gates whose leave it is, a bit each.
    pub fn gates(&self) -> u64 {
        leaves(&self.needs)
    }

    /// The rules that it is under, if it is of these limits.
    pub fn rules_under(&self, limits: &Arc<Limits>) -> impl Iterator<Item = &RuleId> {
        let needs: &[Thing] = if Arc::ptr_eq(&self.limits, limits) { &self.needs } else { &[] };
        needs.iter().filter_map(|thing| match thing {
            Thing::Rule(rule) => Some(rule),
            Thing::Gate(_) | Thing::Under(..) => None,
        })
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let mut state = self.limits.lock();
        state.pools.give_back(&self.needs);
        state.call();
    }
}

/// What gates expect that a unit will commit. Dropped without a word, it committed nothing.
#[derive(Debug)]
pub struct Charges {
    limits: Arc<Limits>,
    charges: Vec<(Slot, Charge)>,
}

impl Charges {
    /// A gate charges a unit once, however often it is asked for its leave: what a unit has been charged for already is given back.
    pub fn but_for(&mut self, earlier: &[Charges]) {
        let is_known = |slot: Slot| {
            let mut same = earlier.iter().filter(|earlier| Arc::ptr_eq(&earlier.limits, &self.limits));
            same.any(|earlier| earlier.charges.iter().any(|(known, _)| *known == slot))
        };
        let (again, new): (Vec<_>, Vec<_>) = self.charges.drain(..).partition(|(slot, _)| is_known(*slot));
        self.charges = again;
        self.tell(Work::NONE);
        self.charges = new;
    }

    pub fn is_empty(&self) -> bool {
        self.charges.is_empty()
    }

    /// What it was in the end.
    pub fn settle(mut self, work: Work) {
        self.tell(work);
    }

    fn tell(&mut self, work: Work) {
        if self.charges.is_empty() {
            return;
        }
        let mut state = self.limits.lock();
        for (slot, charge) in self.charges.drain(..) {
            state.pools.settle(slot, charge, work);
        }
    }
}

impl Drop for Charges {
    fn drop(&mut self) {
        self.tell(Work::NONE);
    }
}
