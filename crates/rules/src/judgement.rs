//! What a judgement says: the rules that own each field.

mod gates;

use crate::compiled::CompiledRule;
use crate::gates::MOST_THRESHOLDS;
use crate::rule::{Do, Share};
use crate::specificity;
use crate::timestamp::Timestamp;
pub(crate) use gates::{Skips, Thresholds};

#[derive(Debug, Clone, Copy, Default)]
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
        let enforced = self.enforced.stricter(other.enforced);
        let warned = match (self.with_warned, other.with_warned) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(self.enforced).stricter(two.unwrap_or(other.enforced))),
        };
        let with_warned = warned.filter(|warned| *warned != enforced);
        Judgement { enforced, with_warned, matched: self.matched || other.matched }
    }
}

/// The owners of what is decided for each query.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fields<'a> {
    /// The rule that says what part passes.
    pub share: Option<&'a CompiledRule>,
    /// The rules whose `max_concurrency` counts. A unit needs a place under each.
    pub concurrency: Owners<'a>,
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

    /// Each owner once, whatever it owns.
    pub fn owners(&self) -> impl Iterator<Item = &'a CompiledRule> + use<'a> {
        let mut owners = [None; 1 + Owners::MOST + 2 + MOST_THRESHOLDS];
        let gates = self.weighing.into_iter().chain(self.skips.owner()).chain(self.thresholds.owners());
        for owner in self.share.into_iter().chain(self.concurrency.iter()).chain(gates) {
            let place = owners.iter_mut().find(|place| place.is_none_or(|known| known == owner));
            place.into_iter().for_each(|place| *place = Some(owner));
        }
        owners.into_iter().flatten()
    }

    /// Counts a decision for every owner.
    pub fn count(&self, now: Timestamp) {
        self.owners().for_each(|rule| rule.hits().count(now));
    }
}

/// The owners of `max_connections`, at login, and what concerns a gate on logins.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoginJudgement<'a> {
    /// By the rules in force.
    pub enforced: Owners<'a>,
    /// By the rules in force and those that only warn, if that is different.
    pub with_warned: Option<Owners<'a>>,
    /// Of these only who passes gates, and their thresholds.
    pub(crate) gates: Fields<'a>,
    pub(crate) gates_with_warned: Fields<'a>,
}

impl<'a> LoginJudgement<'a> {
    /// All limits of both; of what concerns gates the stricter.
    pub fn stricter(self, other: LoginJudgement<'a>) -> LoginJudgement<'a> {
        let enforced = self.enforced.joined(other.enforced);
        let warned = match (self.with_warned, other.with_warned) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(self.enforced).joined(two.unwrap_or(other.enforced))),
        };
        LoginJudgement {
            enforced,
            with_warned: warned.filter(|warned| *warned != enforced),
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

/// A few rules whose limits all count, without allocation. Each is in it once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Owners<'a> {
    rules: [Option<(&'a CompiledRule, u32)>; Owners::MOST],
}

impl<'a> Owners<'a> {
    /// File and run time, trusted and claimed give four. Only a statement on several tables, each with a limit of its
    /// own, can have more; then the lowest limits are kept.
    pub const MOST: usize = 8;

    pub fn iter(&self) -> impl Iterator<Item = &'a CompiledRule> + use<'a> {
        self.rules.into_iter().map_while(|owner| owner.map(|(rule, _)| rule))
    }

    pub fn len(&self) -> usize {
        self.iter().count()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.first().is_none_or(Option::is_none)
    }

    pub fn contains(&self, rule: &CompiledRule) -> bool {
        self.iter().any(|owner| owner == rule)
    }

    pub(crate) fn add(&mut self, rule: &'a CompiledRule, limit: u32) {
        if self.contains(rule) {
            return;
        }
        if let Some(free) = self.rules.iter_mut().find(|place| place.is_none()) {
            *free = Some((rule, limit));
            return;
        }
        let loosest = self.rules.iter_mut().max_by_key(|place| place.map(|(_, limit)| limit));
        if let Some(loosest) = loosest
            && loosest.is_some_and(|(_, known)| known > limit)
        {
            *loosest = Some((rule, limit));
        }
    }

    pub(crate) fn joined(mut self, other: Owners<'a>) -> Owners<'a> {
        other.rules.into_iter().flatten().for_each(|(rule, limit)| self.add(rule, limit));
        self
    }
}

/// The same rules, in whatever order.
impl PartialEq for Owners<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|rule| other.contains(rule))
    }
}
