//! The same for what rules say about gates.

use std::cmp::Ordering;

use super::{Slot, counts_with, overrides};
use crate::compiled::CompiledRule;
use crate::gates::MOST_THRESHOLDS;
use crate::judgement::{Skips, Thresholds};
use crate::rule::Origin;
use crate::specificity::Claim;

/// Each gate's threshold is a field of its own, so that a rule on one gate hides nothing that another says of another.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ThresholdSlots<'a> {
    gates: [Slot<'a>; MOST_THRESHOLDS],
    any: bool,
}

impl<'a> ThresholdSlots<'a> {
    pub(super) fn add(&mut self, claim: Claim<'a>) {
        self.any = true;
        for place in claim.rule.gates().thresholds.iter().map(|threshold| threshold.place) {
            if let Some(slot) = self.gates.get_mut(place) {
                slot.add(claim, strictness_at(place));
            }
        }
    }

    pub(super) fn would_change(&self, claim: &Claim<'a>) -> bool {
        let mut places = claim.rule.gates().thresholds.iter().map(|threshold| threshold.place);
        places.any(|place| self.gates.get(place).is_some_and(|slot| slot.would_change(claim, strictness_at(place))))
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    pub(super) fn stand(&self) -> Thresholds<'a> {
        if !self.any {
            return Thresholds::default();
        }
        let mut places = 0..;
        Thresholds::new(self.gates.map(|slot| {
            let place = places.next().unwrap_or_default();
            slot.stricter(strictness_at(place))
        }))
    }
}

/// The lower the stricter.
fn strictness_at(place: usize) -> impl Fn(&CompiledRule) -> f64 {
    move |rule| rule.gates().at(place).map_or(f64::NEG_INFINITY, |threshold| -threshold.value)
}

/// `skip_gates` is one field. Of equally specific rules, what they all skip is skipped.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SkipSlot<'a> {
    file: Option<Skipping<'a>>,
    runtime: Option<Skipping<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct Skipping<'a> {
    claim: Claim<'a>,
    bits: u64,
}

impl<'a> SkipSlot<'a> {
    pub(crate) fn add(&mut self, claim: Claim<'a>, bits: u64) {
        let [file, runtime] = counts_with(claim.rule.origin);
        for (slot, counts) in [(&mut self.file, file), (&mut self.runtime, runtime)] {
            if counts {
                *slot = Some(slot.map_or(Skipping { claim, bits }, |known| known.with(claim, bits)));
            }
        }
    }

    pub(super) fn would_change(&self, claim: &Claim<'a>) -> bool {
        let [file, runtime] = counts_with(claim.rule.origin);
        let changes = |slot: &Option<Skipping<'a>>| slot.is_none_or(|known| claim.rank(&known.claim) != Ordering::Less);
        (file && changes(&self.file)) || (runtime && changes(&self.runtime))
    }

    /// The owner among the rules that a rule of this origin competes with.
    pub(crate) fn owner(&self, origin: Origin) -> Option<Claim<'a>> {
        let slot = if origin == Origin::Runtime { self.runtime } else { self.file };
        slot.map(|skipping| skipping.claim)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.file.is_none() && self.runtime.is_none()
    }

    /// What both skip, unless the one of the run time overrides.
    pub(super) fn stands(&self) -> Skips<'a> {
        let of = |skipping: Skipping<'a>| Skips::new(Some(skipping.claim.rule), skipping.bits);
        match (self.file, self.runtime) {
            (Some(_), Some(runtime)) if overrides(runtime.claim) => of(runtime),
            (Some(file), Some(runtime)) => of(file).stricter(of(runtime)),
            (one, two) => one.or(two).map(of).unwrap_or_default(),
        }
    }
}

impl<'a> Skipping<'a> {
    fn with(self, claim: Claim<'a>, bits: u64) -> Skipping<'a> {
        match claim.rank(&self.claim) {
            Ordering::Greater => Skipping { claim, bits },
            Ordering::Less => self,
            Ordering::Equal => {
                let first = claim.compare(&self.claim, |_| 0.0) == Ordering::Greater;
                Skipping { claim: if first { claim } else { self.claim }, bits: self.bits & bits }
            }
        }
    }
}
