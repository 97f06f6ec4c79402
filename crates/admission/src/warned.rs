//! What rules in `warn` would have done to a unit that passes.

use rules::{CompiledRule, Fields, RuleId};
use tokio::time::Instant;

use crate::attempt::{Attempt, Step};
use crate::gatekeeper::Gatekeeper;
use crate::limits::{Need, Places};
use crate::policy::Policy;
use crate::refusal::Reason;
use crate::stats::{ClientStats, Effect};
use crate::unit::Bound;

/// A unit that passes.
pub(crate) struct Passing<'a> {
    pub(crate) keeper: &'a Gatekeeper,
    pub(crate) policy: &'a Policy,
    pub(crate) stats: &'a ClientStats,
    pub(crate) bound: Bound,
    /// Limits that only warn under which its unit counts already.
    pub(crate) had: &'a [RuleId],
}

impl Passing<'_> {
    /// Counts it once if a rule that only warns would have held or refused it. Limits are counted in pools of their own,
    /// which never say no.
    pub(crate) fn warn(
        &self,
        enforced: &Fields<'_>,
        with_warned: &Fields<'_>,
        roll: &mut dyn FnMut() -> f64,
    ) -> Option<Places> {
        let share = with_warned.share.filter(|rule| Some(*rule) != enforced.share);
        let lost = share.and_then(|rule| self.would_lose(rule, roll));
        if let (Some(rule), Some(reason)) = (share, lost) {
            self.stats.by_rule(&rule.id, reason, Effect::Warned);
        }
        let (places, full) = self.join(enforced, with_warned);
        if lost.is_some() || full {
            self.stats.warned();
        }
        places
    }

    fn would_lose(&self, rule: &CompiledRule, roll: &mut dyn FnMut() -> f64) -> Option<Reason> {
        let now = Instant::now();
        match Attempt::new(now, self.bound).step(Some(rule), &self.policy.defaults, now, roll) {
            Step::Wait(_) | Step::Refuse(_) => Some(Reason::of_share(rule)),
            Step::Go | Step::Exempt => None,
        }
    }

    fn join(&self, enforced: &Fields<'_>, with_warned: &Fields<'_>) -> (Option<Places>, bool) {
        if with_warned.exempt() {
            return (None, false);
        }
        let counts = |need: &Need| {
            !self.had.contains(&need.rule) && !enforced.concurrency.iter().any(|rule| rule.id == need.rule)
        };
        let needs: Vec<Need> = self.policy.needs(with_warned).filter(counts).collect();
        if needs.is_empty() {
            return (None, false);
        }
        let (places, full) = self.keeper.shadows.join(&needs);
        full.iter().for_each(|rule| self.stats.by_rule(rule, Reason::Concurrency, Effect::Warned));
        (Some(places), !full.is_empty())
    }
}
