//! What is said of gates and metrics, ready to be printed.

use health::Unit;
use serde_json::Value as Json;

use super::Tone;

/// A number of an answer, in the unit that stands under another of its keys.
pub(crate) fn amount(json: &Json, key: &str, unit: &str) -> String {
    let unit = json.get(unit).and_then(Json::as_str).and_then(Unit::named).unwrap_or_default();
    json.get(key).and_then(Json::as_f64).map(|value| unit.show(value)).unwrap_or_default()
}

/// Milliseconds of an answer, as exactly as an operator needs them.
pub(crate) fn age(json: &Json, key: &str) -> String {
    let Some(millis) = json.get(key).and_then(Json::as_u64) else { return String::new() };
    match millis {
        0..60_000 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        60_000..3_600_000 => format!("{}m{}s", millis / 60_000, millis % 60_000 / 1000),
        _ => format!("{}h{}m", millis / 3_600_000, millis % 3_600_000 / 60_000),
    }
}

pub(crate) fn state_tone(state: &str) -> Tone {
    match state {
        "open" => Tone::Good,
        "limiting" | "waking" => Tone::Careful,
        "closed" | "stale" | "given_up" => Tone::Bad,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_and_ages() {
        for (json, shown) in [
            (json!({ "value": 0.25, "unit": "seconds" }), "250ms"),
            (json!({ "value": 40, "unit": "count" }), "40"),
            (json!({ "value": 0.9, "unit": "share" }), "90%"),
            (json!({ "value": null, "unit": "count" }), ""),
            (json!({}), ""),
        ] {
            assert_eq!(amount(&json, "value", "unit"), shown);
        }
        for (millis, shown) in [(0, "0.0s"), (1250, "1.2s"), (61_000, "1m1s"), (7_260_000, "2h1m")] {
            assert_eq!(age(&json!({ "age_ms": millis }), "age_ms"), shown);
        }
    }

    #[test]
    fn every_state_has_a_tone() {
        for state in health::State::WORDS {
            assert_ne!(state_tone(state), Tone::Plain, "{state}");
        }
    }
}
