//! The one decision: what the rules and gates that are in force say of a statement.
//!
//! It is a value, and pure: no dice are rolled for it, no place is taken, and it is told the time. A session that asks, a unit that
//! waits, a rule that only warns and `explain` all act on it, so that they cannot disagree.

use std::sync::Arc;

use rules::{Fields, InTransaction, Timestamp};

use crate::limits::Need;
use crate::policy::{Concerning, Policy};
use crate::port::Refusal;
use crate::question::Decidable;
use crate::unit::{Bound, Turn};
use crate::who::Who;

/// Everything that a decision depends on, but for the time.
pub(crate) struct Situation<'a, 'p, Q> {
    pub(crate) policy: &'p Policy,
    pub(crate) who: &'a Who,
    pub(crate) question: &'a Q,
    pub(crate) turn: &'a Turn,
    pub(crate) gates: GatesNow,
    pub(crate) enforcing: Enforcing,
}

/// Which rules count as enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enforcing {
    AsConfigured,
    /// Also those that only warn: what would come of it if nothing only warned.
    Everything,
}

/// The gates as they stand, a bit each.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GatesNow {
    pub(crate) concerning: Concerning,
    /// Of those that are enforced, the ones that restrict something.
    pub(crate) restricting: u64,
    /// Of those that only warn, the ones that would.
    pub(crate) warning: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision<'p> {
    /// It passes, and no rule and no gate has a word in it.
    Pass(Why),
    /// Its unit has been decided, so it passes; others wait for it under the limits that match.
    PassCounted(Owners<'p>),
    /// A rule names it and rejects all, also in a transaction that has written.
    Reject(Owners<'p>, Bound),
    /// Its transaction has been refused.
    RejectAgain(Arc<Refusal>),
    /// Dice, limits and gates, in this order.
    Contest(Contest<'p>),
}

/// Why nothing has a word in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    NeverDelayed,
    /// Its unit has been decided.
    GoesOn,
    /// No rule matches, and no gate that restricts concerns it.
    NoRule,
}

/// The owners of each field at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Owners<'p> {
    pub(crate) enforced: Fields<'p>,
    /// With the rules that only warn, if that is different.
    pub(crate) warned: Option<Fields<'p>>,
    pub(crate) now: Timestamp,
}

impl GatesNow {
    /// As if no gate only warned.
    pub(crate) fn all_enforced(self) -> GatesNow {
        let Concerning { enforced, warned, choosy } = self.concerning;
        let concerning = Concerning { enforced: enforced | warned, warned: 0, choosy };
        GatesNow { concerning, restricting: self.restricting | self.warning, warning: 0 }
    }
}

impl<'p> Owners<'p> {
    /// With the rules that only warn.
    pub(crate) fn with_warned(&self) -> &Fields<'p> {
        self.warned.as_ref().unwrap_or(&self.enforced)
    }

    /// Counts the decision for every rule that decides, or would.
    pub(crate) fn count(&self) {
        self.enforced.count(self.now);
        for rule in self.warned.iter().flat_map(Fields::owners) {
            if !self.enforced.owners().any(|owner| owner == rule) {
                rule.hits().count(self.now);
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contest<'p> {
    pub(crate) owners: Owners<'p>,
    pub(crate) bound: Bound,
    /// Gates may hold it: it is no statement of a transaction that has written, which must finish whatever the metrics say.
    pub(crate) is_gated: bool,
    /// The enforced gates that concern it, a bit each.
    gates: u64,
    /// One of them restricts something.
    is_restricted: bool,
    /// The gates that only warn, concern it and would restrict something, a bit each.
    pub(crate) warning: u64,
}

impl Contest<'_> {
    /// The limits that its unit must have places under, and the gates whose leave it needs.
    pub(crate) fn needs(&self, policy: &Policy) -> Vec<Need> {
        let mut needs: Vec<Need> = policy.needs(&self.owners.enforced).collect();
        if self.is_gated {
            needs.extend(policy.gate_needs(&self.owners.enforced, self.gates, self.is_restricted));
        }
        needs
    }

    /// Something that only warns has a word in it.
    pub(crate) fn warns(&self) -> bool {
        self.owners.warned.is_some() || self.warning != 0
    }
}

/// `now` is asked only if some rule may match or some gate has a word in it.
#[inline]
pub(crate) fn decide<'p, Q: Decidable>(
    situation: &Situation<'_, 'p, Q>,
    now: impl FnOnce() -> Timestamp,
) -> Decision<'p> {
    let Situation { policy, who, question, turn, gates, .. } = *situation;
    let (bound, is_gated) = match turn {
        Turn::Free => return Decision::Pass(Why::NeverDelayed),
        Turn::GoesOn => return decide_passing(situation, now),
        Turn::GoesOnUnlessRuled if !policy.rules_on_transactions => return decide_passing(situation, now),
        Turn::GoesOnUnlessRuled => (Bound::Locked, false),
        Turn::Decide(bound) => (*bound, true),
        Turn::Refused(refusal) => return Decision::RejectAgain(Arc::clone(refusal)),
    };
    let is_restricted = is_gated && gates.concerning.enforced & gates.restricting != 0;
    let warning = if is_gated { gates.concerning.warned & gates.warning } else { 0 };
    let gates_matter = is_restricted || warning != 0;
    if gates_matter {
        question.mind_gates();
    } else if policy.is_idle() || !who.may_match(policy, question) {
        return Decision::Pass(Why::NoRule);
    }
    let (owners, some_match) = judge(situation, now());
    if !some_match && !gates_matter {
        return Decision::Pass(Why::NoRule);
    }
    if policy.rejects_certainly(&owners.enforced, question) {
        return Decision::Reject(owners, bound);
    }
    if !is_gated && owners.enforced.share.is_none_or(|rule| rule.in_transaction == InTransaction::Pass) {
        return Decision::PassCounted(owners);
    }
    Decision::Contest(Contest { owners, bound, is_gated, gates: gates.concerning.enforced, is_restricted, warning })
}

/// Of a unit that has been decided, or that holds locks: it passes, unless a certain rejection names it, and counts under the limits.
#[inline]
fn decide_passing<'p, Q: Decidable>(situation: &Situation<'_, 'p, Q>, now: impl FnOnce() -> Timestamp) -> Decision<'p> {
    let Situation { policy, who, question, .. } = *situation;
    let matters = policy.limits_concurrency() || policy.has_certain_rejections();
    if !matters || policy.is_idle() || !who.may_match(policy, question) {
        return Decision::Pass(Why::GoesOn);
    }
    let (owners, some_match) = judge(situation, now());
    if !some_match {
        Decision::Pass(Why::GoesOn)
    } else if policy.rejects_certainly(&owners.enforced, question) {
        Decision::Reject(owners, Bound::Locked)
    } else {
        Decision::PassCounted(owners)
    }
}

/// The owners, and whether any rule matches.
pub(crate) fn judge<'p, Q: Decidable>(situation: &Situation<'_, 'p, Q>, now: Timestamp) -> (Owners<'p>, bool) {
    let Situation { policy, who, question, enforcing, .. } = *situation;
    if policy.is_idle() {
        return (Owners { enforced: Fields::default(), warned: None, now }, false);
    }
    let judgement = who.judge(policy, question, now);
    let some_match = judgement.matched;
    let (enforced, warned) = policy.in_force(judgement);
    let owners = match enforcing {
        Enforcing::AsConfigured => Owners { enforced, warned, now },
        Enforcing::Everything => Owners { enforced: warned.unwrap_or(enforced), warned: None, now },
    };
    (owners, some_match)
}

impl<Q> Clone for Situation<'_, '_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q> Copy for Situation<'_, '_, Q> {}
