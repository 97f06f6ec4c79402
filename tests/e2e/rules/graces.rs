//! What holds locks must finish, and nobody is free for ever: `unit_grace`, `lock_grace`, and what waits meanwhile.

use std::time::{Duration, Instant};

use sandbox::APP;
use serde_json::json;

use super::{Answer, answer, primary, ruled, run, table};
use crate::harness::{Raw, Tollgate, wait_until};

const READ: &str = "SELECT COUNT(*) FROM test.graces_read";

/// Holds everything for longer than any of these tests lasts.
fn hold_everything(tollgate: &Tollgate) {
    tollgate.add_rule(&json!({ "id": "stop", "match": { "scope": "*" }, "do": { "hold": true }, "max_delay": "10m",
                               "reason": "test", "for": "1h" }));
}

#[test]
fn one_that_only_reads_and_never_commits_is_judged_again() {
    table("graces_read");
    let tollgate = ruled("defaults: { unit_grace: 3s, reject_pause: 0s }\n");
    let mut raw = Raw::login(tollgate.address, APP);
    assert_eq!(run(&mut raw, "BEGIN"), Answer::Done);
    assert_eq!(run(&mut raw, READ), Answer::Done);
    let judged = Instant::now();
    tollgate.add_rule(&json!({ "id": "stop", "match": { "user": "app" }, "do": { "rejection_ratio": 1 },
                               "action": "reject", "reason": "test" }));
    let mut passed = 0;
    wait_until("it is judged again", || match run(&mut raw, READ) {
        Answer::Done => {
            passed += 1;
            false
        }
        refused => refused.is_refused(),
    });
    // It was judged a moment before it was answered.
    assert!(judged.elapsed() > Duration::from_millis(2900), "{:?}", judged.elapsed());
    assert!(passed > 0, "within its grace it reads on");
    assert_eq!(run(&mut raw, "COMMIT"), Answer::Done);
}

/// Ways to hold locks, and to let go of them; every one may read the table meanwhile.
const LOCKS: [(&str, &[&str], &[&str]); 3] = [
    ("table locks", &["LOCK TABLES test.graces WRITE"], &["UNLOCK TABLES"]),
    ("rows", &["BEGIN", "INSERT INTO test.graces (batch) VALUES (7)"], &["COMMIT"]),
    (
        "rows of an XA transaction",
        &["XA START 'e2e-graces'", "INSERT INTO test.graces (batch) VALUES (8)"],
        &["XA END 'e2e-graces'", "XA PREPARE 'e2e-graces'", "XA COMMIT 'e2e-graces'"],
    ),
];

#[test]
fn what_holds_locks_waits_a_little_once_its_grace_is_over() {
    table("graces");
    let read = "SELECT COUNT(*) FROM test.graces";
    for (what, take, give_back) in LOCKS {
        let tollgate = ruled("defaults: { lock_grace: 3s, lock_grace_statements: 1000000 }\n");
        let mut raw = Raw::login(tollgate.address, APP);
        for sql in take {
            assert_eq!(run(&mut raw, sql), Answer::Done, "{what}: {sql}");
        }
        hold_everything(&tollgate);
        // The grace begins with the first statement that comes while locks are held.
        let begin = Instant::now();
        let mut free = 0;
        while tollgate.counted("held") == 0 {
            assert_eq!(run(&mut raw, read), Answer::Done, "{what}");
            free += 1;
            assert!(begin.elapsed() < Duration::from_secs(20), "{what}: free for ever");
        }
        assert!(free > 1, "{what}: within its grace it is not held");
        assert!(begin.elapsed() >= Duration::from_secs(3), "{what}: {:?}", begin.elapsed());
        for _ in 0..3 {
            assert_eq!(run(&mut raw, read), Answer::Done, "{what}: never rejected");
        }
        let (held, time) = (tollgate.counted("held"), tollgate.counted("hold_ms"));
        assert_eq!(held, 4, "{what}: each waits");
        assert!((1000..4000).contains(&time), "{what}: {time} ms for {held} statements, at 250 ms each");
        for sql in give_back {
            assert_eq!(run(&mut raw, sql), Answer::Done, "{what}: {sql} always passes");
        }
        assert_eq!(tollgate.counted("held"), held, "{what}: undelayed");
        // It holds nothing now, and is held like everybody.
        raw.query(read);
        wait_until("it is held", || tollgate.waiting() == 1);
    }
}

/// How a statement comes to wait: what its session has done, what it asks, and whether it may wait for long.
const WAITS: [(&[&str], &str, bool); 9] = [
    (&[], "UPDATE test.waits SET step = 1 WHERE batch = 0", true),
    (&["BEGIN"], "UPDATE test.waits SET step = 1 WHERE batch = 0", true),
    (&["SET autocommit = 0"], "UPDATE test.waits SET step = 1 WHERE batch = 0", true),
    (&["BEGIN", "SELECT COUNT(*) FROM test.waits"], "UPDATE test.waits SET step = 1 WHERE batch = 0", false),
    (&["BEGIN", "INSERT INTO test.waits (batch) VALUES (1)"], "UPDATE test.waits SET step = 1", false),
    (&["BEGIN", "SELECT * FROM test.waits WHERE batch = 0 FOR UPDATE"], "SELECT * FROM test.waits", false),
    (&["BEGIN", "INSERT INTO test.waits (batch) VALUES (1)"], "CREATE TABLE test.waits_2 (a INT)", false),
    (&["BEGIN", "INSERT INTO test.waits (batch) VALUES (1)"], "COMMIT; BEGIN; DELETE FROM test.waits", false),
    (&["XA START 'e2e-waits'", "INSERT INTO test.waits (batch) VALUES (1)"], "DELETE FROM test.waits", false),
];

/// `lock_grace: 0s` and `in_transaction: delay`: everybody waits who ever can.
#[test]
fn what_waits_for_longer_than_a_second_holds_no_row_locks() {
    for (before, sql, may_be_long) in WAITS {
        table("waits");
        let tollgate = ruled("defaults: { lock_grace: 0s, reject_pause: 0s }\n");
        let mut raw = Raw::login(tollgate.address, APP);
        let id = raw.value("SELECT CONNECTION_ID()").expect("an id");
        for sql in before {
            assert_eq!(run(&mut raw, sql), Answer::Done, "{sql}");
        }
        tollgate
            .add_rule(&json!({ "id": "stop", "match": { "user": "app" }, "do": { "hold": true }, "max_delay": "10m",
                                   "in_transaction": "delay", "reason": "test" }));
        raw.query(sql);
        wait_until("it is held", || tollgate.counted("held") + tollgate.waiting() > 0);
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(tollgate.waiting() == 1, may_be_long, "{before:?} {sql}");
        if may_be_long {
            let locks = format!("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {id}");
            assert_eq!(primary().root_sql(&locks).expect("a count").trim(), "0", "{before:?} {sql}: it holds locks");
            continue;
        }
        let answer = answer(&mut raw);
        assert!(answer == Answer::Done || answer.is_refused(), "{before:?} {sql}: {answer:?}");
    }
}
