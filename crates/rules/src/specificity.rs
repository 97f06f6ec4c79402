//! Which of two rules is the more specific: priority, then the number of keys, then how exactly they fit, then the
//! stricter, then the id.

use std::cmp::Ordering;

use crate::compiled::CompiledRule;
use crate::rule::{Do, Share};

/// How the best fitting value of a condition fits, from the least to the most specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// `*` alone: it says nothing about who asks, so it is less than any network.
    Anybody,
    /// A network and the length of its prefix. A single address is exact.
    Network(u8),
    Glob,
    Exact,
}

/// How all conditions of a rule fit together: the more exact values the better, then the more globs, then the longer prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Exactness {
    exact: u16,
    globs: u16,
    prefix: u8,
}

impl Exactness {
    pub(crate) fn add(&mut self, fit: Fit) {
        match fit {
            Fit::Anybody => {}
            Fit::Network(prefix) => self.prefix = self.prefix.saturating_add(prefix),
            Fit::Glob => self.globs = self.globs.saturating_add(1),
            Fit::Exact => self.exact = self.exact.saturating_add(1),
        }
    }
}

/// A rule that matched, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) rule: &'a CompiledRule,
    pub(crate) exactness: Exactness,
}

impl Claim<'_> {
    /// `Greater` if it owns the field rather than the other. Equal only to itself.
    pub(crate) fn compare(&self, other: &Claim<'_>, strictness: impl Fn(&CompiledRule) -> f64) -> Ordering {
        let (one, two) = (self.rule, other.rule);
        self.rank(other)
            .then_with(|| strictness(one).total_cmp(&strictness(two)))
            .then_with(|| two.id.cmp(&one.id))
            .then_with(|| two.index().cmp(&one.index()))
    }

    /// The same, whatever the rules say.
    pub(crate) fn rank(&self, other: &Claim<'_>) -> Ordering {
        let (one, two) = (self.rule, other.rule);
        (one.priority.cmp(&two.priority))
            .then_with(|| one.keys().cmp(&two.keys()))
            .then_with(|| self.exactness.cmp(&other.exactness))
    }
}

/// No owner is as strict as a ratio of 0: everybody takes part, nobody loses.
pub(crate) fn of_share(owner: Option<&CompiledRule>) -> f64 {
    owner.and_then(|rule| rule.effect.share).map_or(0.0, Share::strictness)
}

pub(crate) fn share(rule: &CompiledRule) -> f64 {
    of_share(Some(rule))
}

/// The lower the stricter. No owner is like a weight of 1.
pub(crate) fn of_weight(owner: Option<&CompiledRule>) -> f64 {
    -owner.and_then(|rule| rule.effect.weight).unwrap_or(Do::WEIGHT)
}

pub(crate) fn weight(rule: &CompiledRule) -> f64 {
    of_weight(Some(rule))
}
