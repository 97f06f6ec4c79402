//! The file's policy and the rules of the run time, as the sessions' gates take them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use admission::policy::{Defaults, Gate, Policy, Queue};
use admission::refusal::Preset;
use admission::unit::Graces;
use admission::{Gatekeeper, Wall};
use config::ErrorPreset;
use rules::{Key, Match, Matcher, Mode, Rule, RuleSet, Timestamp};
use statement::Fingerprint;

/// Every rule, those that are built in first; `added` are those of the run time.
pub(super) fn rules(policy: &config::Policy, added: &[Rule]) -> Vec<Rule> {
    let built_in = policy.heartbeat_writers.rules();
    built_in.into_iter().chain(policy.rules.iter().cloned()).chain(added.iter().cloned()).collect()
}

/// Who would decide if the file were in force, and nothing had been added to it.
pub(crate) fn keeper_of_file(plan: &config::Plan) -> Arc<Gatekeeper> {
    let rules = RuleSet::new(rules(&plan.policy, &[]), &|_| None);
    Gatekeeper::new(policy(&plan.policy, rules, &|_| None, 1), wall_clock(), 0)
}

/// What is known of MySQL's digests.
pub(super) type DigestsOf<'a> = &'a dyn Fn(&str) -> Option<Fingerprint>;

pub(super) fn policy(policy: &config::Policy, rules: RuleSet, digests: DigestsOf<'_>, generation: u64) -> Policy {
    let from = &policy.defaults;
    let defaults = Defaults {
        mode: from.mode,
        action: from.action,
        max_delay: from.max_delay,
        max_delay_after_reads: from.max_delay_after_reads,
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
    Policy::new(generation, policy.identity.clone(), defaults, queue, rules).with_gates(gates(policy, digests))
}

/// A gate's own mode counts as far as that of the whole proxy allows.
fn gates(policy: &config::Policy, digests: DigestsOf<'_>) -> Vec<Gate> {
    let defaults = &policy.defaults;
    let mode = |own: Option<Mode>| match (defaults.mode, own.unwrap_or(Mode::Enforce)) {
        (Mode::Off, _) | (_, Mode::Off) => Mode::Off,
        (Mode::Warn, _) | (_, Mode::Warn) => Mode::Warn,
        (Mode::Enforce, Mode::Enforce) => Mode::Enforce,
    };
    let gate = |gate: &config::Gate| Gate {
        settings: gate.settings.clone(),
        mode: mode(gate.mode),
        classes: gate.classes.clone(),
        logins: gate.logins,
        matching: gate.matching.as_ref().map(|matching| Matcher::new(matching, digests)),
        reads: gate.matching.iter().flat_map(keys).collect(),
        action: gate.action.unwrap_or(defaults.action),
        max_delay: gate.max_delay.unwrap_or(defaults.max_delay),
        max_delay_after_reads: gate.max_delay_after_reads.unwrap_or(defaults.max_delay_after_reads),
    };
    policy.gates.iter().map(gate).collect()
}

fn keys(matching: &Match) -> impl Iterator<Item = Key> {
    matching.conditions.iter().chain(&matching.not).map(|condition| condition.key.clone())
}

pub(super) fn wall_clock() -> Wall {
    Box::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    })
}
