//! Raw → rule: what goes together, and what must be there.

use std::time::Duration;

use rules::lifetime;
use rules::{Active, Condition, Days, Key, Match, Origin, Rule, Timestamp, Value};
use statement::Class;

use super::end::{A_DAY, End};
use super::matching::RawMatch;
use super::raw::{RawActive, RawRule};
use super::{Kind, id};
use crate::gate::KnownGate;
use crate::tree::{At, KeyPath, Trouble};

/// `None`, and at least one trouble, if it cannot be a rule.
pub(super) fn resolve(
    raw: RawRule,
    base: &KeyPath,
    kind: Kind,
    gates: Option<&[KnownGate]>,
    now: Timestamp,
    troubles: &mut Vec<Trouble>,
) -> Option<(Rule, Option<Duration>)> {
    let before = troubles.len();
    let mut resolver = Resolver { base, kind, gates, now, troubles };
    resolver.refuse_misplaced(&raw);
    let matching = resolver.matching(raw.matching);
    let effect = resolver.effect(raw.effect);
    if raw.unknown_tables.is_some() {
        resolver.refuse_without_table(matching.as_ref());
    }
    let active = raw.active.and_then(|active| resolver.active(active));
    if let (Some(matching), Some(effect)) = (&matching, &effect) {
        resolver.refuse_unknown_at_login(matching, effect);
    }
    if raw.id.is_none() && matches!(kind, Kind::File | Kind::Template) {
        resolver.refuse(
            "id",
            At::Value,
            "the rule's name is missing",
            "add `id:` with a name, such as `id: batch-yields`",
        );
    }
    if raw.id.as_ref().is_some_and(|id| id.0.starts_with(BUILT_IN)) {
        let what = format!("names that begin with `{BUILT_IN}` are the proxy's own");
        resolver.refuse("id", At::Value, what, "choose another name");
    }
    let usual = matching.as_ref().zip(effect.as_ref()).map(|(matching, effect)| lifetime::default_of(matching, effect));
    let written = End {
        expires: raw.expires.map(|at| at.0),
        lifetime: raw.lifetime.map(|span| span.0),
        permanent: raw.permanent.is_some(),
    };
    let end = resolver.end(&written, usual.unwrap_or(A_DAY));
    let (matching, effect) = matching.zip(effect).filter(|_| resolver.troubles.len() == before)?;
    let mut rule = Rule {
        id: raw.id.map(|id| id.0).unwrap_or_default().into(),
        origin: if kind == Kind::File { Origin::File } else { Origin::Runtime },
        matching,
        effect,
        action: raw.action.map(|word| word.0),
        max_delay: raw.max_delay.map(|span| span.0),
        mode: raw.mode.map(|word| word.0),
        priority: raw.priority.map_or(0, |priority| priority.0),
        overrides: raw.overrides.is_some(),
        in_transaction: raw.in_transaction.map(|word| word.0).unwrap_or_default(),
        unknown_tables: raw.unknown_tables.map(|word| word.0).unwrap_or_default(),
        active,
        expires: end.expires,
        created: raw.created.map(|at| at.0).or((kind == Kind::Runtime).then_some(now)),
        created_by: raw.created_by.map(|line| line.0),
        reason: raw.reason.map(|line| line.0),
        incident: raw.incident.map(|id| id.0),
        playbook: raw.playbook.map(|id| id.0),
    };
    if rule.id.is_empty() {
        rule.id = id::made(&rule, now).into();
    }
    Some((rule, end.lifetime))
}

/// As `rules::builtin` names its rules.
const BUILT_IN: &str = "built-in-";

/// Reads one rule.
pub(super) struct Resolver<'a> {
    pub(super) base: &'a KeyPath,
    pub(super) kind: Kind,
    /// `None`: nobody knows them here.
    pub(super) gates: Option<&'a [KnownGate]>,
    pub(super) now: Timestamp,
    troubles: &'a mut Vec<Trouble>,
}

impl Resolver<'_> {
    pub(super) fn refuse(&mut self, key: &str, at: At, what: impl Into<String>, remedy: impl Into<String>) {
        self.refuse_at(self.base.key(key), at, what, remedy);
    }

    pub(super) fn refuse_at(&mut self, path: KeyPath, at: At, what: impl Into<String>, remedy: impl Into<String>) {
        self.troubles.push(Trouble::new(path, at, what, remedy));
    }

    /// A key that has no meaning where the rule stands.
    fn refuse_misplaced(&mut self, raw: &RawRule) {
        let file = self.kind == Kind::File;
        let template = self.kind == Kind::Template;
        let at_opening = "it is set when the incident is opened: take it out";
        let misplaced = [
            (
                "override",
                file && raw.overrides.is_some(),
                "only a rule added at run time overrides",
                "take it out; give the rule a higher `priority` instead",
            ),
            (
                "playbook",
                file && raw.playbook.is_some(),
                "only a rule added at run time comes from a playbook",
                "take it out",
            ),
            ("playbook", template && raw.playbook.is_some(), "the rule stands in its playbook", "take it out"),
            ("incident", template && raw.incident.is_some(), "which incident it is for is not known yet", at_opening),
            ("created", template && raw.created.is_some(), "it is not in force yet", at_opening),
        ];
        for (key, _, what, remedy) in misplaced.into_iter().filter(|(_, misplaced, ..)| *misplaced) {
            self.refuse(key, At::Key, what, remedy);
        }
    }

    fn matching(&mut self, raw: Option<RawMatch>) -> Option<Match> {
        let (found, troubles) = matching(raw.unwrap_or_default(), &self.base.key("match"), "the rule");
        self.troubles.extend(troubles);
        found
    }

    /// `unknown_tables` says something about `table` only.
    fn refuse_without_table(&mut self, matching: Option<&Match>) {
        let has_table = |matching: &Match| matching.conditions.iter().any(|condition| condition.key == Key::Table);
        if matching.is_some_and(|matching| !has_table(matching)) {
            let what = "the rule names no table";
            self.refuse("unknown_tables", At::Key, what, "add `table:` under `match`, or take it out");
        }
    }

    fn active(&mut self, raw: RawActive) -> Option<Active> {
        let place = self.base.key("active");
        if raw.days.is_none() && raw.from.is_none() && raw.to.is_none() {
            let remedy = "add `days: mon-fri`, or `from: \"08:00\"` and `to: \"10:00\"`, or take `active` out";
            self.refuse_at(place, At::Key, "there are no days and no hours in it", remedy);
            return None;
        }
        let days = raw.days.map_or(Days::ALL, |days| days.0);
        if days == Days(0) {
            self.refuse_at(
                place.key("days"),
                At::Value,
                "the list is empty: the rule would never act",
                "write `mon-fri` or `[mon, wed]`",
            );
        }
        let (from, to) = (raw.from.map_or(0, |clock| clock.0), raw.to.map_or(24 * 60, |clock| clock.0));
        if from == to || from == 24 * 60 {
            let what = "there is no time between `from` and `to`";
            self.refuse_at(
                place.key("from"),
                At::Value,
                what,
                "write another time, or leave both out for the whole day",
            );
        }
        let tz = raw.tz.map_or(jiff::tz::TimeZone::UTC, |zone| zone.0);
        Some(Active { days, from, to, tz })
    }
}

/// What a `match` at this place comes to, and what is wrong with it. `of` is whose it is.
pub(crate) fn matching(raw: RawMatch, place: &KeyPath, of: &str) -> (Option<Match>, Vec<Trouble>) {
    let not = raw.not.unwrap_or_default();
    if raw.conditions.is_empty() && not.is_empty() {
        let remedy =
            "write whom it concerns, such as `match: { user: etl }`, or `match: { scope: \"*\" }` for everyone";
        let what = format!("{of} does not say whom it concerns");
        return (None, vec![Trouble::new(place.clone(), At::Key, what, remedy)]);
    }
    let mut troubles = empty(place, &raw.conditions);
    troubles.extend(empty(&place.key("not"), &not));
    let is_control = |value: &Value| matches!(value, Value::Class(Class::Control) | Value::ExactClass(Class::Control));
    let control = |condition: &Condition| condition.values.iter().any(is_control);
    if raw.conditions.iter().any(control) {
        let what = "COMMIT, SET, SHOW and the like always pass, whatever a rule or a gate says";
        troubles.push(Trouble::new(place.key("class"), At::Value, what, "take `control` out"));
    }
    (Some(Match { conditions: in_order(raw.conditions), not: in_order(not) }), troubles)
}

fn empty(place: &KeyPath, conditions: &[Condition]) -> Vec<Trouble> {
    let remedy = "write at least one value, or take the key out";
    let trouble = |condition: &Condition| {
        let place = place.key(&condition.key.to_string());
        Trouble::new(place, At::Value, "the list is empty: nothing is in it", remedy)
    };
    conditions.iter().filter(|condition| condition.values.is_empty()).map(trouble).collect()
}

/// By their keys, as JSON has them: so that a rule written in another order is the same rule.
fn in_order(mut conditions: Vec<Condition>) -> Vec<Condition> {
    conditions.sort_by_cached_key(|condition| condition.key.to_string());
    conditions
}
