//! What operators change while the proxy runs: rules and incidents.

use admin::control::{ControlError, ControlErrorKind, Reply};
use config::overlay::{Extension, Incident, OverlayError};
use config::rule::RuleProblem;
use rules::{Rule, RuleSet, Timestamp};
use serde_json::{Value as Json, json};
use tracing::{info, warn};

use super::Steering;
use super::describe::invalid;
use crate::digests;

impl Steering {
    /// A rule as JSON text.
    pub(super) fn add(&mut self, text: &str) -> Reply {
        let now = self.keeper.now();
        let rule = config::rule::from_json_text(text, &self.reloader.plan().policy.gates, now)
            .map_err(|problems| all(&problems))?;
        self.refuse_without_place(&rule)?;
        self.overlay.add(rule.clone(), now).map_err(refused)?;
        self.apply();
        let expires = rule.expires.map(tracing::field::display);
        info!(rule = %rule.id, by = rule.created_by, reason = rule.reason, expires, "a rule was added");
        Ok(self.describe_new(&rule, now))
    }

    pub(super) fn extend(&mut self, id: &str, change: &Json) -> Reply {
        let now = self.keeper.now();
        let change = Change::read(change, &["for", "expires", "reason", "by"], now)?;
        let until = change.until(now)?;
        let extension = Extension { until, reason: change.text("reason") };
        let remedy = "write another `expires` there";
        let rule = self.overlay.extend(id, &extension, now).map_err(|error| self.of_file(error, id, remedy))?;
        self.apply();
        info!(rule = %rule.id, by = change.text("by"), reason = rule.reason, expires = %until, "a rule was extended");
        Ok(self.describe_rule(&rule, now))
    }

    pub(super) fn end(&mut self, id: &str, change: &Json) -> Reply {
        let now = self.keeper.now();
        let change = Change::read(change, &["by"], now)?;
        let remedy = "take it out there, or set its `mode: off`";
        let rule = self.overlay.end(id, now).map_err(|error| self.of_file(error, id, remedy))?;
        let ended = self.describe_rule(&rule, now);
        self.apply();
        info!(rule = %rule.id, by = change.text("by"), "a rule was ended");
        Ok(ended)
    }

    pub(super) fn open_incident(&mut self, change: &Json) -> Reply {
        let now = self.keeper.now();
        let change = Change::read(change, &["id", "playbook", "reason", "by"], now)?;
        let id = change.text("id").ok_or_else(|| invalid("`id` is missing: write `\"id\": \"INC-42\"`"))?;
        let (playbook, reason, by) = (change.text("playbook"), change.text("reason"), change.text("by"));
        let policy = &self.reloader.plan().policy;
        let rules = match playbook {
            None => Vec::new(),
            Some(name) => {
                let playbook = policy.playbook(name).ok_or_else(|| no_playbook(policy, name))?;
                playbook.open(id, by, reason, now)
            }
        };
        let incident = Incident {
            id: id.to_owned(),
            playbook: playbook.map(str::to_owned),
            opened: now,
            opened_by: by.map(str::to_owned),
            reason: reason.map(str::to_owned),
        };
        rules.iter().try_for_each(|rule| self.refuse_without_place(rule))?;
        self.overlay.open_incident(incident, rules.clone(), now).map_err(refused)?;
        self.apply();
        warn!(incident = id, playbook, rules = rules.len(), by, "an incident was opened");
        let rules: Vec<Json> = rules.iter().map(|rule| self.describe_new(rule, now)).collect();
        Ok(json!({ "id": id, "playbook": playbook, "opened": now.to_string(), "rules": rules }))
    }

    pub(super) fn close_incident(&mut self, id: &str, change: &Json) -> Reply {
        let now = self.keeper.now();
        let change = Change::read(change, &["by"], now)?;
        let at_work: Vec<String> = self.at_work(id, now);
        let closed = self.overlay.close_incident(id, now).map_err(refused)?;
        self.apply();
        let ended: Vec<&str> = closed.ended.iter().map(|rule| &*rule.id).collect();
        let by = change.text("by");
        info!(incident = id, ended = ended.join(", "), at_work = at_work.join(", "), by, "an incident was closed");
        let stay: Vec<&str> = closed.stay.iter().map(|rule| &**rule).collect();
        Ok(json!({ "id": id, "ended": ended, "still_at_work": at_work, "stay": stay }))
    }

    /// Rules give thresholds for a few gates at most.
    fn refuse_without_place(&self, rule: &Rule) -> Result<(), ControlError> {
        let without = self.reloader.plan().policy.gates_without_place(self.overlay.rules(), rule);
        match without.first() {
            None => Ok(()),
            Some(gate) => Err(invalid(format!(
                "do.thresholds.{gate}: rules give thresholds for {} gates already, which is the most; end one of them first",
                rules::MOST_THRESHOLDS
            ))),
        }
    }

    /// A rule that has just been put in force: with whom it hits, and what may be wrong with it.
    fn describe_new(&self, rule: &Rule, now: Timestamp) -> Json {
        let mut json = self.describe_rule(rule, now);
        if let Some(object) = json.as_object_mut() {
            object.insert("warnings".to_owned(), json!(self.warnings_on(rule, now)));
            let whom = self.whom_it_hits(rule, now);
            object.extend(whom.json().map(|(key, value)| (key.to_owned(), value)));
        }
        json
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
        let about_it = warnings.iter().filter(|warning| warning.rule == rule.id).map(ToString::to_string);
        let no_probe = self.reloader.plan().probe.is_none() && digests::named(rule).next().is_some();
        let never_learnt = no_probe.then(|| {
            "its digest matches nothing: without `probe` nobody asks the server for the statement behind it; write the \
             statement itself"
                .to_owned()
        });
        about_it.chain(never_learnt).collect()
    }

    /// A rule that is not of the run time may be of the file, and is changed there.
    fn of_file(&self, error: OverlayError, id: &str, remedy: &str) -> ControlError {
        let policy = self.keeper.policy();
        let known =
            || policy.rules.rules().iter().find(|rule| *rule.id == *id && rule.origin != rules::Origin::Runtime);
        match (&error, known().map(|rule| rule.origin)) {
            (OverlayError::NoSuchRule { .. }, Some(rules::Origin::File)) => {
                conflict(format!("the rule `{id}` stands in proxy.yaml: {remedy}"))
            }
            (OverlayError::NoSuchRule { .. }, Some(rules::Origin::BuiltIn)) => {
                conflict(format!("the rule `{id}` is built in: it is made of `heartbeat_writers` in proxy.yaml"))
            }
            _ => refused(error),
        }
    }
}

/// What comes with a wish: a few texts.
struct Change<'a>(&'a Json);

impl<'a> Change<'a> {
    /// Who and why become part of a rule and are read back with it, so they are held to what a rule may say.
    fn read(json: &'a Json, keys: &[&str], now: Timestamp) -> Result<Change<'a>, ControlError> {
        let object = json.as_object().ok_or_else(|| invalid("send an object, as in `{ \"reason\": \"…\" }`"))?;
        for (key, value) in object {
            if !keys.contains(&key.as_str()) {
                return Err(invalid(format!("there is no key `{key}` here; there are {}", keys.join(", "))));
            }
            if !value.is_string() && !value.is_null() {
                return Err(invalid(format!("`{key}` is not a text; write it in quotes")));
            }
        }
        let change = Change(json);
        let of_rule = [("reason", "reason"), ("created_by", "by"), ("incident", "id"), ("playbook", "playbook")];
        let mut rule = json!({ "match": { "scope": "*" }, "do": { "hold": true } });
        for (rules_key, key) in of_rule {
            if let (Some(text), Some(object)) = (change.text(key), rule.as_object_mut()) {
                object.insert(rules_key.to_owned(), json!(text));
            }
        }
        config::rule::from_json(&rule, &[], now).map_err(|mut problems| {
            for problem in &mut problems {
                if let Some((_, key)) = of_rule.iter().find(|(rules_key, _)| problem.key == *rules_key) {
                    problem.key = (*key).to_owned();
                }
            }
            all(&problems)
        })?;
        Ok(change)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).and_then(Json::as_str)
    }

    /// The end that is asked for.
    fn until(&self, now: Timestamp) -> Result<Timestamp, ControlError> {
        match (self.text("for"), self.text("expires")) {
            (Some(duration), None) => config::duration(duration).map(|duration| now.plus(duration)).map_err(invalid),
            (None, Some(moment)) => Timestamp::parse(moment)
                .ok_or_else(|| invalid(format!("`{moment}` is not a moment such as 2026-04-21T16:00:00Z"))),
            (None, None) => Err(invalid("how long? write `\"for\": \"2h\"`, or `\"expires\"` with a moment")),
            (Some(_), Some(_)) => Err(invalid("`for` and `expires` both say when it ends: write one of them")),
        }
    }
}

fn all(problems: &[RuleProblem]) -> ControlError {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    invalid(lines.join("\n"))
}

fn no_playbook(policy: &config::Policy, name: &str) -> ControlError {
    let known: Vec<&str> = policy.playbooks.iter().map(|playbook| playbook.name.as_str()).collect();
    match known.is_empty() {
        true => invalid(format!("no playbook `{name}` in proxy.yaml: there are none; write one below `playbooks`")),
        false => invalid(format!("no playbook `{name}` in proxy.yaml; there are: {}", known.join(", "))),
    }
}

fn conflict(message: String) -> ControlError {
    ControlError { kind: ControlErrorKind::Conflict, message }
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
        OverlayError::NotKept { .. }
        | OverlayError::Unanswered { .. }
        | OverlayError::Locked { .. }
        | OverlayError::Newer { .. } => ControlErrorKind::Failed,
    };
    ControlError { kind, message: error.to_string() }
}
