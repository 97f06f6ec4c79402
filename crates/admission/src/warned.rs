//! What rules and gates in `warn` would have done to a unit that passes.

use rules::{CompiledRule, Fields, RuleId};
use tokio::time::Instant;

use crate::attempt::{Attempt, Step};
use crate::decision::Contest;
use crate::gatekeeper::Gatekeeper;
use crate::limits::{Need, Slot, Taken, Thing};
use crate::policy::Policy;
use crate::refusal::Reason;
use crate::stats::{ClientStats, Effect};
use crate::unit::Bound;

/// A unit that passes.
pub(crate) struct Passing<'a> {
    pub(crate) keeper: &'a Gatekeeper,
    pub(crate) policy: &'a Policy,
    pub(crate) stats: &'a ClientStats,
    /// Limits that only warn under which its unit counts already.
    pub(crate) had: &'a [RuleId],
}

impl Passing<'_> {
    /// Counts it once if a rule or a gate that only warns would have held or refused it. They count in pools of their own,
    /// which never say no.
    pub(crate) fn warn(&self, contest: &Contest<'_>, roll: &mut dyn FnMut() -> f64) -> Option<Taken> {
        let (enforced, all) = (&contest.owners.enforced, contest.owners.with_warned());
        let share = all.share.filter(|rule| Some(*rule) != enforced.share);
        let lost = share.and_then(|rule| self.would_lose(rule, contest.bound, roll));
        if let (Some(rule), Some(reason)) = (share, lost) {
            self.stats.by_rule(&rule.id, reason, Effect::Warned);
        }
        let (taken, full) = self.join(contest);
        if lost.is_some() || full {
            self.stats.warned();
        }
        taken
    }

    fn would_lose(&self, rule: &CompiledRule, bound: Bound, roll: &mut dyn FnMut() -> f64) -> Option<Reason> {
        let now = Instant::now();
        match Attempt::new(now, bound).step(Some(rule), &self.policy.defaults, now, roll) {
            Step::Wait(_) | Step::Refuse(_) => Some(Reason::of_share(rule)),
            Step::Go | Step::Exempt => None,
        }
    }

    /// Counts a unit that passes for another reason under the limits that only warn: it would not have waited for them
    /// either, but others would have waited for it.
    pub(crate) fn count(&self, enforced: &Fields<'_>, all: &Fields<'_>) -> Option<Taken> {
        self.keeper.shadows.force(&self.limits(enforced, all))
    }

    /// The limits that only warn under which its unit does not count yet.
    fn limits(&self, enforced: &Fields<'_>, all: &Fields<'_>) -> Vec<Need> {
        let only_warns = |rule: &RuleId| !enforced.concurrency.iter().any(|enforced| enforced.id == *rule);
        let counts = |need: &Need| match &need.thing {
            Thing::Rule(rule) => !self.had.contains(rule) && only_warns(rule),
            Thing::Gate(_) | Thing::Under(..) => true,
        };
        self.policy.needs(all).filter(counts).collect()
    }

    fn join(&self, contest: &Contest<'_>) -> (Option<Taken>, bool) {
        let (enforced, all) = (&contest.owners.enforced, contest.owners.with_warned());
        if all.exempt() {
            return (self.count(enforced, all), false);
        }
        let mut needs = self.limits(enforced, all);
        needs.extend(self.policy.gate_needs(all, contest.warning, contest.warning != 0));
        if needs.is_empty() {
            return (None, false);
        }
        let (taken, full) = self.keeper.shadows.join(&needs);
        for thing in &full {
            match thing {
                Thing::Rule(rule) => self.stats.by_rule(rule, Reason::Concurrency, Effect::Warned),
                Thing::Gate(slot) | Thing::Under(slot, ..) => self.blame_gate(*slot),
            }
        }
        (Some(taken), !full.is_empty())
    }

    fn blame_gate(&self, slot: Slot) {
        if let Some(placed) = self.policy.gates.at(slot) {
            self.stats.by_rule(placed.name(), Reason::Gate, Effect::Warned);
        }
    }
}
