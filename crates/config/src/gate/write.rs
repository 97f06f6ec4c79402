//! Gates and metrics as they would be written, for the log of a reload.

use serde_json::{Map, Value as Json, json};

use super::{Gate, Metric, MetricQuestion};
use crate::rule;
use crate::value::{measure, shown_duration, trickle};

pub(crate) fn gate_to_json(gate: &Gate) -> Json {
    let Gate { settings, mode, classes, logins, matching, action, max_delay, max_delay_after_reads } = gate;
    let classes = classes.iter().map(ToString::to_string).chain(logins.then(|| "login".to_owned()));
    let max_closed = settings.max_closed.map_or_else(|| "never".to_owned(), shown_duration);
    some([
        ("metric", Some(json!(&*settings.metric))),
        ("threshold", Some(measure::to_json(settings.threshold, Some(settings.unit)))),
        ("match", matching.as_ref().map(rule::matching_to_json)),
        ("classes", Some(classes.collect())),
        ("mode", mode.map(|mode| json!(mode.as_str()))),
        ("interval", Some(json!(shown_duration(settings.interval)))),
        ("scope", Some(json!(settings.scope.over.as_str()))),
        ("ignore_worst", Some(json!(settings.scope.ignore_worst))),
        ("control", Some(json!(settings.control.as_str()))),
        ("on_stale", Some(json!(settings.on_stale.as_str()))),
        ("stale_after", Some(json!(shown_duration(settings.stale_after)))),
        ("max_closed", Some(json!(max_closed))),
        ("trickle", Some(json!(trickle::shown(settings.trickle)))),
        ("action", action.map(|action| json!(action.as_str()))),
        ("max_delay", max_delay.map(|delay| json!(shown_duration(delay)))),
        ("max_delay_after_reads", max_delay_after_reads.map(|delay| json!(shown_duration(delay)))),
    ])
}

pub(crate) fn metric_to_json(metric: &Metric) -> Json {
    let (sql, on, http) = match &metric.ask {
        MetricQuestion::Sql { sql, on } => (Some(sql), Some(on.as_str()), None),
        MetricQuestion::Http { url } => (None, None, Some(url)),
    };
    some([
        ("sql", sql.map(|sql| json!(sql))),
        ("on", on.map(|on| json!(on))),
        ("http", http.map(|url| json!(url))),
        ("unit", Some(json!(metric.unit.as_str()))),
        ("interval", Some(json!(shown_duration(metric.interval)))),
        ("timeout", Some(json!(shown_duration(metric.timeout)))),
    ])
}

fn some<const N: usize>(keys: [(&str, Option<Json>); N]) -> Json {
    let keys: Map<String, Json> = keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    Json::Object(keys)
}
