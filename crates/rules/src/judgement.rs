//! What a judgement says: the rules that own each field.

mod gates;
mod limits;

use crate::compiled::CompiledRule;
use crate::gates::MOST_THRESHOLDS;
use crate::rule::{Do, Share};
use crate::specificity;
use crate::timestamp::Timestamp;
pub(crate) use gates::{Skips, Thresholds};
pub use limits::MatchingLimits;

#[derive(Debug, Clone, Default)]
pub struct Judgement<'a> {
    /// By the rules in force.
    pub enforced: Fields<'a>,
    /// By the rules in force and those that only warn, if that is different.
    pub with_warned: Option<Fields<'a>>,
    /// Some rule matched, in force or warning.
    pub matched: bool,
}

impl<'a> Judgement<'a> {
    /// Of each field the stricter outcome: for judging on the trusted facts (`self`) and on all of them (`other`).
    pub fn stricter(self, other: Judgement<'a>) -> Judgement<'a> {
        let warned = match (self.with_warned, other.with_warned) {
            (None, None) => None,
            (Some(one), Some(two)) => Some(one.stricter(two)),
            (Some(one), None) => Some(one.stricter(other.enforced.clone())),
            (None, Some(two)) => Some(self.enforced.clone().stricter(two)),
        };
        let enforced = self.enforced.stricter(other.enforced);
        let with_warned = warned.filter(|warned| *warned != enforced);
        Judgement { enforced, with_warned, matched: self.matched || other.matched }
    }
}

/// The owners of what is decided for each query, and the limits that count for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields<'a> {
    /// The rule that says what part passes.
    pub share: Option<&'a CompiledRule>,
    /// The rules whose `max_concurrency` counts.
    pub concurrency: MatchingLimits<'a>,
    pub(crate) weighing: Option<&'a CompiledRule>,
    pub(crate) skips: Skips<'a>,
    pub(crate) thresholds: Thresholds<'a>,
}

impl<'a> Fields<'a> {
    /// Of each field the stricter, or `self`'s if they are alike; of limits all.
    pub fn stricter(self, other: Fields<'a>) -> Fields<'a> {
        let stricter = |one, two, of: fn(Option<&CompiledRule>) -> f64| if of(two) > of(one) { two } else { one };
        Fields {
            share: stricter(self.share, other.share, specificity::of_share),
            concurrency: self.concurrency.joined(other.concurrency),
            weighing: stricter(self.weighing, other.weighing, specificity::of_weight),
            skips: self.skips.stricter(other.skips),
            thresholds: self.thresholds.stricter(other.thresholds),
        }
    }

    /// Larger is stricter; no owner is like a ratio of 0.
    pub fn strictness(&self) -> f64 {
        specificity::of_share(self.share)
    }

    pub fn exempt(&self) -> bool {
        self.share.is_some_and(|rule| rule.effect.share == Some(Share::Exempt))
    }

    /// The threshold that stands at this gate, whose own is `own`. Where one of the judgements that were joined has no
    /// owner for it, the gate's own counts there; the lowest stands.
    pub fn threshold(&self, gate: &str, own: f64) -> f64 {
        self.thresholds.of(gate).map_or(own, |found| if found.own_counts { own.min(found.value) } else { found.value })
    }

    /// The rule that gives another threshold for this gate. The gate's own may still be the lower one.
    pub fn threshold_owner(&self, gate: &str) -> Option<&'a CompiledRule> {
        self.thresholds.of(gate).map(|found| found.owner)
    }

    pub fn has_thresholds(&self) -> bool {
        !self.thresholds.is_empty()
    }

    /// Whether it passes this gate whatever the metric says. One that is exempt passes all of them, and is not asked for
    /// here.
    pub fn skips(&self, gate: &str) -> bool {
        self.skips.skip(gate)
    }

    pub fn has_skips(&self) -> bool {
        !self.skips.is_empty()
    }

    /// The rule whose `skip_gates` stand, if it skips any.
    pub fn skips_owner(&self) -> Option<&'a CompiledRule> {
        self.skips.owner()
    }

    /// Its part when what waits takes turns.
    pub fn weight(&self) -> f64 {
        self.weighing.and_then(|rule| rule.effect.weight).unwrap_or(Do::WEIGHT)
    }

    pub fn weight_owner(&self) -> Option<&'a CompiledRule> {
        self.weighing
    }

    pub fn is_empty(&self) -> bool {
        self.share.is_none()
            && self.concurrency.is_empty()
            && self.weighing.is_none()
            && self.skips.owner().is_none()
            && self.thresholds.is_empty()
    }

    /// The rules that decide anything here, each once: owners and limits.
    pub fn owners(&self) -> impl Iterator<Item = &'a CompiledRule> + use<'a, '_> {
        let mut owners = [None; 3 + MOST_THRESHOLDS];
        let gates = self.weighing.into_iter().chain(self.skips.owner()).chain(self.thresholds.owners());
        for owner in self.share.into_iter().chain(gates) {
            let place = owners.iter_mut().find(|place| place.is_none_or(|known| known == owner));
            place.into_iter().for_each(|place| *place = Some(owner));
        }
        let only_limits = self.concurrency.iter().filter(move |rule| !owners.contains(&Some(*rule)));
        owners.into_iter().flatten().chain(only_limits)
    }

    /// Counts a decision for each of them.
    pub fn count(&self, now: Timestamp) {
        self.owners().for_each(|rule| rule.hits().count(now));
    }
}

/// The rules whose `max_connections` counts for a login, and what concerns a gate on logins.
#[derive(Debug, Clone, Default)]
pub struct LoginJudgement<'a> {
    /// By the rules in force.
    pub enforced: MatchingLimits<'a>,
    /// By the rules in force and those that only warn, if that is different.
    pub with_warned: Option<MatchingLimits<'a>>,
    /// Of these only who passes gates, and their thresholds.
    pub(crate) gates: Fields<'a>,
    pub(crate) gates_with_warned: Fields<'a>,
}

impl<'a> LoginJudgement<'a> {
    /// All limits of both; of what concerns gates the stricter.
    pub fn stricter(self, other: LoginJudgement<'a>) -> LoginJudgement<'a> {
        let warned = match (self.with_warned, other.with_warned) {
            (None, None) => None,
            (Some(one), Some(two)) => Some(one.joined(two)),
            (Some(one), None) => Some(one.joined(other.enforced.clone())),
            (None, Some(two)) => Some(self.enforced.clone().joined(two)),
        };
        let enforced = self.enforced.joined(other.enforced);
        let with_warned = warned.filter(|warned| *warned != enforced);
        LoginJudgement {
            enforced,
            with_warned,
            gates: self.gates.stricter(other.gates),
            gates_with_warned: self.gates_with_warned.stricter(other.gates_with_warned),
        }
    }

    /// Whether the login passes this gate whatever the metric says: it is exempt, or the gate is skipped.
    pub fn skips(&self, gate: &str) -> bool {
        self.gates.exempt() || self.gates.skips(gate)
    }

    /// The same if the rules that only warn were in force.
    pub fn would_skip(&self, gate: &str) -> bool {
        self.gates_with_warned.exempt() || self.gates_with_warned.skips(gate)
    }

    /// The threshold that stands for the login at this gate, whose own is `own`: see [`Fields::threshold`].
    pub fn threshold(&self, gate: &str, own: f64) -> f64 {
        self.gates.threshold(gate, own)
    }

    pub fn threshold_owner(&self, gate: &str) -> Option<&'a CompiledRule> {
        self.gates.threshold_owner(gate)
    }
}
