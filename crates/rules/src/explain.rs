//! Why each rule does or does not decide a query, for people. Slow: it looks at every rule and at every condition.

mod matched;
mod words;

use identity::Identity;

use crate::compiled::CompiledRule;
use crate::matching::Key;
use crate::query::Query;
use crate::rule::{GateName, Mode};
use crate::ruleset::RuleSet;
use crate::timestamp::Timestamp;

/// A rule, and what became of it. [`Outcome`] prints as a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Considered<'a> {
    pub rule: &'a CompiledRule,
    pub outcome: Outcome<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<'a> {
    Matches {
        /// Warn: what it owns and who shields it is as if it were in force.
        mode: Mode,
        /// It may match only in part, or in doubt: not all of the statement's tables are the rule's, or one of several statements
        /// or readings is. Such a rule can only make things stricter.
        partly: bool,
        /// Fields that it owns, and limits of its that count.
        owns: Vec<Field>,
        /// Fields that it sets and others own, and limits that do not count.
        shielded: Vec<Shielded<'a>>,
    },
    /// Everything fits, but its mode is off.
    Off,
    /// Everything fits, but it has ended.
    Expired { since: Timestamp },
    /// Everything fits, but these are not its hours.
    Inactive { until: Option<Timestamp> },
    /// No value of the condition fits what was found.
    ConditionFailed { key: Key, found: Option<String> },
    /// A value under `not` fits what was found.
    NotFailed { key: Key, found: Option<String> },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Field {
    Share,
    /// Each one that matches counts.
    MaxConcurrency,
    /// Each one that matches at login counts.
    MaxConnections,
    /// Of one gate.
    Threshold(GateName),
    SkipGates,
    Weight,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Shielded<'a> {
    pub field: Field,
    /// The owner, or the rule that replaces the limit. `None`: nobody owns the field.
    pub by: Option<&'a CompiledRule>,
    pub because: Because,
}

/// Why another rule owns a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Because {
    Priority,
    MoreKeys,
    MoreExact,
    Stricter,
    /// Alike in everything: the first in the order of the ids owns.
    Id,
    /// Of the owners of the file and of the run time the stricter stands.
    OtherOriginStricter,
    /// The run-time rule says `override`.
    Overridden,
    /// It matches only a part of the text, or only in some reading of it, and is not stricter than the owner.
    Partly,
    /// `max_connections` counts at login, where not all of its keys are known.
    NotAtLogin,
}

impl RuleSet {
    /// What became of every rule: first the owners, then what matches and is shielded, then the others, each in their order.
    pub fn explain<'s, Q: Query>(
        &'s self,
        identity: &Identity,
        query: &Q,
        now: Timestamp,
        default_mode: Mode,
    ) -> Vec<Considered<'s>> {
        let case = matched::Case { identity, query, now, default_mode };
        let matched = matched::Matched::new(self, &case);
        let outcome = |rule: &'s CompiledRule| failed(rule, &case).unwrap_or_else(|| matched.outcome(rule, &case));
        let mut considered: Vec<Considered<'s>> =
            self.rules().iter().map(|rule| Considered { rule, outcome: outcome(rule) }).collect();
        considered.sort_by_key(|considered| match &considered.outcome {
            Outcome::Matches { owns, .. } if !owns.is_empty() => 0,
            Outcome::Matches { .. } => 1,
            Outcome::Off | Outcome::Expired { .. } | Outcome::Inactive { .. } => 2,
            Outcome::ConditionFailed { .. } | Outcome::NotFailed { .. } => 3,
        });
        considered
    }
}

impl RuleSet {
    /// What became of one rule, which must be of this set. It looks at no other than what the client and the query find,
    /// so it can be asked for every client that is known: whom a rule hits, and who is shielded from it.
    pub fn explain_rule<'s, Q: Query>(
        &'s self,
        rule: &'s CompiledRule,
        identity: &Identity,
        query: &Q,
        now: Timestamp,
        default_mode: Mode,
    ) -> Outcome<'s> {
        let case = matched::Case { identity, query, now, default_mode };
        failed(rule, &case).unwrap_or_else(|| matched::Matched::new(self, &case).outcome(rule, &case))
    }
}

/// The first condition that does not fit or, if all do, why the rule does not count now.
fn failed<'a, Q: Query>(rule: &CompiledRule, case: &matched::Case<'_, Q>) -> Option<Outcome<'a>> {
    let (identity, query) = (case.identity, case.query);
    if let Some(fact) = rule.holds().facts.iter().find(|fact| fact.fit(identity).is_none()) {
        return Some(Outcome::ConditionFailed { key: fact.key(), found: fact.found(identity) });
    }
    if let Some(asked) = rule.holds().asked.iter().find(|asked| !asked.holds(query).is_possible()) {
        return Some(Outcome::ConditionFailed { key: asked.key(), found: asked.found(query) });
    }
    if let Some(fact) = rule.not().facts.iter().find(|fact| fact.fit(identity).is_some()) {
        return Some(Outcome::NotFailed { key: fact.key(), found: fact.found(identity) });
    }
    if let Some(asked) = rule.not().asked.iter().find(|asked| !asked.holds(query).negated().is_possible()) {
        return Some(Outcome::NotFailed { key: asked.key(), found: asked.found(query) });
    }
    matched::failed_tables(rule, query).or_else(|| not_now(rule, case.now, case.default_mode))
}

fn not_now<'a>(rule: &CompiledRule, now: Timestamp, default_mode: Mode) -> Option<Outcome<'a>> {
    if rule.mode.unwrap_or(default_mode) == Mode::Off {
        return Some(Outcome::Off);
    }
    if let Some(since) = rule.expires.filter(|expires| *expires <= now) {
        return Some(Outcome::Expired { since });
    }
    let hours = rule.active.as_ref().filter(|hours| !hours.is_active(now))?;
    Some(Outcome::Inactive { until: hours.next_change(now) })
}

#[cfg(test)]
mod tests;
