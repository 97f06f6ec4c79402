//! What a unit may need before it goes.

use std::sync::Arc;

use rules::RuleId;

/// Where a gate's counts and valve are; a gate keeps its slot for as long as it is in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u8);

impl Slot {
    pub const MOST: usize = 64;

    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub fn bit(self) -> u64 {
        1 << (self.0 & 63)
    }

    /// Of a word of bits, the slots.
    pub fn all(mut bits: u64) -> impl Iterator<Item = Slot> {
        std::iter::from_fn(move || {
            let lowest = bits.trailing_zeros();
            bits &= bits.checked_sub(1)?;
            u8::try_from(lowest).ok().map(Slot)
        })
    }
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Thing {
    /// A place under a rule's `max_concurrency`, for the whole unit.
    Rule(RuleId),
    /// A gate's leave, for one statement.
    Gate(Slot),
    /// The gate's metric at most at a threshold of a rule's; the bits of an f64.
    Under(Slot, u64, u64),
}

/// A thing as it stands in the policy of this generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub thing: Thing,
    /// Of a rule.
    pub limit: u32,
    pub generation: u64,
}

impl Need {
    pub fn rule(rule: RuleId, limit: u32, generation: u64) -> Need {
        Need { thing: Thing::Rule(rule), limit, generation }
    }

    pub fn gate(slot: Slot) -> Need {
        Need { thing: Thing::Gate(slot), limit: 0, generation: 0 }
    }

    /// To be under this threshold; once over it, not before the metric has fallen to `opens_at`.
    pub fn under(slot: Slot, threshold: f64, opens_at: f64) -> Need {
        Need { thing: Thing::Under(slot, threshold.to_bits(), opens_at.to_bits()), limit: 0, generation: 0 }
    }
}

/// All that a unit needs, in order, each once. Never empty.
pub type Needs = Arc<[Thing]>;

/// The gates whose leave is among these, a bit each.
pub(super) fn leaves(needs: &[Thing]) -> u64 {
    needs.iter().fold(0, |bits, thing| match thing {
        Thing::Gate(slot) => bits | slot.bit(),
        Thing::Rule(_) | Thing::Under(..) => bits,
    })
}

/// The gates that these are about, by their leave or by a threshold at them.
pub(super) fn gates(needs: &[Thing]) -> u64 {
    needs.iter().fold(0, |bits, thing| match thing {
        Thing::Gate(slot) | Thing::Under(slot, ..) => bits | slot.bit(),
        Thing::Rule(_) => bits,
    })
}

pub(super) fn key(needs: &[Need]) -> Needs {
    let mut things: Vec<Thing> = needs.iter().map(|need| need.thing.clone()).collect();
    things.sort_unstable();
    things.dedup();
    things.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_bits_is_its_slots() {
        for slots in [vec![], vec![0], vec![63], vec![0, 5, 6, 63]] {
            let slots: Vec<Slot> = slots.into_iter().map(Slot).collect();
            let bits = slots.iter().fold(0, |bits, slot| bits | slot.bit());
            assert_eq!(Slot::all(bits).collect::<Vec<_>>(), slots);
        }
    }
}
