//! Rules as JSON.

pub(crate) mod made;

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rules::{Origin, Rule, Timestamp};
use serde_json::{Value as Json, json};

use super::{from_json, from_json_text, from_stored, shown_json, to_json};
use crate::gate::Gate;
use crate::tests::{now, plan};

const MINUTE: Duration = Duration::from_secs(60);

/// A gate of each unit; the last is on logins.
const GATES: &str = "upstream: { address: 127.0.0.1, replicas: discover }
probe: { user: a, password: 'env:PASSWORD' }
gates:
  lag: { metric: replication_lag, threshold: 5s }
  threads_running: { threshold: 40 }
  connections_used: { threshold: 90% }
";

fn gates() -> Vec<Gate> {
    plan(GATES).policy.gates
}

#[test]
fn a_rule_is_read_back_as_it_was_written() {
    let mut random = StdRng::seed_from_u64(42);
    let gates = gates();
    for turn in 0..2000 {
        let rule = made::rule(&mut random, now());
        let json = shown_json(&rule, &gates);
        assert_eq!(from_json(&json, &gates, now()), Ok(rule.clone()), "turn {turn}: {json}");
        assert_eq!(from_json_text(&json.to_string(), &gates, now()), Ok(rule.clone()), "turn {turn}: {json}");
        // In `state_dir` the gates may be others by then.
        let later = now().plus(Duration::from_secs(2 * 365 * 24 * 3600));
        assert_eq!(from_stored(&to_json(&rule), later), Ok(rule), "turn {turn}: {json}");
    }
}

/// JSON is YAML too, so the two readers are compared with each other.
#[test]
fn the_file_reads_the_same_rule() {
    let mut random = StdRng::seed_from_u64(7);
    let gates = gates();
    for turn in 0..500 {
        let rule = Rule { overrides: false, playbook: None, origin: Origin::File, ..made::rule(&mut random, now()) };
        let text = format!("{GATES}rules: [{}]", shown_json(&rule, &gates));
        assert_eq!(plan(&text).policy.rules, [rule], "turn {turn}: {text}");
    }
}

#[track_caller]
fn check(rule: Json, expected: &[(&str, &str)]) {
    let problems = from_json(&rule, &gates(), now()).unwrap_err();
    let found: Vec<(&str, String)> =
        problems.iter().map(|problem| (problem.key.as_str(), problem.to_string())).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((key, said), (expected_key, words)) in found.iter().zip(expected) {
        assert_eq!(key, expected_key, "{said}");
        assert!(said.contains(words), "{said}");
    }
    assert!(problems.iter().all(|problem| !problem.what.is_empty() && !problem.remedy.is_empty()));
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    check(json!(7), &[("", "a number does not belong here; write the keys of a rule")]);
    check(json!({}), &[("match", "whom it concerns"), ("do", "the rule does nothing")]);
    check(
        json!({ "match": { "scop": "etl", "class": ["wirte"] }, "do": { "rejection_ratio": 90 }, "mod": "warn" }),
        &[
            ("do.rejection_ratio", "write `0.9`"),
            ("match.class[0]", "did you mean `write`"),
            ("match.scop", "did you mean `scope`"),
            ("mod", "did you mean `mode`"),
        ],
    );
    let whom = json!({ "user": "etl" });
    let hold = json!({ "hold": true });
    check(json!({ "match": whom, "do": { "budget": "b" } }), &[("do.budget", "not yet in this version")]);
    check(json!({ "match": whom, "do": { "weight": 0 } }), &[("do.weight", "0.01 to 100")]);
    check(
        json!({ "match": whom, "do": { "thresholds": { "lga": "2s" } } }),
        &[("do.thresholds.lga", "did you mean `lag`")],
    );
    check(json!({ "match": whom, "do": { "thresholds": { "lag": 2 } } }), &[("do.thresholds.lag", "`2s`")]);
    check(json!({ "match": whom, "do": { "thresholds": {} } }), &[("do.thresholds", "no gate in it")]);
    check(
        json!({ "match": whom, "do": { "skip_gates": ["elsewhere"] } }),
        &[("do.skip_gates[0]", "the gates are lag, threads_running, connections_used")],
    );
    check(
        json!({ "match": { "class": "write" }, "do": { "thresholds": { "connections_used": "80%" } } }),
        &[("match.class", "decided at login")],
    );
    check(
        json!({ "match": whom, "do": { "exempt": true, "skip_gates": ["lag"] } }),
        &[("do.skip_gates", "passes all gates")],
    );
    check(
        json!({ "match": whom, "do": hold, "permanent": true }),
        &[("permanent", "every rule added at run time expires")],
    );
    check(json!({ "match": whom, "do": hold, "for": "2h", "expires": "2026-04-21T12:00:00Z" }), &[("for", "keep one")]);
    check(json!({ "match": whom, "do": hold, "expires": "2026-04-21T10:05:30Z" }), &[("expires", "is over")]);
    check(json!({ "match": whom, "do": hold, "expires": "2099-01-01T00:00:00Z" }), &[("expires", "more than a year")]);
    check(json!({ "match": whom, "do": hold, "for": "9000h" }), &[("for", "too long")]);
    check(json!({ "match": whom, "do": hold, "id": "built-in-mine" }), &[("id", "the proxy's own")]);
    check(json!({ "match": whom, "do": hold, "override": false }), &[("override", "take the key out")]);
    check(
        json!({ "match": { "class": "write", "user": "a" }, "do": { "max_connections": 1 } }),
        &[("match.class", "decided at login")],
    );
    check(
        json!({ "match": { "user": "a", "not": { "table": "t" } }, "do": hold, "unknown_tables": "match" }),
        &[("unknown_tables", "add `table:` under `match`")],
    );
    check(
        json!({ "match": { "table": "t" }, "do": hold, "unknown_tables": "mach" }),
        &[("unknown_tables", "did you mean `match`")],
    );
}

#[test]
fn a_text_that_is_no_json_says_where() {
    let problems = from_json_text("{ \"match\": }", &[], now()).unwrap_err();
    assert!(problems[0].to_string().contains("line 1 column 12"), "{}", problems[0]);
    let twice = "{ \"match\": { \"user\": \"a\" }, \"do\": { \"hold\": true }, \"do\": { \"exempt\": true } }";
    let problems = from_json_text(twice, &[], now()).unwrap_err();
    assert_eq!((problems[0].key.as_str(), problems.len()), ("do", 1));
    assert!(from_json_text(&"[".repeat(100_000), &[], now()).is_err());
}

#[test]
fn a_rule_of_the_run_time_ends_without_saying_so() {
    for (rule, minutes) in [
        (json!({ "match": { "user": "a" }, "do": { "exempt": true } }), 60),
        (json!({ "match": { "user": "a" }, "do": { "skip_gates": ["lag"] } }), 60),
        (json!({ "match": { "user": "a" }, "do": { "thresholds": { "lag": "2s" } } }), 240),
        (json!({ "match": { "user": "a" }, "do": { "weight": 2 } }), 24 * 60),
        (json!({ "match": { "scope": "*" }, "do": { "rejection_ratio": 0.9 } }), 120),
        (json!({ "match": { "user": "a" }, "do": { "rejection_ratio": 0.9 } }), 24 * 60),
        (json!({ "match": { "user": "a" }, "do": { "rejection_ratio": 0.9 }, "for": "90m" }), 90),
        (json!({ "match": { "user": "a" }, "do": { "hold": true }, "expires": "2026-04-21T10:15:30Z" }), 10),
    ] {
        let rule = from_json(&rule, &gates(), now()).unwrap();
        assert_eq!(rule.expires, Some(now().plus(minutes * MINUTE)));
        assert_eq!((rule.origin, rule.created), (Origin::Runtime, Some(now())));
    }
}

#[test]
fn a_rule_without_a_name_gets_one_that_reads() {
    let at = Timestamp(now().0 + 1);
    let named = |rule: Json, at: Timestamp| from_json(&rule, &[], at).unwrap().id;
    let both = json!({ "match": { "class": "write", "user": "etl" }, "do": { "hold": true } });
    assert!(named(both, now()).starts_with("hold-etl-"));
    let etl = || json!({ "match": { "scope": "*:etl:*" }, "do": { "rejection_ratio": 0.9 } });
    assert!(named(etl(), now()).starts_with("throttle-etl-"));
    assert_ne!(named(etl(), now()), named(etl(), at));
    assert!(
        named(json!({ "match": { "not": { "user": "a" } }, "do": { "hold": true } }), now()).starts_with("hold-all-")
    );
    assert!(
        named(json!({ "match": { "scope": "*" }, "do": { "max_concurrency": 1 } }), now()).starts_with("limit-all-")
    );
}
