//! Who owns the thresholds and the skipping of gates, without allocation.

use crate::compiled::CompiledRule;
use crate::gates::MOST_THRESHOLDS;

/// The owners, by the place of their gate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Thresholds<'a> {
    owners: [Option<&'a CompiledRule>; MOST_THRESHOLDS],
    /// A bit for each gate that some judgement has no owner for, so that its own threshold counts too.
    own_counts: u8,
}

/// What is known of a gate that has an owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) owner: &'a CompiledRule,
    pub(crate) value: f64,
    pub(crate) own_counts: bool,
}

impl<'a> Thresholds<'a> {
    pub(crate) fn new(owners: [Option<&'a CompiledRule>; MOST_THRESHOLDS]) -> Thresholds<'a> {
        Thresholds { owners, own_counts: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owners.iter().all(Option::is_none)
    }

    pub(crate) fn of(&self, gate: &str) -> Option<Found<'a>> {
        self.owners.iter().enumerate().find_map(|(place, owner)| {
            let owner = (*owner)?;
            let threshold = owner.gates().at(place).filter(|threshold| *threshold.gate == *gate)?;
            Some(Found { owner, value: threshold.value, own_counts: self.own_counts & (1 << place) != 0 })
        })
    }

    /// Each owner once.
    pub(crate) fn owners(self) -> impl Iterator<Item = &'a CompiledRule> {
        let owners = self.owners;
        owners.into_iter().enumerate().filter_map(move |(at, owner)| {
            owner.filter(|owner| !owners.iter().take(at).any(|other| *other == Some(*owner)))
        })
    }

    /// Of each gate the lower, or `self`'s if they are alike.
    pub(crate) fn stricter(mut self, other: Thresholds<'a>) -> Thresholds<'a> {
        if self.is_empty() && other.is_empty() {
            return self;
        }
        self.own_counts |= other.own_counts;
        for (place, (mine, theirs)) in self.owners.iter_mut().zip(other.owners).enumerate() {
            match (*mine, theirs) {
                (None, None) => {}
                (Some(_), None) | (None, Some(_)) => {
                    self.own_counts |= 1 << place;
                    *mine = mine.or(theirs);
                }
                (Some(one), Some(two)) if value(two, place) < value(one, place) => *mine = theirs,
                (Some(_), Some(_)) => {}
            }
        }
        self
    }
}

fn value(rule: &CompiledRule, place: usize) -> f64 {
    rule.gates().at(place).map_or(f64::INFINITY, |threshold| threshold.value)
}

/// The gates that are skipped, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Skips<'a> {
    owner: Option<&'a CompiledRule>,
    /// Never more than the owner skips.
    bits: u64,
}

impl<'a> Skips<'a> {
    pub(crate) fn new(owner: Option<&'a CompiledRule>, bits: u64) -> Skips<'a> {
        Skips { owner, bits }
    }

    pub(crate) fn owner(&self) -> Option<&'a CompiledRule> {
        self.owner
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bits == 0
    }

    pub(crate) fn skip(&self, gate: &str) -> bool {
        self.bits != 0 && self.owner.is_some_and(|owner| owner.gates().bit(gate) & self.bits != 0)
    }

    /// What both skip. No owner skips nothing.
    pub(crate) fn stricter(self, other: Skips<'a>) -> Skips<'a> {
        let bits = self.bits & other.bits;
        let others = other.bits.count_ones() < self.bits.count_ones();
        Skips { owner: if others { other.owner } else { self.owner }, bits }
    }
}
