//! Rules that can match nothing, or do nothing.

use std::net::IpAddr;

use ipnet::IpNet;
use statement::{Class, Classes};

use super::WarningKind;
use super::claims::restricts;
use crate::matching::{Condition, Key, Value};
use crate::rule::Rule;
use crate::scope::Pattern;
use crate::timestamp::Timestamp;

pub(super) fn find(rule: &Rule, now: Timestamp) -> Vec<WarningKind> {
    let matching = &rule.matching;
    let all = || matching.conditions.iter().chain(&matching.not);
    let mut found: Vec<WarningKind> = all().flat_map(|condition| condition.values.iter().filter_map(value)).collect();
    found.extend(matching.conditions.iter().filter(|one| is_excluded(one, &matching.not)).map(excludes_itself));
    if matching.conditions.iter().any(is_only_control) {
        found.push(WarningKind::OnlyControl);
    }
    if matching.conditions.iter().any(is_narrow) && restricts(rule) {
        found.push(WarningKind::NarrowClass);
    }
    if rule.effect.limits.max_connections.is_some() {
        let unknown = all().find(|condition| !condition.key.is_of_connection());
        found.extend(unknown.map(|condition| WarningKind::NotKnownAtLogin { key: condition.key.clone() }));
    }
    found.extend(rule.expires.filter(|expires| *expires <= now).map(|since| WarningKind::Expired { since }));
    found
}

fn value(value: &Value) -> Option<WarningKind> {
    match value {
        Value::Scope(scope) if Pattern::new(&scope.text) == Pattern::Nobody => Some(WarningKind::ValueFitsNothing {
            key: Key::Scope,
            value: scope.text.to_string(),
            why: "parts are separated by `:`, none is empty, and `*` is a whole part or the end of one",
        }),
        Value::Network(network) if is_mapped(network) => Some(WarningKind::ValueFitsNothing {
            key: Key::Address,
            value: network.to_string(),
            why: "a client with an IPv4 address has it as an IPv4 address",
        }),
        _ => None,
    }
}

fn is_mapped(network: &IpNet) -> bool {
    let mapped = match network.addr() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => address.to_ipv4_mapped(),
    };
    mapped.is_some() && network.prefix_len() >= 96
}

/// Routines and dynamic SQL may be what the condition names, and it leaves them out.
fn is_narrow(condition: &Condition) -> bool {
    let exact: Classes = condition.values.iter().filter_map(exact_class).collect();
    !exact.is_empty() && !exact.contains(Class::Unparsed)
}

fn exact_class(value: &Value) -> Option<Class> {
    match value {
        Value::ExactClass(class) => Some(*class),
        _ => None,
    }
}

fn is_only_control(condition: &Condition) -> bool {
    condition.key == Key::Class && condition.values.iter().all(|value| *value == Value::Class(Class::Control))
}

fn is_excluded(condition: &Condition, not: &[Condition]) -> bool {
    let same_key = not.iter().find(|not| not.key == condition.key);
    same_key.is_some_and(|not| condition.values.iter().all(|value| super::shields::covered(value, &not.values)))
}

fn excludes_itself(condition: &Condition) -> WarningKind {
    WarningKind::ExcludesItself { key: condition.key.clone() }
}
