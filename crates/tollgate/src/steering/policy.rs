//! The file's policy and the rules of the run time, as the sessions' gates take them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use admission::policy::{Defaults, Policy, Queue};
use admission::refusal::Preset;
use admission::unit::Graces;
use admission::{Gatekeeper, Wall};
use config::ErrorPreset;
use rules::{Rule, RuleSet, Timestamp};

/// Every rule, those that are built in first; `added` are those of the run time.
pub(super) fn rules(policy: &config::Policy, added: &[Rule]) -> Vec<Rule> {
    let built_in = policy.heartbeat_writers.rules();
    built_in.into_iter().chain(policy.rules.iter().cloned()).chain(added.iter().cloned()).collect()
}

/// Who would decide if the file were in force, and nothing had been added to it.
pub(crate) fn keeper_of_file(plan: &config::Plan) -> Arc<Gatekeeper> {
    let rules = RuleSet::new(rules(&plan.policy, &[]), &|_| None);
    Gatekeeper::new(policy(&plan.policy, rules, 1), wall_clock(), 0)
}

pub(super) fn policy(policy: &config::Policy, rules: RuleSet, generation: u64) -> Policy {
    let from = &policy.defaults;
    let defaults = Defaults {
        mode: from.mode,
        action: from.action,
        max_delay: from.max_delay,
        error: match from.error {
            ErrorPreset::Throttled => Preset::Throttled,
            ErrorPreset::Retryable => Preset::Retryable,
            ErrorPreset::Timeout => Preset::Timeout,
            ErrorPreset::Vitess => Preset::Vitess,
        },
        graces: Graces { unit: from.unit_grace, lock: from.lock_grace, lock_statements: from.lock_grace_statements },
        reject_pause: from.reject_pause,
    };
    let queue = Queue { per_identity: policy.queue.per_identity, total: policy.queue.total };
    Policy::new(generation, policy.identity.clone(), defaults, queue, rules)
}

pub(super) fn wall_clock() -> Wall {
    Box::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    })
}
