//! Limits have no owner: each one that matches counts.

use crate::compiled::CompiledRule;
use crate::judgement::MatchingLimits;
use crate::rule::Origin;

/// The limits found so far.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitSlots<'a> {
    matching: MatchingLimits<'a>,
    /// A rule of the run time replaces the file's limits.
    overridden: bool,
}

impl<'a> LimitSlots<'a> {
    pub(super) fn add(&mut self, rule: &'a CompiledRule) {
        self.matching.add(rule);
        self.overridden |= rule.replaces_file();
    }

    pub(super) fn would_change(&self, rule: &CompiledRule) -> bool {
        let is_replaced = self.overridden && rule.origin == Origin::File;
        !is_replaced && !self.matching.contains(rule)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.matching.is_empty()
    }

    pub(super) fn counting(self) -> MatchingLimits<'a> {
        if self.overridden { self.matching.without_file() } else { self.matching }
    }
}
