//! A rule in a few words.

use serde_json::{Map, Value as Json};

use super::harmless;

/// Whom it concerns: `user=etl class=write,ddl not address=10.2.0.0/16`.
pub(crate) fn whom(rule: &Json) -> String {
    let Some(keys) = rule.get("match").and_then(Json::as_object) else { return String::new() };
    let mut words = conditions(keys, "");
    if let Some(not) = keys.get("not").and_then(Json::as_object) {
        words.extend(conditions(not, "not "));
    }
    if words.is_empty() { "everyone".to_owned() } else { words.join(" ") }
}

fn conditions(keys: &Map<String, Json>, prefix: &str) -> Vec<String> {
    let conditions = keys.iter().filter(|(key, _)| *key != "not");
    conditions.map(|(key, value)| format!("{prefix}{}={}", harmless(key), values(value))).collect()
}

fn values(value: &Json) -> String {
    match value {
        Json::String(text) => harmless(text),
        Json::Array(list) => list.iter().map(values).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// What it does: `ratio 0.9, concurrency 4`.
pub(crate) fn does(rule: &Json) -> String {
    let Some(effect) = rule.get("do").and_then(Json::as_object) else { return String::new() };
    let word = |(key, value): (&String, &Json)| match key.as_str() {
        "rejection_ratio" => format!("ratio {}", value.as_f64().unwrap_or_default()),
        "max_concurrency" => format!("concurrency {value}"),
        "max_connections" => format!("connections {value}"),
        "thresholds" => {
            let gates = value.as_object().into_iter().flatten();
            let words = gates.map(|(gate, value)| format!("threshold {} {}", harmless(gate), values(value)));
            words.collect::<Vec<_>>().join(", ")
        }
        "skip_gates" if value.as_array().is_some_and(Vec::is_empty) => "skips no gate".to_owned(),
        "skip_gates" => format!("skips {}", values(value)),
        "weight" => format!("weight {}", value.as_f64().unwrap_or_default()),
        key => harmless(key),
    };
    effect.iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_in_a_few_words() {
        for (rule, who, what) in [
            (
                json!({ "match": { "user": "etl", "class": ["write", "ddl"], "not": { "address": "10.2.0.0/16" } },
                        "do": { "rejection_ratio": 0.9 } }),
                "class=write,ddl user=etl not address=10.2.0.0/16",
                "ratio 0.9",
            ),
            (json!({ "match": {}, "do": { "hold": true } }), "everyone", "hold"),
            (json!({ "match": { "user": "a" }, "do": { "rejection_ratio": 1.0 } }), "user=a", "ratio 1"),
            (
                json!({ "match": { "user": "a" }, "do": { "thresholds": { "replication_lag": "2s", "threads_running": 40.0 },
                        "weight": 0.5 } }),
                "user=a",
                "threshold replication_lag 2s, threshold threads_running 40.0, weight 0.5",
            ),
            (json!({ "match": { "user": "a" }, "do": { "skip_gates": ["a", "b"] } }), "user=a", "skips a,b"),
            (json!({ "match": { "user": "a" }, "do": { "skip_gates": [] } }), "user=a", "skips no gate"),
            (
                json!({ "match": { "scope": "*" }, "do": { "exempt": true, "max_concurrency": 4, "max_connections": 10 } }),
                "scope=*",
                "exempt, concurrency 4, connections 10",
            ),
        ] {
            assert_eq!((whom(&rule).as_str(), does(&rule).as_str()), (who, what));
        }
    }
}
