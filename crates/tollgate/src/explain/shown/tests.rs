use std::path::Path;

use config::Plan;
use serde_json::json;

use super::super::{Question, answer};
use super::*;
use crate::steering::keeper_of_file;

/// The words of a question to a file.
fn explained(yaml: &str, question: &Json) -> String {
    let plan = Plan::from_text(&format!("upstream: {{ address: db }}\n{yaml}"), Path::new("proxy.yaml"));
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let question = Question::read(question, &plan).unwrap_or_else(|wrong| panic!("{wrong}"));
    shown(&answer(&question.explain(&keeper_of_file(&plan))), &Style::PLAIN)
}

#[test]
fn two_judgements_and_a_refusal() {
    let yaml = "rules:\n\
        - { id: everyone-yields, match: { scope: \"*\" }, do: { rejection_ratio: 0.9 }, action: reject, permanent: true }\n\
        - { id: loader-first, match: { scope: loader }, do: { rejection_ratio: 0 }, permanent: true }\n\
        heartbeat_writers: { tables: [] }\n";
    let question = json!({ "user": "etl", "address": "10.0.0.7", "attrs": { "program_name": "loader" },
                           "sql": "DELETE FROM shop.orders WHERE id = 7" });
    let expected = "\
loader:etl
  facts        user=etl address=10.0.0.7 listener=127.0.0.1:6033
  claims       attr.program_name=loader (not trusted: judged also without them, as `etl`; the stricter stands)
  statement    DELETE FROM shop.orders WHERE id = ?
  class        write
  shapes       no_limit
  tables       shop.orders
  fingerprint  FINGERPRINT
  unit         decided as a whole, and held as long as the rule says

on all facts:
RULE             FROM  MODE     WHY
loader-first     file  enforce  matches, owns share
everyone-yields  file  enforce  matches; share is owned by loader-first, which fits more exactly

on trusted facts:
RULE             FROM  MODE     WHY
everyone-yields  file  enforce  matches, owns share
loader-first     file  enforce  scope does not fit: etl

verdict (the stricter of both): 90 % lose by everyone-yields and are refused at once; the others pass
if refused: ERROR 1226 (HY000): [tollgate] rule=everyone-yields reason=ratio client=loader:etl retry_after_ms=1000 id=0000000000000000
";
    let fingerprint = statement::fingerprint(b"DELETE FROM shop.orders WHERE id = 7", statement::Mode::default());
    let found = explained(yaml, &question).replace(&fingerprint.to_string(), "FINGERPRINT");
    assert_eq!(found, expected);
}

#[test]
fn what_passes_says_why() {
    let rule = "rules: [{ id: r, match: { user: etl }, do: { hold: true }, mode: warn, permanent: true }]\n";
    for (question, parts) in [
        (
            json!({ "user": "etl", "sql": "COMMIT" }),
            &["class        control\n", "verdict: passes: it is never delayed\n"][..],
        ),
        (
            json!({ "user": "etl", "sql": "SELECT * FROM t" }),
            &[
                "would own share",
                "verdict: passes: no rule decides\n",
                "if nothing only warned: held by r for 3s at most",
            ],
        ),
        (
            json!({ "user": "app", "sql": "SELECT * FROM t" }),
            &["user does not fit: app", "verdict: passes: no rule decides\n"],
        ),
        (
            json!({ "user": "etl", "sql": "SELECT * FROM t", "in_transaction": true }),
            &["part of a transaction that has been decided"],
        ),
    ] {
        let found = explained(rule, &question);
        for part in parts {
            assert!(found.contains(part), "{question}: no {part:?} in\n{found}");
        }
        assert!(!found.contains("if refused"), "{found}");
    }
}

#[test]
fn gates_of_a_file_are_not_measured() {
    let yaml = "probe: { user: tollgate, password: x }\n\
        gates:\n  threads_running: { threshold: 40, classes: [write, ddl] }\n  connections_used: { threshold: 90%, mode: warn }\n\
        rules:\n- { id: strict, match: { user: etl }, do: { thresholds: { threads_running: 20 } }, permanent: true }\n\
        heartbeat_writers: { tables: [] }\n";
    let found = explained(yaml, &json!({ "user": "etl", "sql": "DELETE FROM shop.orders WHERE id = 7" }));
    let expected = "
GATE              MODE     VALUE  THRESHOLD     STATE         FLOW  WAIT  HERE
connections_used  warn            90%           not measured              for logins only
threads_running   enforce         20 by strict  not measured              not measured here

verdict: passes with the leave of gate threads_running (not measured here)
";
    assert!(found.ends_with(expected), "{found}");
    let found = explained(yaml, &json!({ "user": "etl", "sql": "SELECT * FROM t" }));
    assert!(found.contains("not for this class\n\nverdict: passes: no rule decides\n"), "{found}");
}

#[test]
fn a_gate_that_would_refuse_says_with_which_error() {
    let gate = json!({ "gate": "lag", "mode": "enforce", "unit": "seconds", "concerns": true, "value": 6.2,
        "threshold_in_force": 5, "state": "closed", "flow": "closed, 1/s", "waiting": 3, "does": "wait", "says": "waits" });
    let error = |reason: &str| json!({ "code": 1226, "sqlstate": "HY000", "message": format!("reason={reason}") });
    let answer = json!({ "gates": [gate], "error": error("ratio"), "gate_error": error("gate:lag"),
        "verdict": { "verdict": "dice", "says": "SAYS" } });
    let found = shown(&answer, &Style { colour: true, width: None });
    for part in [
        "6.2s",
        "\x1b[31mclosed\x1b[0m",
        "closed, 1/s",
        "\x1b[33mwaits\x1b[0m",
        "if refused: \x1b[31mERROR 1226 (HY000): reason=ratio\x1b[0m\n",
        "if refused at the gate: \x1b[31mERROR 1226 (HY000): reason=gate:lag\x1b[0m\n",
    ] {
        assert!(found.contains(part), "no {part:?} in\n{found}");
    }
}
