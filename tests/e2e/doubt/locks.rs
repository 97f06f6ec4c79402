//! Locks and transactions that used to earn a pass (numbers 2, 7 and 8 of the list).

use sandbox::{APP, ETL};
use serde_json::json;

use super::{Attempt, Group, Place, Query, both, servers};
use crate::harness::{Raw, process_list, wait_until};
use crate::rules::{Answer, run};

#[test]
fn exempt_statement_frees_nothing_behind_it() {
    const YAML: &str = "heartbeat_writers: { tables: [@.heartbeat] }\nrules:\n\
        - { id: stop, match: { user: app, class: write }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"BEGIN; UPDATE heartbeat SET v = 7; UPDATE t SET v = 9; COMMIT")]),
        both("utf8mb4", &[Query(b"BEGIN"), Query(b"UPDATE heartbeat SET v = 7"), Query(b"UPDATE t SET v = 9; COMMIT")]),
        both("utf8mb4", &[Query(b"SELECT GET_LOCK('doubt_exempt', 0) FROM heartbeat"), Query(b"UPDATE t SET v = 9")]),
        both("utf8mb4", &[Query(b"LOCK TABLES heartbeat WRITE, t WRITE"), Query(b"UPDATE t SET v = 9")]),
    ];
    let control = "INSERT INTO t (v) VALUES (9)";
    let harmless = "UPDATE heartbeat SET v = 7";
    Group { schema: "doubt_exempt", yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
}

/// A rule on writes does not match their definition, and yet they begin a transaction.
#[test]
fn temporary_table_earns_no_pass() {
    const YAML: &str = "rules:\n\
        - { id: stop, match: { class: write }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both(
            "utf8mb4",
            &[Query(b"BEGIN"), Query(b"CREATE TEMPORARY TABLE x (i INT)"), Query(b"DELETE FROM t; COMMIT")],
        ),
        both(
            "utf8mb4",
            &[Query(b"BEGIN"), Query(b"DROP TEMPORARY TABLE IF EXISTS nothing"), Query(b"DELETE FROM t; COMMIT")],
        ),
        both(
            "utf8mb4",
            &[
                Query(b"SET autocommit = 0"),
                Query(b"CREATE TEMPORARY TABLE x SELECT * FROM pub"),
                Query(b"DELETE FROM t; COMMIT"),
            ],
        ),
    ];
    let control = "INSERT INTO t (v) VALUES (9)";
    Group { schema: "doubt_temporary", yaml: YAML, control, harmless: "SELECT * FROM pub", attempts: ATTEMPTS }.run();
}

#[test]
fn user_level_lock_earns_no_pass() {
    const YAML: &str = "rules:\n\
        - { id: reads, match: { table: @.secret }, do: { hold: true }, max_delay: 20ms, permanent: true }\n\
        - { id: ddl, match: { class: ddl }, do: { hold: true }, max_delay: 20ms, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"SELECT GET_LOCK('doubt_lock', 0)"), Query(b"SELECT * FROM secret")]),
        both("utf8mb4", &[Query(b"SELECT GET_LOCK('doubt_lock', 0)"), Query(b"CREATE TABLE x1 (i INT)")]),
        both("utf8mb4", &[Query(b"DO GET_LOCK('doubt_lock', 0)"), Query(b"SELECT * FROM secret")]),
    ];
    let control = "SELECT * FROM secret";
    Group { schema: "doubt_lock", yaml: YAML, control, harmless: "SELECT * FROM pub", attempts: ATTEMPTS }.run();
}

#[test]
fn user_level_locks_count_under_max_concurrency() {
    let yaml =
        "rules:\n- { id: one, match: { user: etl }, do: { max_concurrency: 1 }, max_delay: 20ms, permanent: true }\n";
    for server in servers() {
        let group = Group { schema: "doubt_one", yaml, control: "", harmless: "", attempts: &[] };
        let (place, proxy) = (Place::new(server, "doubt_one"), group.proxy(server));
        let mut sessions: Vec<Raw> = (0..6).map(|_| Raw::login(proxy.address, ETL)).collect();
        for (at, raw) in sessions.iter_mut().enumerate() {
            assert_eq!(run(raw, &format!("SELECT GET_LOCK('doubt_one_{at}', 0)")), Answer::Done);
        }
        let (first, others) = sessions.split_first_mut().expect("sessions");
        first.query("SELECT 'doubt_one', SLEEP(60) FROM doubt_one.pub LIMIT 1");
        let list = process_list(server);
        let running = format!("SELECT MAX(id) FROM {list} WHERE user = 'etl' AND info LIKE '%doubt_one%SLEEP(60)%'");
        let found = || server.root_sql(&running).expect("the process list").trim().to_owned();
        wait_until("the first statement", || found().parse::<u64>().is_ok());
        let before = place.evidence();
        for raw in others {
            assert!(run(raw, "INSERT INTO doubt_one.t (v) VALUES (9)").is_refused());
        }
        assert_eq!(place.evidence(), before, "more than one at once on {:?}", server.flavor());
        server.root_sql(&format!("KILL QUERY {}", found())).expect("its end");
    }
}

/// Inside a transaction that has written, and under LOCK TABLES.
#[test]
fn certain_rules_apply_to_lock_holders() {
    const YAML: &str = "rules:\n\
        - { id: table, match: { table: @.secret, class: read }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n\
        - { id: print, match: { fingerprint: 'UPDATE t SET v = 1 WHERE id > 0' }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n\
        - { id: shape, match: { shape: no_where }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n\
        - { id: ddl, match: { class: ddl }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const WRITE: super::Step = Query(b"INSERT INTO pub (v) VALUES (5)");
    const BEGIN: super::Step = Query(b"BEGIN");
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[BEGIN, WRITE, Query(b"SELECT * FROM secret")]),
        both("utf8mb4", &[BEGIN, WRITE, Query(b"UPDATE t SET v = 9 WHERE id > 0; COMMIT")]),
        both("utf8mb4", &[BEGIN, WRITE, Query(b"DELETE FROM t; COMMIT")]),
        both("utf8mb4", &[BEGIN, WRITE, Query(b"CREATE TABLE x1 (i INT)")]),
        both("utf8mb4", &[Query(b"SET autocommit = 0"), WRITE, Query(b"DELETE FROM t; COMMIT")]),
        both("utf8mb4", &[Query(b"LOCK TABLES secret READ"), Query(b"SELECT * FROM secret WHERE id > 0")]),
        both("utf8mb4", &[Query(b"LOCK TABLES t WRITE"), Query(b"UPDATE t SET v = 9 WHERE id > 0")]),
        both("utf8mb4", &[Query(b"LOCK TABLES t WRITE"), Query(b"DELETE FROM t")]),
        both("utf8mb4", &[Query(b"LOCK TABLES pub WRITE"), Query(b"DROP TABLE pub")]),
    ];
    let (control, harmless) = ("DELETE FROM t", "DELETE FROM t WHERE id = 99");
    Group { schema: "doubt_certain", yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
}

const NO_WHERE: &str = "rules:\n\
    - { id: stop, match: { shape: no_where }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";

#[test]
fn certain_rejection_in_writing_transaction_is_sticky() {
    for server in servers() {
        let group = Group { schema: "doubt_sticky", yaml: NO_WHERE, control: "", harmless: "", attempts: &[] };
        let (place, proxy) = (Place::new(server, "doubt_sticky"), group.proxy(server));
        let mut raw = place.session(proxy.address, "utf8mb4");
        let insert = "INSERT INTO t (v) VALUES (5)";
        assert_eq!((run(&mut raw, "BEGIN"), run(&mut raw, insert)), (Answer::Done, Answer::Done));
        assert!(run(&mut raw, "DELETE FROM t").is_refused());
        assert!(run(&mut raw, insert).is_refused(), "harmless by itself, but in a refused transaction");
        assert!(run(&mut raw, "SELECT * FROM pub WHERE id = 1").is_refused());
        assert_eq!((run(&mut raw, "ROLLBACK"), run(&mut raw, insert)), (Answer::Done, Answer::Done));
    }
}

#[test]
fn rule_without_statement_lets_writing_transaction_finish() {
    for server in servers() {
        let group = Group { schema: "doubt_finish", yaml: "", control: "", harmless: "", attempts: &[] };
        let (place, proxy) = (Place::new(server, "doubt_finish"), group.proxy(server));
        let mut raw = place.session(proxy.address, "utf8mb4");
        let insert = "INSERT INTO t (v) VALUES (5)";
        assert_eq!((run(&mut raw, "BEGIN"), run(&mut raw, insert)), (Answer::Done, Answer::Done));
        proxy.add_rule(&json!({ "id": "stop", "match": { "user": APP.user }, "do": { "rejection_ratio": 1 },
            "action": "reject", "for": "1h", "reason": "a test" }));
        assert_eq!((run(&mut raw, insert), run(&mut raw, "COMMIT")), (Answer::Done, Answer::Done));
        assert!(run(&mut raw, insert).is_refused(), "its next transaction");
    }
}
