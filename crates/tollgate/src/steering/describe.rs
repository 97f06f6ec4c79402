//! What is in force, as operators see it.

use admin::control::{ControlError, ControlErrorKind};
use admission::policy::Policy;
use rules::{CompiledRule, Mode, Rule, Timestamp, lifetime};
use serde_json::{Value as Json, json};

use super::Steering;
use crate::digests;

impl Steering {
    pub(super) fn describe_rules(&self) -> Json {
        let now = self.keeper.now();
        let policy = self.keeper.policy();
        let rules = policy.rules.rules().iter();
        let rules: Vec<Json> = rules.map(|rule| self.rule_json(rule, Some(rule), &policy, now)).collect();
        json!({ "generation": self.generation, "now": now.to_string(), "mode": policy.defaults.mode.as_str(), "rules": rules })
    }

    /// One rule, which may have just ended.
    pub(super) fn describe_rule(&self, rule: &Rule, now: Timestamp) -> Json {
        let policy = self.keeper.policy();
        let compiled = policy.rules.rules().iter().find(|known| known.id == rule.id);
        self.rule_json(rule, compiled.map(AsRef::as_ref), &policy, now)
    }

    /// A rule as it would be written, with where it stands and what it did.
    fn rule_json(&self, rule: &Rule, compiled: Option<&CompiledRule>, policy: &Policy, now: Timestamp) -> Json {
        let mut json = config::rule::shown_json(rule, &self.reloader.plan().policy.gates);
        let (running, sessions) = self.keeper.used(&rule.id);
        if let Some(object) = json.as_object_mut() {
            let mut put = |key: &str, value: Json| object.insert(key.to_owned(), value);
            put("origin", json!(rule.origin.as_str()));
            put("in_force", json!(mode_in_force(rule, policy).as_str()));
            put("seconds_left", json!(rule.expires.map(|expires| expires.since(now).as_secs())));
            put("ending", json!(lifetime::is_ending(rule, now)));
            put("expired", json!(rule.expires.is_some_and(|expires| expires <= now)));
            put("decided", json!(compiled.map_or(0, |rule| rule.hits().matched())));
            put("last_decided", json!(compiled.and_then(|rule| rule.hits().last()).map(|last| last.to_string())));
            let unknown = digests::named(rule).filter(|digest| self.digests.fingerprint(digest).is_none());
            let unknown: Vec<Json> = unknown.map(|digest| json!(digest)).collect();
            if !unknown.is_empty() {
                put("unknown_digests", json!(unknown));
            }
            put("running", json!(running));
            put("sessions", json!(sessions));
        }
        json
    }

    pub(super) fn describe_incidents(&self) -> Json {
        let incidents: Vec<Json> = self
            .overlay
            .state()
            .incidents
            .iter()
            .map(|incident| {
                json!({
                    "id": incident.id,
                    "playbook": incident.playbook,
                    "opened": incident.opened.to_string(),
                    "opened_by": incident.opened_by,
                    "reason": incident.reason,
                })
            })
            .collect();
        json!({ "incidents": incidents })
    }

    pub(super) fn describe_clients(&self) -> Json {
        let mut clients = self.keeper.clients();
        clients.sort_by_key(|(_, counted)| std::cmp::Reverse(counted.seen));
        let clients: Vec<Json> = clients
            .iter()
            .map(|(client, counted)| {
                let by_rule: Vec<Json> = counted
                    .by_rule
                    .iter()
                    .map(|(rule, reason, effect, count)| {
                        json!({ "rule": **rule, "reason": reason.as_str(), "effect": effect.as_str(), "count": count })
                    })
                    .collect();
                json!({
                    "client": client.name.as_str(),
                    "user": client.user.as_deref().map(String::from_utf8_lossy),
                    "seen": counted.seen,
                    "passed": counted.passed,
                    "held": counted.held,
                    "rejected": counted.rejected,
                    "warned": counted.warned,
                    "overdrawn": counted.overdrawn,
                    "left": counted.left,
                    "hold_ms": counted.hold_time.as_millis() as u64,
                    "waiting": counted.waiting,
                    "by_rule": by_rule,
                })
            })
            .collect();
        json!({ "waiting": self.keeper.waiting(), "clients": clients })
    }
}

/// What a rule's own mode comes to: the whole proxy's counts first.
fn mode_in_force(rule: &Rule, policy: &Policy) -> Mode {
    match (policy.defaults.mode, rule.mode.unwrap_or_default()) {
        (Mode::Off, _) | (_, Mode::Off) => Mode::Off,
        (Mode::Warn, _) | (_, Mode::Warn) => Mode::Warn,
        (Mode::Enforce, Mode::Enforce) => Mode::Enforce,
    }
}

pub(super) fn reloaded(outcome: &str, generation: u64, diff: Option<&str>, needs_restart: &[String]) -> Json {
    json!({ "outcome": outcome, "generation": generation, "changes": diff, "needs_restart": needs_restart })
}

pub(super) fn invalid(message: impl Into<String>) -> ControlError {
    ControlError { kind: ControlErrorKind::Invalid, message: message.into() }
}
