//! What clients and operators are told: the presets of an error, what only warns, ends that come near, and the report.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sandbox::{APP, ETL};
use serde_json::{Value, json};

use super::{AT_ONCE, Answer, answer, ruled, run};
use crate::harness::{Raw, read_err, wait_until};

const READ: &str = "SELECT COUNT(*) FROM mysql.plugin";

#[test]
fn every_preset_is_an_error_of_mysqls_own() {
    let rule = "rules:\n- { id: stop, match: { user: etl }, do: { rejection_ratio: 1 }, permanent: true }\n";
    for (preset, code, beginning) in [
        ("throttled", 1226, "[tollgate] "),
        ("retryable", 1205, "Lock wait timeout exceeded; try restarting transaction [tollgate] "),
        ("timeout", 3024, "Query execution was interrupted, maximum statement execution time exceeded [tollgate] "),
        ("vitess", 1041, "Transaction throttled [tollgate] "),
    ] {
        let tollgate = ruled(&format!("defaults: {{ action: reject, reject_pause: 0s, error: {preset} }}\n{rule}"));
        let mut raw = Raw::login(tollgate.address, ETL);
        raw.query(READ);
        let (found, state, message) = read_err(&raw.read().expect("an ERR"));
        assert_eq!((found, state.as_str()), (code, "HY000"), "{preset}: {message}");
        let words = format!("{beginning}rule=stop reason=ratio client=etl retry_after_ms=");
        assert!(message.starts_with(&words), "{preset}: {message}");
        assert_eq!(run(&mut raw, "SELECT 1"), Answer::Done, "the connection is as good as before");
    }
}

/// A refusal comes after a pause, so that who tries again at once does so a few times a second and not thousands of times.
#[test]
fn a_tight_loop_of_retries_is_slowed_down() {
    let rule =
        "rules:\n- { id: stop, match: { user: etl }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    let tollgate = ruled(rule);
    let mut raw = Raw::login(tollgate.address, ETL);
    let begin = Instant::now();
    for _ in 0..10 {
        assert!(run(&mut raw, READ).is_refused());
    }
    // 50 to 250 ms each.
    assert!(begin.elapsed() >= Duration::from_millis(500), "{:?}", begin.elapsed());
}

#[test]
fn what_only_warns_passes_and_is_counted() {
    let warned = |mode: &str, of_rule: &str| {
        let yaml = format!(
            "defaults: {{ action: reject, reject_pause: 0s, mode: {mode} }}\nrules:\n\
             - {{ id: stop, match: {{ user: etl }}, do: {{ rejection_ratio: 1 }}, mode: {of_rule}, permanent: true }}\n"
        );
        let tollgate = ruled(&yaml);
        let refused = run(&mut Raw::login(tollgate.address, ETL), READ).is_refused();
        (refused, tollgate.counted("warned"))
    };
    for (mode, of_rule, expected) in [
        ("enforce", "enforce", (true, 0)),
        ("enforce", "warn", (false, 1)),
        ("enforce", "off", (false, 0)),
        ("warn", "enforce", (false, 1)),
        ("off", "enforce", (false, 0)),
    ] {
        assert_eq!(warned(mode, of_rule), expected, "mode {mode}, of the rule {of_rule}");
    }
}

/// Ten minutes before a rule ends; once, and again if its end has moved.
#[test]
fn a_rule_that_ends_soon_is_told_of() {
    let tollgate = ruled("rules: []\n");
    let told = |id: &str| {
        let log = tollgate.log();
        let about = |line: &&str| line.contains("a rule is about to expire") && line.contains(&format!("\"{id}\""));
        log.lines().filter(about).count()
    };
    for (id, time) in [("soon", "9m"), ("later", "11m")] {
        tollgate.add_rule(
            &json!({ "id": id, "match": { "user": id }, "do": { "hold": true }, "for": time, "reason": "r" }),
        );
    }
    wait_until("it is told", || told("soon") == 1);
    let (_, metrics) = tollgate.get("/metrics");
    assert!(metrics.contains("tollgate_rule_seconds_left{rule=\"soon\"}"), "{metrics}");
    assert_eq!(tollgate.post("/rules/soon/extend", r#"{ "for": "8m", "reason": "again" }"#).0, 200);
    wait_until("it is told again", || told("soon") == 2);
    // Of the file: its end moves when the file does.
    let in_minutes = |minutes: u64| {
        let end = SystemTime::now() + Duration::from_secs(60 * minutes);
        let end = rules::Timestamp(end.duration_since(UNIX_EPOCH).expect("a clock").as_millis() as i64);
        format!("rules: [{{ id: of-file, match: {{ user: x }}, do: {{ hold: true }}, expires: {end} }}]")
    };
    let first = in_minutes(9);
    tollgate.rewrite(|yaml| yaml.replace("rules: []", &first));
    wait_until("it is told", || told("of-file") == 1);
    tollgate.rewrite(|yaml| yaml.replace(&first, &in_minutes(8)));
    wait_until("it is told again", || told("of-file") == 2);
    assert_eq!((told("soon"), told("later")), (2, 0));
}

/// What each client asked and got, for whoever reads the log of a proxy that has ended.
#[test]
fn a_proxy_that_ends_says_who_got_what() {
    let rule = "rules:\n- { id: stop, match: { user: etl }, do: { rejection_ratio: 1 }, permanent: true }\n";
    let mut tollgate = ruled(&format!("{AT_ONCE}{rule}"));
    for (login, times) in [(ETL, 3), (APP, 2)] {
        let mut raw = Raw::login(tollgate.address, login);
        for _ in 0..times {
            raw.query(READ);
            let _ = answer(&mut raw);
        }
    }
    tollgate.signal("TERM");
    assert!(tollgate.wait().success());
    let client = |name: &str| {
        let log = tollgate.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.into_iter().find(|line| line["message"] == "client" && line["client"] == name)
    };
    wait_until("it is said", || client("etl").is_some() && client("app").is_some());
    for (name, numbers, by_rule) in [("etl", [3, 0, 3], "stop/ratio/rejected=3"), ("app", [2, 2, 0], "")] {
        let line = client(name).expect("a line");
        assert_eq!(["seen", "passed", "rejected"].map(|key| line[key].as_u64().expect("a number")), numbers, "{line}");
        assert_eq!(line["total_by_rule"], by_rule, "{line}");
    }
}
