//! How long a rule that was added at run time lives, when it is about to end, and what it takes to prolong it.

use std::time::Duration;

use crate::matching::{Condition, Key, Match, Value};
use crate::rule::{Do, Origin, Rule, RuleId, Share};
use crate::scope::Pattern;
use crate::timestamp::Timestamp;

const HOUR: Duration = Duration::from_secs(3600);
/// Of an exemption and a hold: each is for the time in which somebody watches.
const SHORT: Duration = HOUR;
/// Of what concerns everybody.
const EVERYBODY: Duration = HOUR.saturating_mul(2);
/// Of another threshold.
const THRESHOLD: Duration = HOUR.saturating_mul(4);
/// Of a ratio, of limits and of a weight.
const LONG: Duration = HOUR.saturating_mul(24);

/// How long before its end a rule is warned of.
pub const WARNING: Duration = Duration::from_secs(600);

/// The lifetime of a rule that does not say its own.
pub fn default_for(rule: &Rule) -> Duration {
    default_of(&rule.matching, &rule.effect)
}

/// The shortest of what it does.
pub fn default_of(matching: &Match, effect: &Do) -> Duration {
    let share = effect.share.map_or(LONG, |share| match share {
        Share::Exempt | Share::Hold => SHORT,
        Share::Ratio(_) => LONG,
    });
    let skips = if effect.skip_gates.is_some() { SHORT } else { LONG };
    let thresholds = if effect.thresholds.is_empty() { LONG } else { THRESHOLD };
    let everybody = if names_everybody(matching) { EVERYBODY } else { LONG };
    share.min(skips).min(thresholds).min(everybody)
}

/// `scope: "*"`, alone or in a list. Other keys may narrow it down; whoever wrote it still thought of everybody.
fn names_everybody(matching: &Match) -> bool {
    let everybody =
        |value: &Value| matches!(value, Value::Scope(scope) if Pattern::new(&scope.text) == Pattern::Anybody);
    let scope = |condition: &&Condition| condition.key == Key::Scope;
    matching.conditions.iter().find(scope).is_some_and(|condition| condition.values.iter().any(everybody))
}

/// When to warn that it will end. A rule that lives shorter than that is warned of from its beginning.
pub fn warning_at(rule: &Rule) -> Option<Timestamp> {
    let at = rule.expires?.minus(WARNING);
    Some(rule.created.map_or(at, |created| at.max(created)))
}

/// It is in force, and within its last minutes.
pub fn is_ending(rule: &Rule, now: Timestamp) -> bool {
    let warned = warning_at(rule).is_some_and(|at| at <= now);
    warned && rule.expires.is_some_and(|expires| now < expires)
}

/// The reason that a rule is renewed or added again for is not a new one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StaleReason {
    #[error("rule {rule} was already added for these clients: say why it is still needed")]
    Missing { rule: RuleId },
    #[error("rule {rule} already has this reason: say why it is still needed")]
    Repeated { rule: RuleId },
}

/// Whether `reason` will do for renewing a rule or for adding one that matches the same: it must be there, and be no
/// reason that a run-time rule among the `known`, with those that have ended, already had.
pub fn check_reason<'a>(
    known: impl IntoIterator<Item = &'a Rule>,
    matching: &Match,
    reason: Option<&str>,
) -> Result<(), StaleReason> {
    let reason = reason.map(plain).filter(|reason| !reason.is_empty());
    let same = |rule: &&Rule| rule.origin == Origin::Runtime && rule.matching.is_same(matching);
    for rule in known.into_iter().filter(same) {
        let Some(reason) = &reason else { return Err(StaleReason::Missing { rule: rule.id.clone() }) };
        if rule.reason.as_deref().map(plain).as_ref() == Some(reason) {
            return Err(StaleReason::Repeated { rule: rule.id.clone() });
        }
    }
    Ok(())
}

/// Case, spaces and a full stop make no new reason.
fn plain(reason: &str) -> String {
    let words: Vec<&str> = reason.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '!']).to_lowercase()
}

#[cfg(test)]
mod tests;
