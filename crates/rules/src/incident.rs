//! Incidents: opening one puts the prepared rules of a playbook in force, closing it ends them.

use std::sync::Arc;
use std::time::Duration;

use crate::compiled::CompiledRule;
use crate::lifetime;
use crate::rule::{Origin, Rule, RuleId};
use crate::timestamp::Timestamp;

/// A rule that decided within this time is at work.
const AT_WORK: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    pub incident: &'a str,
    pub playbook: &'a str,
    /// `None`: the one of each rule.
    pub reason: Option<&'a str>,
    pub opened_by: Option<&'a str>,
}

/// The rules of a playbook, each with its lifetime if it says one, as the incident puts them in force: `batch-yields` becomes
/// `batch-yields-INC-42`.
pub fn open<'a>(
    rules: impl IntoIterator<Item = (&'a Rule, Option<Duration>)>,
    opening: &Opening<'_>,
    now: Timestamp,
) -> Vec<Rule> {
    let in_force = |(rule, lifetime): (&Rule, Option<Duration>)| Rule {
        id: format!("{}-{}", rule.id, opening.incident).into(),
        origin: Origin::Runtime,
        expires: Some(now.plus(lifetime.unwrap_or_else(|| lifetime::default_for(rule)))),
        created: Some(now),
        created_by: opening.opened_by.map(str::to_owned).or_else(|| rule.created_by.clone()),
        reason: opening.reason.map(str::to_owned).or_else(|| rule.reason.clone()),
        incident: Some(opening.incident.to_owned()),
        playbook: Some(opening.playbook.to_owned()),
        ..rule.clone()
    };
    rules.into_iter().map(in_force).collect()
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Closing {
    /// To be ended now: what a playbook put in force, and has not ended by itself.
    pub ends: Vec<RuleId>,
    /// Those of them that decided something within the last minute.
    pub at_work: Vec<RuleId>,
    /// Rules that name the incident, but that somebody added by hand or wrote into the file: they stay.
    pub stay: Vec<RuleId>,
}

/// What closing an incident ends.
pub fn close(rules: &[Arc<CompiledRule>], incident: &str, now: Timestamp) -> Closing {
    let mut closing = Closing::default();
    let of_incident = |rule: &&Arc<CompiledRule>| rule.incident.as_deref() == Some(incident) && !rule.is_expired(now);
    for rule in rules.iter().filter(of_incident) {
        let is_at_work = rule.hits().last().is_some_and(|last| now.since(last) <= AT_WORK);
        if rule.playbook.is_none() || rule.origin != Origin::Runtime {
            closing.stay.push(rule.id.clone());
            continue;
        }
        closing.ends.push(rule.id.clone());
        if is_at_work {
            closing.at_work.push(rule.id.clone());
        }
    }
    closing
}

#[cfg(test)]
mod tests;
