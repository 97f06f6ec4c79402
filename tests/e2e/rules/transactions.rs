//! Transactions are refused whole, or complete: none is committed in part.

use sandbox::APP;

use super::{AT_ONCE, Answer, primary, ruled, run, table};
use crate::harness::Raw;

const STEPS: usize = 10;
const TRANSACTIONS: usize = 1000;
const CONNECTIONS: usize = 4;

const RULE: &str =
    "rules:\n- { id: most-yield, match: { user: app }, do: { rejection_ratio: 0.9 }, permanent: true }\n";

/// How a client goes about a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    WritesFirst,
    ReadsThenWrites,
    AutocommitOff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnError {
    RollBack,
    /// Goes on as if nothing had happened, and commits.
    Ignore,
}

/// One transaction; whether every step was done.
fn transaction(raw: &mut Raw, table: &str, kind: Kind, on_error: OnError, batch: usize) -> bool {
    if kind != Kind::AutocommitOff {
        assert_eq!(run(raw, "BEGIN"), Answer::Done);
    }
    let mut done = 0;
    for step in 0..STEPS {
        let sql = if kind == Kind::ReadsThenWrites && step < 3 {
            format!("SELECT COUNT(*) FROM test.{table} WHERE batch = {batch}")
        } else {
            format!("INSERT INTO test.{table} (batch, step) VALUES ({batch}, {step})")
        };
        match run(raw, &sql) {
            Answer::Done => done += 1,
            answer => {
                assert!(answer.is_refused(), "{sql}: {answer:?}");
                if on_error == OnError::RollBack {
                    assert_eq!(run(raw, "ROLLBACK"), Answer::Done);
                    return false;
                }
            }
        }
    }
    assert_eq!(run(raw, "COMMIT"), Answer::Done, "COMMIT always passes");
    done == STEPS
}

fn check(kind: Kind, on_error: OnError) {
    let name = format!("tx_{kind:?}_{on_error:?}").to_lowercase();
    table(&name);
    let tollgate = ruled(&format!("{AT_ONCE}{RULE}"));
    let one = |connection: usize| {
        let mut raw = Raw::login(tollgate.address, APP);
        if kind == Kind::AutocommitOff {
            assert_eq!(run(&mut raw, "SET autocommit = 0"), Answer::Done);
        }
        let batches = (0..TRANSACTIONS / CONNECTIONS).map(|n| 1 + connection + n * CONNECTIONS);
        batches.filter(|batch| transaction(&mut raw, &name, kind, on_error, *batch)).count()
    };
    let one = &one;
    let complete: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|connection| scope.spawn(move || one(connection))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a connection")).sum()
    });
    let writes = if kind == Kind::ReadsThenWrites { STEPS - 3 } else { STEPS };
    let sql = format!(
        "SELECT COUNT(*), COALESCE(SUM(n <> {writes}), 0) FROM \
         (SELECT batch, COUNT(*) AS n FROM test.{name} WHERE batch > 0 GROUP BY batch) AS batches"
    );
    let counted = primary().root_sql(&sql).expect("a count");
    let counted: Vec<usize> = counted.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    assert_eq!(counted, [complete, 0], "{kind:?} {on_error:?}: batches in the table, and those in part");
    assert!((1..TRANSACTIONS / 2).contains(&complete), "{kind:?} {on_error:?}: {complete}");
}

#[test]
fn writes_first() {
    check(Kind::WritesFirst, OnError::RollBack);
    check(Kind::WritesFirst, OnError::Ignore);
}

#[test]
fn reads_then_writes() {
    check(Kind::ReadsThenWrites, OnError::RollBack);
    check(Kind::ReadsThenWrites, OnError::Ignore);
}

#[test]
fn autocommit_off() {
    check(Kind::AutocommitOff, OnError::RollBack);
    check(Kind::AutocommitOff, OnError::Ignore);
}

#[test]
fn one_that_has_written_passes_a_hold_and_one_that_has_read_does_not_write() {
    table("tx_hold");
    let tollgate = ruled("");
    let mut writer = Raw::login(tollgate.address, APP);
    let mut reader = Raw::login(tollgate.address, APP);
    for (raw, first) in [
        (&mut writer, "INSERT INTO test.tx_hold (batch) VALUES (5)"),
        (&mut reader, "SELECT COUNT(*) FROM test.tx_hold"),
    ] {
        assert_eq!(run(raw, "BEGIN"), Answer::Done);
        assert_eq!(run(raw, first), Answer::Done);
    }
    tollgate.rewrite(|yaml| {
        format!(
            "{yaml}rules:\n- {{ id: stop, match: {{ scope: \"*\" }}, do: {{ rejection_ratio: 1 }}, action: reject, permanent: true }}\n"
        )
    });
    tollgate.await_generation(2);
    assert_eq!(run(&mut writer, "UPDATE test.tx_hold SET step = 9 WHERE batch = 5"), Answer::Done);
    assert_eq!(run(&mut writer, "COMMIT"), Answer::Done);
    assert_eq!(run(&mut reader, "SELECT COUNT(*) FROM test.tx_hold"), Answer::Done, "within unit_grace");
    let write = "INSERT INTO test.tx_hold (batch) VALUES (6)";
    assert!(run(&mut reader, write).is_refused());
    assert!(run(&mut reader, "SELECT COUNT(*) FROM test.tx_hold").is_refused(), "a refusal is sticky");
    assert_eq!(run(&mut reader, "COMMIT"), Answer::Done);
    assert!(run(&mut reader, write).is_refused(), "decided anew, by the rule");
    assert_eq!(run(&mut writer, "SELECT 1"), Answer::Done);
}

#[test]
fn lock_holders_wait_a_little_and_are_never_rejected() {
    table("locked");
    let tollgate = ruled("defaults: { lock_grace_statements: 5, max_delay: 2s }\n");
    let mut locker = Raw::login(tollgate.address, APP);
    let mut tables = Raw::login(tollgate.address, APP);
    assert_eq!(run(&mut locker, "SELECT GET_LOCK('e2e-rules', 5)"), Answer::Done);
    assert_eq!(run(&mut tables, "LOCK TABLES test.locked READ"), Answer::Done);
    tollgate.rewrite(|yaml| {
        format!("{yaml}rules:\n- {{ id: stop, match: {{ scope: \"*\" }}, do: {{ hold: true }}, permanent: true }}\n")
    });
    tollgate.await_generation(2);
    for raw in [&mut locker, &mut tables] {
        for _ in 0..10 {
            assert_eq!(run(raw, "SELECT COUNT(*) FROM test.locked"), Answer::Done);
        }
    }
    // Five of each pass undelayed, five wait.
    let clients: serde_json::Value = serde_json::from_str(&tollgate.clients()).expect("JSON");
    let held: u64 = clients["clients"].as_array().expect("clients").iter().filter_map(|one| one["held"].as_u64()).sum();
    assert_eq!(held, 10, "{clients}");
    assert_eq!(run(&mut tables, "UNLOCK TABLES"), Answer::Done);
    assert!(run(&mut tables, "SELECT COUNT(*) FROM test.locked").is_refused(), "free no more");
    assert_eq!(run(&mut locker, "SELECT RELEASE_LOCK('e2e-rules')"), Answer::Done);
    assert!(run(&mut locker, "SELECT COUNT(*) FROM test.locked").is_refused());
}
