//! Rules on what a client says of itself.

use identity::{Name, NamePart, Settings, Trust};

use super::WarningKind;
use crate::matching::{Condition, Key, Value};
use crate::rule::{Do, Rule};

pub(super) fn find(rule: &Rule, identity: &Settings) -> Option<WarningKind> {
    let conditions = || rule.matching.conditions.iter();
    let certain = conditions().find(|condition| is_claim(condition, identity)).map(|condition| condition.key.clone());
    let perhaps = || conditions().find_map(|condition| perhaps_claimed(condition, identity));
    if restricts(rule) {
        let escapable = match certain {
            Some(key) => WarningKind::Escapable { key },
            None => WarningKind::EscapableUnlessNamed { scope: perhaps()? },
        };
        return (!concerns_only_trusted(rule, identity)).then_some(escapable);
    }
    let without_effect = match certain {
        Some(key) => WarningKind::UntrustedFavour { key },
        None => WarningKind::UntrustedFavourUnlessNamed { scope: perhaps()? },
    };
    (!may_concern_trusted(rule, identity)).then_some(without_effect)
}

pub(super) fn restricts(rule: &Rule) -> bool {
    let limits = rule.effect.limits;
    let limited = limits.max_concurrency.is_some() || limits.max_connections.is_some();
    let gated = !rule.effect.thresholds.is_empty() || rule.effect.weight.is_some_and(|weight| weight < Do::WEIGHT);
    limited || gated || rule.effect.share.is_some_and(|share| share.strictness() > 0.0)
}

/// A name is a claim if no part of it can be anything else.
fn is_claim(condition: &Condition, identity: &Settings) -> bool {
    match condition.key {
        Key::Attr(_) | Key::Tag(_) | Key::QueryAttr(_) | Key::Tool => true,
        Key::Scope => names_somebody(condition) && !identity.name.iter().any(NamePart::is_trusted),
        Key::User
        | Key::Address
        | Key::Schema
        | Key::Listener
        | Key::Class
        | Key::Fingerprint
        | Key::Table
        | Key::Shape => false,
    }
}

/// A scope, where a name has parts of both kinds.
fn perhaps_claimed(condition: &Condition, identity: &Settings) -> Option<String> {
    let claimed = identity.name.iter().any(|part| !part.is_trusted());
    let scope = |value: &Value| match value {
        Value::Scope(scope) => Some(scope.text.to_string()),
        _ => None,
    };
    let name = condition.values.iter().filter_map(scope).find(|scope| scope != Name::UNATTRIBUTED);
    name.filter(|_| claimed && names_somebody(condition))
}

/// Nobody needs a claim to be in `*`, or to be unattributed.
fn names_somebody(condition: &Condition) -> bool {
    let is = |value: &Value, text: &str| matches!(value, Value::Scope(scope) if &*scope.text == text);
    let values = &condition.values;
    !values.iter().any(|value| is(value, "*")) && !values.iter().all(|value| is(value, Name::UNATTRIBUTED))
}

/// Whoever is trusted to make claims does not leave them out.
fn concerns_only_trusted(rule: &Rule, identity: &Settings) -> bool {
    rule.matching
        .conditions
        .iter()
        .any(|condition| condition.values.iter().all(|value| is_trusted(condition, value, identity)))
}

fn may_concern_trusted(rule: &Rule, identity: &Settings) -> bool {
    let by_user = identity.trust_claims_of.iter().any(|trust| matches!(trust, Trust::User(_)));
    let by_network = identity.trust_claims_of.iter().any(|trust| matches!(trust, Trust::Network(_)));
    let condition = |key: Key| rule.matching.conditions.iter().find(move |condition| condition.key == key);
    let any = |condition: &Condition| condition.values.iter().any(|value| is_trusted(condition, value, identity));
    // Who is trusted by user may come from anywhere, and who is trusted by network may be any user.
    let user_may = by_user && condition(Key::User).is_none_or(any);
    let network_may = by_network && condition(Key::Address).is_none_or(any);
    user_may || network_may
}

fn is_trusted(condition: &Condition, value: &Value, identity: &Settings) -> bool {
    identity.trust_claims_of.iter().any(|trust| match (&condition.key, trust, value) {
        (Key::User, Trust::User(trusted), Value::Text(user)) => trusted == user,
        (Key::Address, Trust::Network(trusted), Value::Network(network)) => trusted.contains(network),
        _ => false,
    })
}
