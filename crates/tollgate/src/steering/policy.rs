//! The file's policy and the rules of the run time, as the sessions' gates take them.

use std::time::{SystemTime, UNIX_EPOCH};

use admission::Wall;
use admission::policy::{Defaults, Policy, Queue};
use admission::refusal::Preset;
use admission::unit::Graces;
use config::ErrorPreset;
use config::overlay::Overlay;
use rules::{Rule, RuleSet, Timestamp};

/// Every rule, those that are built in first.
pub(super) fn rules(policy: &config::Policy, overlay: &Overlay) -> Vec<Rule> {
    let built_in = policy.heartbeat_writers.rules();
    built_in.into_iter().chain(policy.rules.iter().cloned()).chain(overlay.rules().iter().cloned()).collect()
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
