//! What a judgement says: the rules that own each field.

use crate::compiled::CompiledRule;
use crate::rule::Share;
use crate::specificity;
use crate::timestamp::Timestamp;

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
}

impl<'a> Fields<'a> {
    /// Of `share` the stricter, or `self`'s if they are alike; of limits all.
    pub fn stricter(self, other: Fields<'a>) -> Fields<'a> {
        let others = specificity::of_share(other.share) > specificity::of_share(self.share);
        Fields {
            share: if others { other.share } else { self.share },
            concurrency: self.concurrency.joined(other.concurrency),
        }
    }

    /// Larger is stricter; no owner is like a ratio of 0.
    pub fn strictness(&self) -> f64 {
        specificity::of_share(self.share)
    }

    pub fn exempt(&self) -> bool {
        self.share.is_some_and(|rule| rule.effect.share == Some(Share::Exempt))
    }

    pub fn is_empty(&self) -> bool {
        self.share.is_none() && self.concurrency.is_empty()
    }

    /// Each owner once, whatever it owns.
    pub fn owners(&self) -> impl Iterator<Item = &'a CompiledRule> {
        let share = self.share;
        let limits = self.concurrency.iter().filter(move |rule| Some(*rule) != share);
        share.into_iter().chain(limits)
    }

    /// Counts a decision for every owner.
    pub fn count(&self, now: Timestamp) {
        self.owners().for_each(|rule| rule.hits().count(now));
    }
}

/// The owners of `max_connections`, at login.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoginJudgement<'a> {
    /// By the rules in force.
    pub enforced: Owners<'a>,
    /// By the rules in force and those that only warn, if that is different.
    pub with_warned: Option<Owners<'a>>,
}

impl<'a> LoginJudgement<'a> {
    /// All limits of both.
    pub fn stricter(self, other: LoginJudgement<'a>) -> LoginJudgement<'a> {
        let enforced = self.enforced.joined(other.enforced);
        let warned = match (self.with_warned, other.with_warned) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(self.enforced).joined(two.unwrap_or(other.enforced))),
        };
        LoginJudgement { enforced, with_warned: warned.filter(|warned| *warned != enforced) }
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
