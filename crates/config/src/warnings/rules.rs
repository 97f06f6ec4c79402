//! Rules that are allowed and do not do what was meant.

use std::collections::{HashMap, HashSet};

use rules::{Condition, Key, Rule, RuleId, RuleSet, Share, Timestamp, Value, Warning, WarningKind};

use crate::plan::Plan;
use crate::policy::Policy;
use crate::tree::{At, KeyPath, Trouble};

pub(super) fn find(plan: &Plan, now: Timestamp, found: &mut Vec<Trouble>) {
    let policy = &plan.policy;
    let place = KeyPath::of("rules");
    let positions: HashMap<&RuleId, usize> =
        policy.rules.iter().enumerate().map(|(index, rule)| (&rule.id, index)).collect();
    let mut fits_nothing = HashSet::new();
    for warning in RuleSet::warnings(&policy.rules, &policy.identity, now) {
        if matches!(warning.kind, WarningKind::ValueFitsNothing { .. }) {
            fits_nothing.insert(warning.rule.clone());
        } else if fits_nothing.contains(&warning.rule) && is_about_claims(&warning.kind) {
            // What matches nothing need not also be told how it is escaped.
            continue;
        }
        found.extend(positions.get(&warning.rule).map(|index| of(&warning, &place.item(*index))));
    }
    let templates = policy.playbooks.iter().flat_map(|playbook| {
        let place = KeyPath::of("playbooks").key(&playbook.name);
        playbook.rules.iter().enumerate().map(move |(index, template)| (place.item(index), &template.rule))
    });
    let all = policy.rules.iter().enumerate().map(|(index, rule)| (place.item(index), rule)).chain(templates);
    for (place, rule) in all {
        unknown_listeners(plan, rule, &place, found);
        stars(rule, &place, found);
        unused(rule, &place, found);
        looser(policy, rule, &place, found);
    }
    let queue = policy.queue;
    if queue.per_identity > queue.total {
        let what = format!("never reached: `queue.total` is {}", queue.total);
        found.push(super::warning("queue.per_identity", what, "write a smaller number, or take it out"));
    }
}

fn is_about_claims(kind: &WarningKind) -> bool {
    match kind {
        WarningKind::Escapable { .. }
        | WarningKind::EscapableUnlessNamed { .. }
        | WarningKind::UntrustedFavour { .. }
        | WarningKind::UntrustedFavourUnlessNamed { .. } => true,
        WarningKind::ValueFitsNothing { .. }
        | WarningKind::ExcludesItself { .. }
        | WarningKind::OnlyControl
        | WarningKind::NotKnownAtLogin { .. }
        | WarningKind::Expired { .. }
        | WarningKind::NarrowClass
        | WarningKind::AlwaysShielded { .. } => false,
    }
}

/// The sentence of the `rules` crate, and what to do about it.
fn of(warning: &Warning, rule: &KeyPath) -> Trouble {
    let at_key = |key: &Key| rule.key("match").key(&key.to_string());
    let (place, at, remedy) = match &warning.kind {
        WarningKind::ValueFitsNothing { key, value, .. } => {
            let remedy = match value.contains('.') && *key == Key::Scope {
                true => format!("write `{}`", value.replace('.', ":")),
                false => "write it differently, or take it out".to_owned(),
            };
            (at_key(key), At::Value, remedy)
        }
        WarningKind::ExcludesItself { key } => {
            (rule.key("match").key("not").key(&key.to_string()), At::Value, "take one of the two out".to_owned())
        }
        WarningKind::OnlyControl => (rule.key("match").key("class"), At::Value, "take the rule out".to_owned()),
        WarningKind::NarrowClass => (rule.key("match").key("class"), At::Value, "leave `exactly` out".to_owned()),
        WarningKind::NotKnownAtLogin { key } => {
            (at_key(key), At::Key, "put `max_connections` into a rule of its own".to_owned())
        }
        WarningKind::Expired { .. } => {
            (rule.key("expires"), At::Value, "take the rule out, or write a later moment".to_owned())
        }
        WarningKind::AlwaysShielded { by, .. } => {
            (rule.clone(), At::Value, format!("take it out, or give it a `priority` above that of `{by}`"))
        }
        WarningKind::Escapable { key } => (
            at_key(key),
            At::Key,
            "match on `user` or `address` instead, or write a rule for those who say nothing".to_owned(),
        ),
        WarningKind::EscapableUnlessNamed { .. } => (
            at_key(&Key::Scope),
            At::Value,
            "match on `user` or `address` instead, or write a rule for those who say nothing".to_owned(),
        ),
        WarningKind::UntrustedFavourUnlessNamed { .. } => (
            at_key(&Key::Scope),
            At::Value,
            "match on `user` or `address`, or name whom you trust in `identity.trust_claims_of`".to_owned(),
        ),
        WarningKind::UntrustedFavour { key } => (
            at_key(key),
            At::Key,
            "match on `user` or `address`, or name whom you trust in `identity.trust_claims_of`".to_owned(),
        ),
    };
    Trouble::new(place, at, warning.to_string(), remedy)
}

fn conditions<'r>(rule: &'r Rule, place: &KeyPath) -> Vec<(KeyPath, &'r Condition)> {
    let place = place.key("match");
    let at = |place: &KeyPath, condition: &Condition| place.key(&condition.key.to_string());
    let is = rule.matching.conditions.iter().map(|condition| (at(&place, condition), condition));
    let not = place.key("not");
    let is_not = rule.matching.not.iter().map(|condition| (at(&not, condition), condition));
    is.chain(is_not).collect()
}

fn texts(condition: &Condition) -> impl Iterator<Item = String> {
    condition.values.iter().filter_map(|value| match value {
        Value::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    })
}

fn unknown_listeners(plan: &Plan, rule: &Rule, place: &KeyPath, found: &mut Vec<Trouble>) {
    for (place, condition) in
        conditions(rule, place).into_iter().filter(|(_, condition)| condition.key == Key::Listener)
    {
        let names: Vec<&str> = plan.listen.iter().map(|listener| listener.name.as_str()).collect();
        for name in texts(condition).filter(|name| !names.contains(&name.as_str())) {
            let what = format!("no listener is called `{name}`");
            found.push(Trouble::new(place.clone(), At::Value, what, format!("there is {}", names.join(", "))));
        }
    }
}

fn stars(rule: &Rule, place: &KeyPath, found: &mut Vec<Trouble>) {
    for (place, condition) in conditions(rule, place) {
        if let Some(text) = texts(condition).find(|text| text.contains(['*', '%'])) {
            let what = format!("`{text}` is taken as it stands: only a scope has globs");
            let remedy = "write whole values, as a list if there are several, or match on `scope`";
            found.push(Trouble::new(place, At::Value, what, remedy));
        }
    }
}

/// Another threshold is meant to be a stricter one.
fn looser(policy: &Policy, rule: &Rule, place: &KeyPath, found: &mut Vec<Trouble>) {
    let place = place.key("do").key("thresholds");
    for (name, value) in &rule.effect.thresholds {
        let Some(gate) = policy.gate(name).filter(|gate| *value > gate.settings.threshold) else { continue };
        let unit = gate.settings.unit;
        let (own, others) = (unit.show(gate.settings.threshold), unit.show(*value));
        let what = format!("{others} is looser than the gate's own {own}: it acts as an exemption up to there");
        found.push(Trouble::new(
            place.key(name),
            At::Value,
            what,
            format!("write less than `{own}`, if it is not meant so"),
        ));
    }
}

/// Keys that say how to refuse, of a rule that refuses nothing.
fn unused(rule: &Rule, place: &KeyPath, found: &mut Vec<Trouble>) {
    let limited = rule.effect.limits.max_concurrency.is_some() || rule.effect.limits.max_connections.is_some();
    let favours = match rule.effect.share {
        Some(share) => share == Share::Exempt,
        None => rule.effect.skip_gates.is_some() || rule.effect.weight.is_some(),
    };
    if !favours || limited || !rule.effect.thresholds.is_empty() {
        return;
    }
    for (key, written) in [("action", rule.action.is_some()), ("max_delay", rule.max_delay.is_some())] {
        if written {
            let what = "this does nothing: the rule refuses nothing";
            found.push(Trouble::new(place.key(key), At::Key, what, "take it out"));
        }
    }
}
