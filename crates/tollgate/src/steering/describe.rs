//! What is in force, as operators see it.

use admin::control::{ControlError, ControlErrorKind};
use rules::{Mode, Query, Rule, Tables, Timestamp, lifetime};
use serde_json::{Value as Json, json};
use statement::{Class, Fingerprint, Shapes};

use super::Steering;

impl Steering {
    pub(super) fn describe_rules(&self) -> Json {
        let now = self.keeper.now();
        let policy = self.keeper.policy();
        let rules: Vec<Json> = policy.rules.rules().iter().map(|rule| rule_json(rule, self, now)).collect();
        json!({ "generation": self.generation, "now": now.to_string(), "mode": policy.defaults.mode.as_str(), "rules": rules })
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

    /// Whom a rule concerns now: the clients that it would decide about, and those whom another rule shields from it.
    pub(super) fn whom_it_hits(&self, rule: &Rule, now: Timestamp) -> (Vec<String>, Vec<Json>) {
        let policy = self.keeper.policy();
        let (mut hits, mut shielded) = (Vec::new(), Vec::new());
        let Some(compiled) = policy.rules.rules().iter().find(|known| known.id == rule.id) else {
            return (hits, shielded);
        };
        for (client, _) in self.keeper.clients() {
            let identity = client.value.identity();
            for class in client.value.classes() {
                let considered = policy.rules.explain(identity, &SomeQuery(class), now, Mode::Enforce);
                let Some(own) = considered.iter().find(|one| one.rule == &**compiled) else { continue };
                let rules::Outcome::Matches { owns, shielded: by, .. } = &own.outcome else { continue };
                if !owns.is_empty() {
                    hits.push(identity.name.to_string());
                }
                for owner in by.iter().filter_map(|one| one.by) {
                    shielded.push(json!({ "client": identity.name.as_str(), "by": *owner.id }));
                }
            }
        }
        hits.sort();
        hits.dedup();
        shielded.dedup();
        (hits, shielded)
    }
}

/// Any statement of a class, of which nothing else is known.
struct SomeQuery(Class);

impl Query for SomeQuery {
    fn schema(&self) -> Option<&[u8]> {
        None
    }

    fn class(&self) -> Class {
        self.0
    }

    fn shapes(&self) -> Shapes {
        Shapes::empty()
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint(0)
    }

    fn tables(&self) -> Tables<'_> {
        Tables::Unknown
    }
}

/// A rule as it would be written, with where it stands and what it did.
pub(super) fn rule_json(rule: &Rule, steering: &Steering, now: Timestamp) -> Json {
    let mut json = config::rule::to_json(rule);
    let policy = steering.keeper.policy();
    let compiled = policy.rules.rules().iter().find(|known| known.id == rule.id);
    let (running, sessions) = steering.keeper.used(&rule.id);
    if let Some(object) = json.as_object_mut() {
        let mut put = |key: &str, value: Json| object.insert(key.to_owned(), value);
        put("origin", json!(rule.origin.as_str()));
        put("seconds_left", json!(rule.expires.map(|expires| expires.since(now).as_secs())));
        put("ending", json!(lifetime::is_ending(rule, now)));
        put("expired", json!(rule.expires.is_some_and(|expires| expires <= now)));
        put("decided", json!(compiled.map_or(0, |rule| rule.hits().matched())));
        put("last_decided", json!(compiled.and_then(|rule| rule.hits().last()).map(|last| last.to_string())));
        put("running", json!(running));
        put("sessions", json!(sessions));
    }
    json
}

pub(super) fn reloaded(outcome: &str, generation: u64, diff: Option<&str>, needs_restart: &[String]) -> Json {
    json!({ "outcome": outcome, "generation": generation, "changes": diff, "needs_restart": needs_restart })
}

pub(super) fn invalid(message: impl Into<String>) -> ControlError {
    ControlError { kind: ControlErrorKind::Invalid, message: message.into() }
}
