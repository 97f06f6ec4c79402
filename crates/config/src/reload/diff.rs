//! What a new policy changes, for the log and the audit.

use std::fmt;

use rules::{Rule, RuleId};
use serde_json::Value as Json;

use crate::gate::{Gate, Metric, gate_to_json, metric_to_json};
use crate::policy::{Playbook, Policy};
use crate::rule::{table, to_json};
use crate::value::shown_duration;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// In the order of the new file, those that are gone last.
    pub rules: Vec<(RuleId, RuleChange)>,
    /// By the playbook's name.
    pub playbooks: Vec<(String, RuleChange)>,
    /// By the gate's name.
    pub gates: Vec<(String, RuleChange)>,
    /// By the metric's name.
    pub metrics: Vec<(String, RuleChange)>,
    pub keys: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleChange {
    Added,
    Removed,
    /// In these keys.
    Changed(Vec<String>),
}

/// A key, as it was and as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub key: &'static str,
    pub from: String,
    pub to: String,
}

impl Diff {
    /// The order of rules is of no account.
    pub fn of(old: &Policy, new: &Policy) -> Diff {
        let changed = |old: &Rule, new: &Rule| (old != new).then(|| changed_keys(&to_json(old), &to_json(new)));
        Diff {
            rules: compare(&old.rules, &new.rules, |rule| rule.id.clone(), changed),
            playbooks: compare(
                &old.playbooks,
                &new.playbooks,
                |playbook: &Playbook| playbook.name.clone(),
                |old, new| (old != new).then(|| vec!["rules".to_owned()]),
            ),
            gates: compare(
                &old.gates,
                &new.gates,
                |gate: &Gate| gate.settings.name.to_string(),
                |old, new| (old != new).then(|| changed_keys(&gate_to_json(old), &gate_to_json(new))),
            ),
            metrics: compare(
                &old.metrics,
                &new.metrics,
                |metric: &Metric| metric.name.to_string(),
                |old, new| (old != new).then(|| changed_keys(&metric_to_json(old), &metric_to_json(new))),
            ),
            keys: changes(old, new),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
            && self.playbooks.is_empty()
            && self.gates.is_empty()
            && self.metrics.is_empty()
            && self.keys.is_empty()
    }
}

fn compare<T, I: PartialEq>(
    old: &[T],
    new: &[T],
    id: impl Fn(&T) -> I,
    changed: impl Fn(&T, &T) -> Option<Vec<String>>,
) -> Vec<(I, RuleChange)> {
    let find = |all: &'_ [T], wanted: &I| all.iter().position(|one| id(one) == *wanted);
    let mut changes = Vec::new();
    for one in new {
        match find(old, &id(one)).and_then(|position| old.get(position)) {
            None => changes.push((id(one), RuleChange::Added)),
            Some(before) => changes.extend(changed(before, one).map(|keys| (id(one), RuleChange::Changed(keys)))),
        }
    }
    let gone = old.iter().filter(|one| find(new, &id(one)).is_none());
    changes.extend(gone.map(|one| (id(one), RuleChange::Removed)));
    changes
}

/// The keys of a rule that are not the same in both.
fn changed_keys(old: &Json, new: &Json) -> Vec<String> {
    let empty = serde_json::Map::new();
    let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
    let mut keys: Vec<String> = new.keys().filter(|key| old.get(*key) != new.get(*key)).cloned().collect();
    keys.extend(old.keys().filter(|key| !new.contains_key(*key)).cloned());
    keys
}

fn changes(old: &Policy, new: &Policy) -> Vec<Change> {
    let [old, new] = [old, new].map(values);
    let pairs = old.into_iter().zip(new);
    pairs.filter(|((_, from), (_, to))| from != to).map(|((key, from), (_, to))| Change { key, from, to }).collect()
}

/// Every key of the policy that is no rule, as a user would write its value.
fn values(policy: &Policy) -> Vec<(&'static str, String)> {
    let Policy { identity, defaults, queue, heartbeat_writers, rules: _, playbooks: _, gates: _, metrics: _ } = policy;
    vec![
        ("identity.name", list(identity.name.iter().map(ToString::to_string))),
        ("identity.trust_claims_of", list(identity.trust_claims_of.iter().map(trust))),
        ("defaults.mode", defaults.mode.to_string()),
        ("defaults.action", defaults.action.to_string()),
        ("defaults.max_delay", shown_duration(defaults.max_delay)),
        ("defaults.max_delay_after_reads", shown_duration(defaults.max_delay_after_reads)),
        ("defaults.error", defaults.error.as_str().to_owned()),
        ("defaults.unit_grace", shown_duration(defaults.unit_grace)),
        ("defaults.lock_grace", shown_duration(defaults.lock_grace)),
        ("defaults.lock_grace_statements", defaults.lock_grace_statements.to_string()),
        ("defaults.reject_pause", shown_duration(defaults.reject_pause)),
        ("queue.per_identity", queue.per_identity.to_string()),
        ("queue.total", queue.total.to_string()),
        ("heartbeat_writers.users", list(heartbeat_writers.users.iter().map(|user| text(user)))),
        (
            "heartbeat_writers.tables",
            list(heartbeat_writers.tables.iter().map(|one| table::shown(one.schema.as_deref(), &one.name))),
        ),
    ]
}

fn trust(trust: &identity::Trust) -> String {
    match trust {
        identity::Trust::User(user) => text(user),
        identity::Trust::Network(network) => network.to_string(),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// One line a change: `+` added, `-` removed, `~` changed.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules.iter().map(|(id, change)| line("rule", id, change));
        let playbooks = self.playbooks.iter().map(|(name, change)| line("playbook", name, change));
        let gates = self.gates.iter().map(|(name, change)| line("gate", name, change));
        let metrics = self.metrics.iter().map(|(name, change)| line("metric", name, change));
        let keys = self.keys.iter().map(|change| format!("~ {}: {} → {}", change.key, change.from, change.to));
        let lines: Vec<String> = rules.chain(playbooks).chain(gates).chain(metrics).chain(keys).collect();
        f.write_str(&lines.join("\n"))
    }
}

fn line(kind: &str, id: &str, change: &RuleChange) -> String {
    match change {
        RuleChange::Added => format!("+ {kind} {id}"),
        RuleChange::Removed => format!("- {kind} {id}"),
        RuleChange::Changed(keys) => format!("~ {kind} {id}: {}", keys.join(", ")),
    }
}
