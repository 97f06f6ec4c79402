//! What rules say about gates, made ready for a judgement: gates are told by their place among those that the rules of a
//! set name.

use std::collections::HashMap;

use crate::rule::{Do, GateName, Rule};

/// Gates for which the rules of one set may give thresholds, so that who owns them is known without allocation. Of those
/// that come later the gate's own stand.
pub const MOST_THRESHOLDS: usize = 8;

/// Of those that come later, none is skipped.
const MOST_SKIPS: usize = 64;

/// The names in all rules of a set, by their places.
#[derive(Debug, Default)]
pub(crate) struct GateNames {
    thresholds: HashMap<GateName, usize>,
    skips: HashMap<GateName, usize>,
}

impl GateNames {
    pub(crate) fn of(rules: &[Rule]) -> GateNames {
        let mut names = GateNames::default();
        for effect in rules.iter().map(|rule| &rule.effect) {
            effect.thresholds.keys().for_each(|gate| place(&mut names.thresholds, gate, MOST_THRESHOLDS));
            effect.skip_gates.iter().flatten().for_each(|gate| place(&mut names.skips, gate, MOST_SKIPS));
        }
        names
    }
}

fn place(places: &mut HashMap<GateName, usize>, gate: &GateName, most: usize) {
    let next = places.len();
    if next < most && !places.contains_key(gate) {
        places.insert(gate.clone(), next);
    }
}

/// What one rule says.
#[derive(Debug, Default)]
pub(crate) struct GateEffect {
    pub(crate) thresholds: Box<[Threshold]>,
    /// A bit for each gate that it skips. `None`: it says nothing about that.
    pub(crate) skips: Option<u64>,
    /// The gates of the bits.
    skipped: Box<[(GateName, u64)]>,
}

#[derive(Debug)]
pub(crate) struct Threshold {
    pub(crate) gate: GateName,
    /// Below [`MOST_THRESHOLDS`].
    pub(crate) place: usize,
    pub(crate) value: f64,
}

impl GateEffect {
    pub(crate) fn new(effect: &Do, names: &GateNames) -> GateEffect {
        let threshold = |(gate, value): (&GateName, &f64)| {
            let place = names.thresholds.get(gate).copied()?;
            Some(Threshold { gate: gate.clone(), place, value: *value })
        };
        let bit = |gate: &GateName| Some((gate.clone(), 1 << names.skips.get(gate)?));
        let skipped: Box<[(GateName, u64)]> = effect.skip_gates.iter().flatten().filter_map(bit).collect();
        GateEffect {
            thresholds: effect.thresholds.iter().filter_map(threshold).collect(),
            skips: effect.skip_gates.as_ref().map(|_| skipped.iter().fold(0, |bits, (_, bit)| bits | bit)),
            skipped,
        }
    }

    pub(crate) fn at(&self, place: usize) -> Option<&Threshold> {
        self.thresholds.iter().find(|threshold| threshold.place == place)
    }

    /// No bit if it does not skip it.
    pub(crate) fn bit(&self, gate: &str) -> u64 {
        self.skipped.iter().find(|(name, _)| **name == *gate).map_or(0, |(_, bit)| *bit)
    }
}
