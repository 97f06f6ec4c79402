//! What is held: leaves with its client, ends with a KILL, goes on when its rule does.

use std::time::{Duration, Instant};

use sandbox::{APP, ETL, MONITOR};
use serde_json::json;

use super::{Answer, answer, primary, ruled, run, table};
use crate::harness::{Raw, Tollgate, wait_until};

const HOLD: &str =
    "rules:\n- { id: etl-waits, match: { user: etl }, do: { hold: true }, max_delay: 10m, permanent: true }\n";

/// A client with a statement that is held.
fn held(tollgate: &Tollgate, sql: &str) -> Raw {
    let mut raw = Raw::login(tollgate.address, ETL);
    let before = tollgate.waiting();
    raw.query(sql);
    wait_until("it is held", || tollgate.waiting() == before + 1);
    raw
}

#[test]
fn a_client_that_leaves_takes_its_query_along() {
    table("left");
    let tollgate = ruled(HOLD);
    for _ in 0..20 {
        drop(held(&tollgate, "INSERT INTO test.left (batch) VALUES (1)"));
    }
    wait_until("none waits", || tollgate.waiting() == 0);
    tollgate.await_counter("clients_left_during_hold", 20);
    assert_eq!(primary().root_sql("SELECT COUNT(*) FROM test.left WHERE batch = 1").expect("a count").trim(), "0");
    assert_eq!(run(&mut Raw::login(tollgate.address, APP), "SELECT COUNT(*) FROM test.left"), Answer::Done);
}

#[test]
fn a_kill_ends_a_hold_if_the_killer_may() {
    table("killed");
    let tollgate = ruled(HOLD);
    let mut victim = held(&tollgate, "INSERT INTO test.killed (batch) VALUES (1)");
    let mut stranger = Raw::login(tollgate.address, MONITOR);
    let kill = format!("KILL QUERY {}", victim.id());
    let Answer::Err(code, _) = run(&mut stranger, &kill) else { panic!("a stranger may kill") };
    assert_eq!(code, 1095);
    assert_eq!(tollgate.waiting(), 1, "still held");
    assert_eq!(run(&mut Raw::login(tollgate.address, APP), &kill), Answer::Done);
    assert_eq!(answer(&mut victim), Answer::Err(1317, "Query execution was interrupted".to_owned()));
    assert_eq!(primary().root_sql("SELECT COUNT(*) FROM test.killed WHERE batch = 1").expect("a count").trim(), "0");
    assert_eq!(run(&mut victim, "SELECT 1"), Answer::Done, "it goes on");
}

#[test]
fn what_is_held_goes_on_when_its_rule_is_taken_out() {
    table("released");
    let tollgate = ruled(HOLD);
    let mut raw = held(&tollgate, "INSERT INTO test.released (batch) VALUES (1)");
    tollgate.rewrite(|yaml| yaml.replace(HOLD, "rules: []\n"));
    assert_eq!(answer(&mut raw), Answer::Done);
    assert_eq!(primary().root_sql("SELECT COUNT(*) FROM test.released WHERE batch = 1").expect("a count").trim(), "1");
}

#[test]
fn what_is_held_goes_on_within_100_ms_of_its_rules_end() {
    let tollgate = ruled("");
    let mut waits: Vec<Duration> = (0..9)
        .map(|number| {
            tollgate.add_rule(&json!({ "id": "stop", "match": { "user": "etl" }, "do": { "hold": true },
                                       "max_delay": "10m", "reason": format!("test {number}") }));
            let mut raw = held(&tollgate, "SELECT COUNT(*) FROM mysql.plugin");
            tollgate.end_rule("stop");
            let ended = Instant::now();
            assert_eq!(answer(&mut raw), Answer::Done);
            ended.elapsed()
        })
        .collect();
    waits.sort();
    // Others may use this machine too: the median.
    assert!(waits[4] < Duration::from_millis(100), "{waits:?}");
}

#[test]
fn a_hold_ends_in_a_refusal() {
    let tollgate =
        ruled("rules:\n- { id: soon, match: { user: etl }, do: { hold: true }, max_delay: 200ms, permanent: true }\n");
    let mut raw = Raw::login(tollgate.address, ETL);
    let Answer::Err(code, message) = run(&mut raw, "SELECT COUNT(*) FROM mysql.plugin") else { panic!("it passed") };
    assert_eq!(code, 1226);
    assert!(message.starts_with("[tollgate] rule=soon reason=hold client=etl retry_after_ms="), "{message}");
    assert_eq!(run(&mut raw, "SELECT 1"), Answer::Done);
}

#[test]
fn only_so_many_wait() {
    let tollgate = ruled(&format!("queue: {{ per_identity: 2, total: 3 }}\n{HOLD}"));
    let _two = [(); 2].map(|()| held(&tollgate, "SELECT COUNT(*) FROM mysql.plugin"));
    let Answer::Err(_, message) = run(&mut Raw::login(tollgate.address, ETL), "SELECT COUNT(*) FROM mysql.plugin")
    else {
        panic!("a third one waits")
    };
    assert!(message.contains("reason=queue"), "{message}");
}

#[test]
fn a_drain_ends_what_is_held() {
    let mut tollgate = ruled(HOLD);
    let mut raw = held(&tollgate, "SELECT COUNT(*) FROM mysql.plugin");
    tollgate.signal("TERM");
    let Answer::Err(code, _) = answer(&mut raw) else { panic!("it passed") };
    assert_eq!(code, 1053);
    drop(raw);
    assert!(tollgate.wait().success());
}
