use std::path::Path;

use admission::gates::Moment;
use config::Plan;
use health::{Board, Report};
use statement::Class;

use super::*;
use crate::steering::keeper_of_file;

const YAML: &str = "\
upstream: { address: db }
probe: { user: tollgate, password: x }
metrics: { level: { sql: SELECT 1, unit: share } }
gates:
  threads_running: { threshold: 40, control: binary, classes: [write], trickle: 2/s }
  level: { threshold: 50%, mode: warn, on_stale: closed, match: { user: etl } }
  lock_waits: { threshold: 3, mode: off }
";

/// After each second, this was said.
fn seen(readings: &[(&str, Reading)], seconds: u64) -> Json {
    let plan = Plan::from_text(YAML, Path::new("proxy.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let keeper = keeper_of_file(&plan);
    let start = Instant::now();
    let mut board = Board::default();
    for second in 0..=seconds {
        let now = start + Duration::from_secs(second);
        for (metric, reading) in readings {
            let (metric, server) = ((*metric).into(), "db:3306".into());
            board.report(Report { metric, server, reading: *reading, at: now, applied: None });
        }
        keeper.gates().observe(&board, &Moment { now, asleep: false, awake_since: None });
    }
    let metric = |(metric, reading): &(&str, Reading)| MetricSeen {
        metric: (*metric).into(),
        unit: health::BuiltIn::named(metric).map_or(health::Unit::Share, health::BuiltIn::unit),
        server: "db:3306".into(),
        reading: *reading,
        age: Duration::from_millis(100),
    };
    let now = start + Duration::from_secs(seconds);
    let measured = Seen {
        at: Some(now),
        metrics: readings.iter().map(metric).collect(),
        servers: vec![ServerSeen {
            name: "db:3306".into(),
            role: "primary".to_owned(),
            version: "MySQL 9.7.4".to_owned(),
            read_only: false,
            replication: None,
        }],
        asleep: false,
        latencies: vec![(Class::Write, Took { count: 12, p50: 0.001, p99: 0.02 })],
        commits: None,
    };
    sight(&keeper.gates().seen(), &measured, &keeper.policy(), now + Duration::from_millis(250))
}

fn fields<'j>(json: &'j Json, gate: &str, keys: &[&str]) -> Vec<&'j Json> {
    let gates = json["gates"].as_array().unwrap();
    let gate = gates.iter().find(|found| found["gate"] == gate).unwrap();
    keys.iter().map(|key| &gate[*key]).collect()
}

/// The whole proxy's mode is the most that a gate comes to, whatever it says itself.
#[test]
fn of_two_modes_the_milder_holds() {
    for (whole, own, holds) in [
        ("enforce", "", "enforce"),
        ("enforce", ", mode: enforce", "enforce"),
        ("enforce", ", mode: warn", "warn"),
        ("enforce", ", mode: off", "off"),
        ("warn", "", "warn"),
        ("warn", ", mode: enforce", "warn"),
        ("warn", ", mode: warn", "warn"),
        ("warn", ", mode: off", "off"),
        ("off", "", "off"),
        ("off", ", mode: enforce", "off"),
        ("off", ", mode: warn", "off"),
    ] {
        let yaml = format!(
            "upstream: {{ address: db }}\ndefaults: {{ mode: {whole} }}\ngates: {{ queue_length: {{ threshold: 9{own} }} }}\n"
        );
        let plan = Plan::from_text(&yaml, Path::new("proxy.yaml")).unwrap_or_else(|error| panic!("{error}"));
        let keeper = keeper_of_file(&plan);
        let json = sight(&keeper.gates().seen(), &Seen::default(), &keeper.policy(), Instant::now());
        assert_eq!(json!(fields(&json, "queue_length", &["mode"])), json!([holds]), "{whole}{own}");
    }
}

#[test]
fn a_gate_as_json() {
    let json = seen(&[("threads_running", Reading::Value(50.0)), ("level", Reading::Unknown(Unknown::Denied))], 2);
    let keys = ["value", "threshold", "state", "flow", "rate", "mode", "age_ms", "classes", "everybody", "given_up"];
    assert_eq!(
        json!(fields(&json, "threads_running", &keys)),
        json!([50.0, 40.0, "closed", "closed, 2/s", 2.0, "enforce", 250, ["write"], true, 0])
    );
    let keys = ["value", "unknown", "state", "mode", "means", "everybody", "unit"];
    let means =
        "The probe user is not let in, or lacks a privilege: see `tollgate grants`. `on_stale: closed` is done.";
    assert_eq!(json!(fields(&json, "level", &keys)), json!([null, "denied", "stale", "warn", means, false, "share"]));
    assert_eq!(json!(fields(&json, "lock_waits", &["state", "mode", "threshold"])), json!(["off", "off", 3.0]));
    assert_eq!(json["metrics"][0]["age_ms"], 350, "what was published grows older");
    let means = Unknown::Denied.means();
    assert_eq!(
        json["metrics"][1],
        json!({ "metric": "level", "server": "db:3306", "unit": "share", "value": null, "state": "denied",
                "means": means, "age_ms": 350 })
    );
    assert_eq!(json["latencies"], json!([{ "of": "write", "count": 12, "p50": 0.001, "p99": 0.02 }]));
}

#[test]
fn a_gate_that_gave_up_says_so() {
    let json = seen(&[("threads_running", Reading::Value(50.0))], 601);
    assert_eq!(
        json!(fields(&json, "threads_running", &["state", "flow", "given_up", "means"])),
        json!(["given_up", "open", 1, "Closed for `max_closed` without getting better: it lets everything pass."])
    );
}

#[test]
fn a_point_of_the_history() {
    let now = Instant::now() + Duration::from_secs(100);
    let values = Some(health::history::Values { low: 1.0, high: 3.0, last: 2.0 });
    let since = now - Duration::from_millis(7549);
    for (values, low, last) in [(values, json!(1.0), json!(2.0)), (None, json!(null), json!(null))] {
        let point = point_json(&Point { since, values, state: State::Limiting, waiting: 4 }, now);
        assert_eq!(
            (&point["age"], &point["low"], &point["last"], &point["state"], &point["waiting"]),
            (&json!(7.5), &low, &last, &json!("limiting"), &json!(4))
        );
    }
}
