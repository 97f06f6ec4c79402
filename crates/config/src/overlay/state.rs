//! What the overlay holds, and what may be done to it. Each change is whole or not made.

use std::collections::HashSet;
use std::time::Duration;

use rules::{Rule, RuleId, Timestamp, lifetime};

use super::OverlayError;
use crate::raw::A_YEAR;

/// More would be a program gone wild, not an operator.
const MOST_RULES: usize = 10_000;

/// Ended rules are remembered so that adding one again takes a new reason.
const MOST_PAST: usize = 200;
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// No id twice; every one expires.
    pub rules: Vec<Rule>,
    /// Those that are open; no id twice.
    pub incidents: Vec<Incident>,
    /// Rules that have ended, the latest last.
    pub past: Vec<Past>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub id: String,
    pub playbook: Option<String>,
    pub opened: Timestamp,
    pub opened_by: Option<String>,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    pub rule: Rule,
    pub ended: Timestamp,
    pub how: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Expired,
    /// Somebody ended it.
    Ended,
    /// With its incident.
    Closed,
}

/// Another end for a rule.
#[derive(Debug, Clone, Copy)]
pub struct Extension<'a> {
    pub until: Timestamp,
    pub reason: Option<&'a str>,
}

/// What closing an incident did.
#[derive(Debug, Clone, PartialEq)]
pub struct Closed {
    pub incident: Incident,
    /// Those that its playbook had put in force.
    pub ended: Vec<Rule>,
    /// Those that somebody had added for it by hand, and that go on.
    pub stay: Vec<RuleId>,
}

pub(super) fn is_over(rule: &Rule, now: Timestamp) -> bool {
    rule.expires.is_some_and(|expires| expires <= now)
}

impl State {
    pub(super) fn add(&mut self, rule: Rule, now: Timestamp) -> Result<(), OverlayError> {
        let known = self.rules.iter().chain(self.past.iter().map(|past| &past.rule));
        lifetime::check_reason(known, &rule.matching, rule.reason.as_deref())?;
        self.put(rule, now)
    }

    fn put(&mut self, rule: Rule, now: Timestamp) -> Result<(), OverlayError> {
        let Some(expires) = rule.expires else { return Err(OverlayError::NoEnd { id: rule.id }) };
        check_end(expires, now)?;
        // An expired rule that nobody has taken out yet does not stand in the way.
        self.expire(now);
        if self.rules.iter().any(|other| other.id == rule.id) {
            return Err(OverlayError::IdTaken { id: rule.id });
        }
        if self.rules.len() >= MOST_RULES {
            return Err(OverlayError::TooMany { most: MOST_RULES });
        }
        self.rules.push(rule);
        Ok(())
    }

    pub(super) fn extend(&mut self, id: &str, to: &Extension<'_>, now: Timestamp) -> Result<Rule, OverlayError> {
        let rule = self.find(id, now)?.clone();
        check_end(to.until, now)?;
        let known = self.rules.iter().chain(self.past.iter().map(|past| &past.rule));
        lifetime::check_reason(known, &rule.matching, to.reason)?;
        let extended = Rule { expires: Some(to.until), reason: to.reason.map(str::to_owned), ..rule };
        for rule in self.rules.iter_mut().filter(|rule| rule.id == extended.id) {
            rule.clone_from(&extended);
        }
        Ok(extended)
    }

    pub(super) fn end(&mut self, id: &str, now: Timestamp) -> Result<Rule, OverlayError> {
        let rule = self.find(id, now)?.clone();
        self.retire(now, Ending::Ended, |other| other.id == rule.id);
        Ok(rule)
    }

    pub(super) fn expire(&mut self, now: Timestamp) -> Vec<Rule> {
        self.retire(now, Ending::Expired, |rule| is_over(rule, now))
    }

    pub(super) fn open_incident(
        &mut self,
        incident: Incident,
        rules: Vec<Rule>,
        now: Timestamp,
    ) -> Result<(), OverlayError> {
        if self.incidents.iter().any(|open| open.id == incident.id) {
            return Err(OverlayError::IncidentOpen { id: incident.id });
        }
        // The incident is the reason; nobody has to find a new one for the same playbook.
        rules.into_iter().try_for_each(|rule| self.put(rule, now))?;
        self.incidents.push(incident);
        Ok(())
    }

    pub(super) fn close_incident(&mut self, id: &str, now: Timestamp) -> Result<Closed, OverlayError> {
        let open = self.incidents.iter().position(|open| open.id == id);
        let incident = match open {
            Some(position) => self.incidents.remove(position),
            None => return Err(OverlayError::NoSuchIncident { id: id.to_owned() }),
        };
        self.expire(now);
        let of_incident = |rule: &Rule| rule.incident.as_deref() == Some(id);
        let ended = self.retire(now, Ending::Closed, |rule| of_incident(rule) && rule.playbook.is_some());
        let stay = self.rules.iter().filter(|rule| of_incident(rule)).map(|rule| rule.id.clone()).collect();
        Ok(Closed { incident, ended, stay })
    }

    /// Forgets what ended long ago.
    pub(super) fn forget(&mut self, now: Timestamp) {
        self.past.retain(|past| now.since(past.ended) < REMEMBERED);
        let surplus = self.past.len().saturating_sub(MOST_PAST);
        self.past.drain(..surplus);
    }

    /// Gives other names to rules whose id a rule of proxy.yaml has; says which.
    pub(super) fn rename_taken(&mut self, taken: &HashSet<RuleId>) -> Vec<(RuleId, RuleId)> {
        let mut renamed = Vec::new();
        let clashing: Vec<RuleId> =
            self.rules.iter().map(|rule| rule.id.clone()).filter(|id| taken.contains(id)).collect();
        for old in clashing {
            let names = (1..)
                .map(|number| if number == 1 { format!("{old}-runtime") } else { format!("{old}-runtime-{number}") });
            let is_free =
                |name: &String| !taken.contains(name.as_str()) && self.rules.iter().all(|rule| *rule.id != **name);
            let Some(new) = names.into_iter().find(is_free).map(RuleId::from) else { continue };
            for rule in self.rules.iter_mut().filter(|rule| rule.id == old) {
                rule.id = new.clone();
            }
            renamed.push((old, new));
        }
        renamed
    }

    fn find(&self, id: &str, now: Timestamp) -> Result<&Rule, OverlayError> {
        let found = self.rules.iter().find(|rule| *rule.id == *id && !is_over(rule, now));
        found.ok_or_else(|| OverlayError::NoSuchRule { id: id.to_owned() })
    }

    fn retire(&mut self, now: Timestamp, how: Ending, ends: impl Fn(&Rule) -> bool) -> Vec<Rule> {
        let (ended, kept): (Vec<Rule>, Vec<Rule>) =
            std::mem::take(&mut self.rules).into_iter().partition(|rule| ends(rule));
        self.rules = kept;
        self.past.extend(ended.iter().map(|rule| Past { rule: rule.clone(), ended: now, how }));
        ended
    }
}

fn check_end(at: Timestamp, now: Timestamp) -> Result<(), OverlayError> {
    match () {
        () if at <= now => Err(OverlayError::Over { at }),
        () if at.since(now) > Duration::from_millis(A_YEAR) => Err(OverlayError::TooFar { at }),
        () => Ok(()),
    }
}
