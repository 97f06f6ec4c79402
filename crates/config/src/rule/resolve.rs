//! Raw → rule: what goes together, and what must be there.

use std::time::Duration;

use rules::lifetime;
use rules::{Active, Condition, Days, Do, Limits, Match, Origin, Rule, Share, Timestamp, Value};
use statement::Class;

use super::end::{A_DAY, End};
use super::matching::RawMatch;
use super::raw::{RawActive, RawDo, RawRule};
use super::{Kind, id};
use crate::tree::{At, KeyPath, Trouble};

/// `None`, and at least one trouble, if it cannot be a rule.
pub(super) fn resolve(
    raw: RawRule,
    base: &KeyPath,
    kind: Kind,
    now: Timestamp,
    troubles: &mut Vec<Trouble>,
) -> Option<(Rule, Option<Duration>)> {
    let before = troubles.len();
    let mut resolver = Resolver { base, kind, now, troubles };
    resolver.refuse_misplaced(&raw);
    let matching = resolver.matching(raw.matching);
    let effect = resolver.effect(raw.effect);
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
    base: &'a KeyPath,
    pub(super) kind: Kind,
    pub(super) now: Timestamp,
    troubles: &'a mut Vec<Trouble>,
}

impl Resolver<'_> {
    pub(super) fn refuse(&mut self, key: &str, at: At, what: impl Into<String>, remedy: impl Into<String>) {
        self.refuse_at(self.base.key(key), at, what, remedy);
    }

    fn refuse_at(&mut self, path: KeyPath, at: At, what: impl Into<String>, remedy: impl Into<String>) {
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
        let place = self.base.key("match");
        let raw = raw.unwrap_or_default();
        let not = raw.not.unwrap_or_default();
        if raw.conditions.is_empty() && not.is_empty() {
            let remedy =
                "write whom it concerns, such as `match: { user: etl }`, or `match: { scope: \"*\" }` for everyone";
            self.refuse_at(place, At::Key, "the rule does not say whom it concerns", remedy);
            return None;
        }
        self.refuse_empty(&place, &raw.conditions);
        self.refuse_empty(&place.key("not"), &not);
        let control = |condition: &Condition| condition.values.contains(&Value::Class(Class::Control));
        if raw.conditions.iter().any(control) {
            let what = "COMMIT, SET, SHOW and the like always pass, whatever a rule says";
            self.refuse_at(place.key("class"), At::Value, what, "take `control` out");
        }
        Some(Match { conditions: in_order(raw.conditions), not: in_order(not) })
    }

    fn refuse_empty(&mut self, place: &KeyPath, conditions: &[Condition]) {
        for condition in conditions.iter().filter(|condition| condition.values.is_empty()) {
            let remedy = "write at least one value, or take the key out";
            self.refuse_at(
                place.key(&condition.key.to_string()),
                At::Value,
                "the list is empty: nothing is in it",
                remedy,
            );
        }
    }

    fn effect(&mut self, raw: Option<RawDo>) -> Option<Do> {
        let place = self.base.key("do");
        let raw = raw.unwrap_or_default();
        let limit = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let limits = Limits {
            max_concurrency: raw.max_concurrency.map(|count| limit(count.0)),
            max_connections: raw.max_connections.map(|count| limit(count.0)),
        };
        let shares = [
            ("exempt", raw.exempt.map(|_| Share::Exempt)),
            ("hold", raw.hold.map(|_| Share::Hold)),
            ("rejection_ratio", raw.rejection_ratio.map(|ratio| Share::Ratio(ratio.0))),
        ];
        let mut written = shares.into_iter().filter_map(|(key, share)| share.map(|share| (key, share)));
        let share = written.next();
        if let (Some((first, _)), Some((second, _))) = (share, written.next()) {
            let what = format!("`{first}` and `{second}` contradict each other");
            self.refuse_at(place.key(second), At::Key, what, "keep one of them; they could be two rules");
            return None;
        }
        if share.is_none() && limits == Limits::default() {
            let remedy = "add `do:` with `rejection_ratio`, `exempt`, `hold`, `max_concurrency` or `max_connections`";
            self.refuse_at(place, At::Key, "the rule does nothing", remedy);
            return None;
        }
        Some(Do { share: share.map(|(_, share)| share), limits })
    }

    /// At login there is no statement yet.
    fn refuse_unknown_at_login(&mut self, matching: &Match, effect: &Do) {
        if effect.limits.max_connections.is_none() {
            return;
        }
        let place = self.base.key("match");
        let both = [(place.clone(), &matching.conditions), (place.key("not"), &matching.not)];
        for (place, conditions) in both {
            for key in conditions.iter().map(|condition| &condition.key).filter(|key| !key.is_of_connection()) {
                let what = format!("`max_connections` is decided at login, when `{key}` is not known yet");
                let remedy = format!("take `{key}` out, or put `max_connections` into a rule of its own");
                self.refuse_at(place.key(&key.to_string()), At::Key, what, remedy);
            }
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

/// By their keys, as JSON has them: so that a rule written in another order is the same rule.
fn in_order(mut conditions: Vec<Condition>) -> Vec<Condition> {
    conditions.sort_by_cached_key(|condition| condition.key.to_string());
    conditions
}
