//! A name for a rule that was given none.

use rules::{Limits, Rule, Share, Timestamp, Value};

/// What it does, to whom, and since when: `throttle-etl-mg2k1x9c`.
pub(super) fn made(rule: &Rule, now: Timestamp) -> String {
    let verb = match rule.effect.share {
        Some(Share::Exempt) => "exempt",
        Some(Share::Hold) => "hold",
        Some(Share::Ratio(_)) => "throttle",
        None if rule.effect.skip_gates.is_some() => "skip",
        None if !rule.effect.thresholds.is_empty() => "threshold",
        None if rule.effect.weight.is_some() && rule.effect.limits == Limits::default() => "weigh",
        None => "limit",
    };
    // Of the keys, the one that says most about who it is.
    let whom = rule.matching.conditions.iter().min_by_key(|condition| &condition.key);
    let whom = whom.and_then(|condition| condition.values.first());
    let whom: String = whom.map(readable).unwrap_or_default();
    let whom = if whom.is_empty() { "all".to_owned() } else { whom };
    format!("{verb}-{whom}-{}", base36(now.0.unsigned_abs()))
}

fn readable(value: &Value) -> String {
    let text = match value {
        Value::Scope(scope) => scope.text.to_string(),
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Network(network) => network.addr().to_string(),
        Value::Class(class) | Value::ExactClass(class) => class.to_string(),
        Value::Fingerprint(fingerprint) => fingerprint.to_string(),
        Value::Digest(digest) => digest.to_string(),
        Value::Table { name, .. } => name.to_string(),
        Value::Shape(_) => "shape".to_owned(),
    };
    let kept = text.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c));
    kept.take(24).collect()
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).ok().and_then(|digit| char::from_digit(digit, 36));
        digits.extend(digit);
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}
