//! What operators change while the proxy runs: rules and incidents.

use admin::control::{ControlError, ControlErrorKind, Reply};
use config::overlay::{Extension, Incident, OverlayError};
use rules::{Rule, RuleSet, Timestamp};
use serde_json::{Value as Json, json};
use tracing::{info, warn};

use super::Steering;
use super::describe::{invalid, rule_json};

impl Steering {
    pub(super) fn add(&mut self, json: &Json) -> Reply {
        let now = self.keeper.now();
        let rule = config::rule::from_json(json, now).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            invalid(lines.join("\n"))
        })?;
        self.overlay.add(rule.clone(), now).map_err(refused)?;
        self.apply();
        info!(rule = %rule.id, by = rule.created_by, reason = rule.reason, expires = ?rule.expires, "a rule was added");
        let mut answer = rule_json(&rule, self, now);
        if let Some(object) = answer.as_object_mut() {
            object.insert("warnings".to_owned(), json!(self.warnings_on(&rule, now)));
            let (hits, shielded) = self.whom_it_hits(&rule, now);
            object.insert("hits".to_owned(), json!(hits));
            object.insert("shielded".to_owned(), json!(shielded));
        }
        Ok(answer)
    }

    pub(super) fn extend(&mut self, id: &str, change: &Json) -> Reply {
        let now = self.keeper.now();
        let until = until(change, now)?;
        let extension = Extension { until, reason: text(change, "reason") };
        let rule = self.overlay.extend(id, &extension, now).map_err(refused)?;
        self.warned.remove(&rule.id);
        self.apply();
        info!(rule = %rule.id, by = text(change, "by"), reason = rule.reason, expires = %until, "a rule was extended");
        Ok(rule_json(&rule, self, now))
    }

    pub(super) fn end(&mut self, id: &str, change: &Json) -> Reply {
        let now = self.keeper.now();
        let of_file = || self.reloader.plan().policy.rules.iter().any(|rule| *rule.id == *id);
        let rule = self.overlay.end(id, now).map_err(|error| match error {
            OverlayError::NoSuchRule { .. } if of_file() => ControlError {
                kind: ControlErrorKind::Conflict,
                message: format!("the rule `{id}` stands in proxy.yaml: take it out there, or set its `mode: off`"),
            },
            error => refused(error),
        })?;
        self.warned.remove(&rule.id);
        self.apply();
        info!(rule = %rule.id, by = text(change, "by"), "a rule was ended");
        Ok(rule_json(&rule, self, now))
    }

    pub(super) fn open_incident(&mut self, json: &Json) -> Reply {
        let now = self.keeper.now();
        let id = text(json, "id").ok_or_else(|| invalid("`id` is missing: write `\"id\": \"INC-42\"`"))?;
        let playbook = text(json, "playbook");
        let policy = &self.reloader.plan().policy;
        let rules = match playbook {
            None => Vec::new(),
            Some(name) => {
                let known: Vec<&str> = policy.playbooks.iter().map(|playbook| playbook.name.as_str()).collect();
                let missing =
                    || invalid(format!("no playbook `{name}` in proxy.yaml; there are: {}", known.join(", ")));
                let playbook = policy.playbook(name).ok_or_else(missing)?;
                playbook.open(id, text(json, "by"), text(json, "reason"), now)
            }
        };
        let incident = Incident {
            id: id.to_owned(),
            playbook: playbook.map(str::to_owned),
            opened: now,
            opened_by: text(json, "by").map(str::to_owned),
            reason: text(json, "reason").map(str::to_owned),
        };
        self.overlay.open_incident(incident, rules.clone(), now).map_err(refused)?;
        self.apply();
        warn!(incident = id, playbook, rules = rules.len(), by = text(json, "by"), "an incident was opened");
        let rules: Vec<Json> = rules.iter().map(|rule| rule_json(rule, self, now)).collect();
        Ok(json!({ "id": id, "playbook": playbook, "opened": now.to_string(), "rules": rules }))
    }

    pub(super) fn close_incident(&mut self, id: &str) -> Reply {
        let now = self.keeper.now();
        let at_work: Vec<String> = self.at_work(id, now);
        let closed = self.overlay.close_incident(id, now).map_err(refused)?;
        self.apply();
        let ended: Vec<&str> = closed.ended.iter().map(|rule| &*rule.id).collect();
        info!(incident = id, ended = ended.join(", "), at_work = at_work.join(", "), "an incident was closed");
        let stay: Vec<&str> = closed.stay.iter().map(|rule| &**rule).collect();
        Ok(json!({ "id": id, "ended": ended, "still_at_work": at_work, "stay": stay }))
    }

    /// Rules of an incident that decided something in the last minute.
    fn at_work(&self, incident: &str, now: Timestamp) -> Vec<String> {
        let policy = self.keeper.policy();
        let closing = rules::incident::close(policy.rules.rules(), incident, now);
        closing.at_work.iter().map(ToString::to_string).collect()
    }

    fn warnings_on(&self, rule: &Rule, now: Timestamp) -> Vec<String> {
        let policy = self.keeper.policy();
        let all: Vec<Rule> = policy.rules.rules().iter().map(|rule| Rule::clone(rule)).collect();
        let warnings = RuleSet::warnings(&all, &policy.identity, now);
        warnings.iter().filter(|warning| warning.rule == rule.id).map(ToString::to_string).collect()
    }
}

/// The end that a change asks for.
fn until(change: &Json, now: Timestamp) -> Result<Timestamp, ControlError> {
    if let Some(duration) = text(change, "for") {
        return config::duration(duration).map(|duration| now.plus(duration)).map_err(invalid);
    }
    let missing = || invalid("how long? write `\"for\": \"2h\"`, or `\"expires\"` with a moment");
    let moment = text(change, "expires").ok_or_else(missing)?;
    Timestamp::parse(moment).ok_or_else(|| invalid(format!("`{moment}` is not a moment such as 2026-04-21T16:00:00Z")))
}

fn text<'a>(json: &'a Json, key: &str) -> Option<&'a str> {
    json.get(key).and_then(Json::as_str)
}

fn refused(error: OverlayError) -> ControlError {
    let kind = match &error {
        OverlayError::NoSuchRule { .. } | OverlayError::NoSuchIncident { .. } => ControlErrorKind::NotFound,
        OverlayError::IdTaken { .. } | OverlayError::IncidentOpen { .. } => ControlErrorKind::Conflict,
        OverlayError::NoEnd { .. }
        | OverlayError::Over { .. }
        | OverlayError::TooFar { .. }
        | OverlayError::StaleReason(_)
        | OverlayError::TooMany { .. } => ControlErrorKind::Invalid,
        OverlayError::NotKept { .. } | OverlayError::Locked { .. } | OverlayError::Newer { .. } => {
            ControlErrorKind::Failed
        }
    };
    ControlError { kind, message: error.to_string() }
}
