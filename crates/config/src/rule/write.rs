//! A rule as JSON, in the words in which it is read.

use health::Unit;
use rules::{Active, Condition, Do, GateName, InTransaction, Match, Rule, Share, UnknownTables, Value};
use serde_json::{Map, Value as Json, json};
use statement::Shapes;

use super::active::{Clock, days_shown};
use super::table;
use crate::gate::Gate;
use crate::value::{measure, shown_duration};

/// What [`super::from_json`] reads back to the same rule, if it is one of the run time and there are these gates: `for` and
/// the origin are not in it.
pub fn shown(rule: &Rule, gates: &[Gate]) -> Json {
    let unit = |gate: &str| gates.iter().find(|known| *known.settings.name == *gate).map(|known| known.settings.unit);
    written(rule, unit)
}

/// The same where the gates need not be known: thresholds are plain numbers.
pub(crate) fn to_json(rule: &Rule) -> Json {
    written(rule, |_| None)
}

fn written(rule: &Rule, unit: impl Fn(&str) -> Option<Unit>) -> Json {
    let mut keys = Map::new();
    let mut put = |key: &str, value: Option<Json>| keys.extend(value.map(|value| (key.to_owned(), value)));
    put("id", Some(json!(&*rule.id)));
    put("match", Some(matching(&rule.matching)));
    put("do", Some(effect(&rule.effect, unit)));
    put("action", rule.action.map(|action| json!(action.as_str())));
    put("max_delay", rule.max_delay.map(|delay| json!(shown_duration(delay))));
    put("mode", rule.mode.map(|mode| json!(mode.as_str())));
    put("priority", (rule.priority != 0).then(|| json!(rule.priority)));
    put("override", rule.overrides.then_some(Json::Bool(true)));
    let in_transaction = Some(rule.in_transaction).filter(|word| *word != InTransaction::default());
    put("in_transaction", in_transaction.map(|word| json!(word.as_str())));
    let unknown_tables = Some(rule.unknown_tables).filter(|word| *word != UnknownTables::default());
    put("unknown_tables", unknown_tables.map(|word| json!(word.as_str())));
    put("active", rule.active.as_ref().map(active));
    put("expires", rule.expires.map(|at| json!(at.to_string())));
    put("permanent", rule.expires.is_none().then_some(Json::Bool(true)));
    put("created", rule.created.map(|at| json!(at.to_string())));
    put("created_by", rule.created_by.as_deref().map(|text| json!(text)));
    put("reason", rule.reason.as_deref().map(|text| json!(text)));
    put("incident", rule.incident.as_deref().map(|text| json!(text)));
    put("playbook", rule.playbook.as_deref().map(|text| json!(text)));
    Json::Object(keys)
}

/// Whom it concerns, also to compare two rules by.
pub(crate) fn matching(matching: &Match) -> Json {
    let mut keys = conditions(&matching.conditions);
    if !matching.not.is_empty() {
        keys.insert("not".to_owned(), Json::Object(conditions(&matching.not)));
    }
    Json::Object(keys)
}

fn conditions(conditions: &[Condition]) -> Map<String, Json> {
    let entry = |condition: &Condition| {
        let values = one_or_many(condition.values.iter().map(value));
        let is_exact = condition.values.iter().all(|value| matches!(value, Value::ExactClass(_)));
        (condition.key.to_string(), if is_exact { json!({ "exactly": values }) } else { values })
    };
    conditions.iter().map(entry).collect()
}

fn one_or_many(texts: impl Iterator<Item = String>) -> Json {
    let mut texts: Vec<String> = texts.collect();
    match texts.len() {
        1 => json!(texts.pop()),
        _ => json!(texts),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Scope(scope) => scope.text.to_string(),
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        // An address is a network of one, and written as an address.
        Value::Network(network) if network.prefix_len() == network.max_prefix_len() => network.addr().to_string(),
        Value::Network(network) => network.to_string(),
        Value::Class(class) | Value::ExactClass(class) => class.to_string(),
        Value::Fingerprint(fingerprint) => fingerprint.to_string(),
        Value::Digest(digest) => digest.to_string(),
        Value::Table { schema, name } => table::shown(schema.as_deref(), name),
        Value::Shape(shape) => shape_name(*shape).to_owned(),
    }
}

fn shape_name(shape: Shapes) -> &'static str {
    Shapes::NAMES.iter().find(|(_, known)| *known == shape).map_or("", |(name, _)| name)
}

fn effect(effect: &Do, unit: impl Fn(&str) -> Option<Unit>) -> Json {
    let mut keys = Map::new();
    match effect.share {
        Some(Share::Exempt) => drop(keys.insert("exempt".to_owned(), json!(true))),
        Some(Share::Hold) => drop(keys.insert("hold".to_owned(), json!(true))),
        Some(Share::Ratio(ratio)) => drop(keys.insert("rejection_ratio".to_owned(), json!(ratio))),
        None => {}
    }
    let limits =
        [("max_concurrency", effect.limits.max_concurrency), ("max_connections", effect.limits.max_connections)];
    keys.extend(limits.into_iter().filter_map(|(key, limit)| Some((key.to_owned(), json!(limit?)))));
    if !effect.thresholds.is_empty() {
        let threshold = |(gate, value): (&GateName, &f64)| (gate.to_string(), measure::to_json(*value, unit(gate)));
        let thresholds: Map<String, Json> = effect.thresholds.iter().map(threshold).collect();
        keys.insert("thresholds".to_owned(), Json::Object(thresholds));
    }
    if let Some(gates) = &effect.skip_gates {
        let gates: Vec<&str> = gates.iter().map(AsRef::as_ref).collect();
        keys.insert("skip_gates".to_owned(), json!(gates));
    }
    keys.extend(effect.weight.map(|weight| ("weight".to_owned(), json!(weight))));
    Json::Object(keys)
}

fn active(active: &Active) -> Json {
    json!({
        "days": one_or_many(days_shown(active.days).into_iter()),
        "from": Clock(active.from).to_string(),
        "to": Clock(active.to).to_string(),
        "tz": active.tz.iana_name().unwrap_or("UTC"),
    })
}
