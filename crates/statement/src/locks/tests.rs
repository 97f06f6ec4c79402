use super::*;
use crate::{Charset, Extent, Mode, Server};

const MODE: Mode = Mode {
    no_backslash_escapes: false,
    ansi_quotes: false,
    brackets: false,
    server: Server::MySql(90_704),
    extent: Extent::Whole,
    charset: Charset::Plain,
};

/// The effect of a text with one reading.
fn effect(sql: &[u8], mode: Mode) -> LockEffect {
    crate::scan(sql, mode).locks.possible
}

/// The state after these texts, each answered with OK: letters for what is held, then the number of user locks.
fn after(texts: &[&str]) -> String {
    let mut state = LockState::default();
    for text in texts {
        state.apply(effect(text.as_bytes(), MODE));
    }
    shown(&state)
}

fn shown(state: &LockState) -> String {
    let letters = [
        (state.tables(), "T"),
        (state.global_read(), "G"),
        (state.backup(), "B"),
        (state.service(), "S"),
        (state.xa_prepared(), "X"),
    ];
    let held: String = letters.iter().filter(|(held, _)| *held).map(|(_, letter)| *letter).collect();
    format!("{held}{}", state.user_locks())
}

#[track_caller]
fn check(texts: &[&str], expected: &str) {
    assert_eq!(after(texts), expected, "{texts:?}");
}

#[test]
fn what_takes() {
    check(&["LOCK TABLES t WRITE"], "T0");
    check(&["lock table t read local, u as v write"], "T0");
    check(&["/*!40000 LOCK */ /* c */ TABLES t WRITE"], "T0");
    check(&["LOCK INSTANCE FOR BACKUP"], "B0");
    check(&["FLUSH TABLES WITH READ LOCK"], "G0");
    check(&["FLUSH LOCAL TABLES WITH/**/READ LOCK;"], "G0");
    check(&["FLUSH NO_WRITE_TO_BINLOG TABLE t, `u` WITH READ LOCK"], "T0");
    check(&["FLUSH TABLES t FOR EXPORT"], "T0");
    check(&["FLUSH TABLES t, read_only WITH READ LOCK"], "T0");
    check(&["BACKUP STAGE START"], "B0");
    check(&["BACKUP LOCK test.t"], "B0");
    check(&["XA PREPARE 'a'"], "X0");
    check(&["SELECT GET_LOCK('a', 1)"], "1");
    check(&["SELECT get_lock('a', 1), Get_Lock('b', 1)"], "2");
    check(&["DO GET_LOCK/**/('a', 1)"], "1");
    check(&["SET @x = GET_LOCK \n ('a', 1)"], "1");
    check(&["SELECT `get_lock`('a', 1)"], "1");
    check(&["SELECT 1 /*! , GET_LOCK('a', 1) */"], "1");
    check(&["INSERT INTO t SELECT GET_LOCK('a', 1)"], "1");
    check(&["CREATE TABLE t AS SELECT GET_LOCK('a', 1)"], "1");
    check(&["EXPLAIN ANALYZE SELECT GET_LOCK('a', 1)"], "1");
    check(&["SELECT service_get_write_locks('n', 'a', 1)"], "S0");
    check(&["SELECT service_get_read_locks('n', 'a', 1)"], "S0");
    check(&["SELECT 1; LOCK TABLES t READ"], "T0");
    check(&["SELECT 1; SELECT GET_LOCK('a', 1)"], "1");
}

#[test]
fn what_takes_nothing() {
    for sql in [
        "",
        ";",
        "SELECT 1",
        "FLUSH TABLES",
        "FLUSH TABLES t",
        "FLUSH STATUS",
        "FLUSH TABLES; SELECT 'WITH READ LOCK'",
        "LOCK",
        "UNLOCK",
        "FLUSH TABLES WITH READ",
        "XA START 'a'",
        "XA END 'a'",
        "XA RECOVER",
        "BACKUP STAGE END",
        "START REPLICA",
        "BEGIN",
        "SELECT 'GET_LOCK(1)'",
        "SELECT 1 -- GET_LOCK('a',1)",
        "SELECT /* GET_LOCK('a',1) */ 1",
        "SELECT get_lock FROM t",
        "SELECT test.get_lock('a', 1)",
        "SELECT forget_lock('a')",
        "SELECT get_locks('a')",
        "SELECT get_lock, (1)",
        "SELECT @get_lock",
        "SELECT \"get_lock\"('a')",
        "SELECT 'a; LOCK TABLES t READ'",
        "SELECT 1 /*!99999 , GET_LOCK('a', 1) */",
        "PREPARE s FROM 'DO GET_LOCK(1,1)'",
        "EXPLAIN SELECT GET_LOCK('a', 1)",
        "CREATE VIEW v AS SELECT GET_LOCK('a', 1)",
        "CREATE PROCEDURE p() BEGIN SELECT GET_LOCK('a', 1); LOCK TABLES t READ; END",
        "SELECT * FROM t FOR UPDATE",
        "`LOCK` TABLES t READ",
    ] {
        check(&[sql], "0");
        assert!(effect(sql.as_bytes(), MODE).taken == 0, "{sql}");
    }
    check(&["CREATE VIEW v AS SELECT GET_LOCK('a', 1); DO GET_LOCK('a', 1)"], "1");
}

/// What follows a `;` is a part of the body, or a further statement: a lock there lets nothing pass, and is not overlooked.
#[test]
fn locks_behind_a_program_are_possible_and_not_certain() {
    for sql in [
        "CREATE PROCEDURE p() SELECT GET_LOCK('a', 1); LOCK TABLES t READ",
        "CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS ''; LOCK TABLES t READ",
    ] {
        let mut known = LockKnowledge::default();
        known.settle(crate::scan(sql.as_bytes(), MODE).locks, true);
        assert!(known.may_hold_any() && !known.blocks_others(), "{sql}");
    }
}

#[test]
fn what_releases() {
    for held in ["LOCK TABLES t READ", "FLUSH TABLES t WITH READ LOCK", "FLUSH TABLES t FOR EXPORT"] {
        for end in [
            "UNLOCK TABLES",
            "unlock table;",
            "BEGIN",
            "begin work",
            "START TRANSACTION READ ONLY",
            "COMMIT AND CHAIN",
            "ROLLBACK WORK AND CHAIN",
            "BEGIN; SELECT 1",
        ] {
            check(&[held, end], "0");
        }
        for other in [
            "COMMIT",
            "ROLLBACK",
            "COMMIT AND NO CHAIN",
            "UNLOCK INSTANCE",
            "SELECT RELEASE_ALL_LOCKS()",
            "SAVEPOINT a",
            "ROLLBACK TO a",
            "SET autocommit=0",
            "BEGIN NOT ATOMIC SELECT 1; END",
            "START REPLICA",
            "FLUSH TABLES",
            "LOCK TABLES u READ",
        ] {
            check(&[held, other], "T0");
        }
    }
    check(&["FLUSH TABLES WITH READ LOCK", "BEGIN"], "G0");
    check(&["FLUSH TABLES WITH READ LOCK", "LOCK TABLES t READ"], "TG0");
    check(&["FLUSH TABLES WITH READ LOCK", "LOCK TABLES t READ", "BEGIN"], "G0");
    check(&["FLUSH TABLES WITH READ LOCK", "LOCK TABLES t READ", "UNLOCK TABLES"], "0");
    check(&["LOCK INSTANCE FOR BACKUP", "UNLOCK TABLES", "BEGIN", "COMMIT"], "B0");
    check(&["LOCK INSTANCE FOR BACKUP", "LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE"], "0");
    check(&["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT", "BACKUP UNLOCK"], "B0");
    check(&["BACKUP STAGE START", "BACKUP STAGE END"], "0");
    check(&["BACKUP LOCK t", "BACKUP UNLOCK"], "0");
    check(&["XA PREPARE 'a'", "XA COMMIT 'a'"], "0");
    check(&["SELECT service_get_read_locks('n', 'a', 1)", "SELECT service_release_locks('n')"], "0");
}

#[test]
fn user_locks_are_counted() {
    check(&["DO GET_LOCK('a', 1)", "DO GET_LOCK('a', 1)", "DO RELEASE_LOCK('a')"], "1");
    check(&["DO GET_LOCK('a', 1)", "COMMIT", "BEGIN", "UNLOCK TABLES"], "1");
    check(&["DO RELEASE_LOCK('a')", "DO GET_LOCK('a', 1)"], "1");
    check(&["DO RELEASE_LOCK('a'); DO GET_LOCK('a', 1)"], "1");
    check(&["DO GET_LOCK('a', 1), GET_LOCK('b', 1)", "SELECT RELEASE_ALL_LOCKS()"], "0");
    check(&["DO GET_LOCK('a', 1)", "DO RELEASE_ALL_LOCKS(); DO GET_LOCK('b', 1)"], "1");
    check(&["DO GET_LOCK('a', 1)", "DO RELEASE_ALL_LOCKS(), RELEASE_LOCK('x')"], "0");
}

#[test]
fn several_statements_in_their_order() {
    check(&["LOCK TABLES t READ; UNLOCK TABLES"], "0");
    check(&["UNLOCK TABLES; LOCK TABLES t READ"], "T0");
    check(&["FLUSH TABLES WITH READ LOCK; LOCK TABLES t READ; BEGIN; DO GET_LOCK('a', 1)"], "G1");
}

#[test]
fn failed_texts() {
    let failed = |text: &str| {
        let mut state = LockState::default();
        state.apply_failed(effect(text.as_bytes(), MODE));
        shown(&state)
    };
    assert_eq!(failed("LOCK TABLES nope READ"), "0");
    assert_eq!(failed("LOCK TABLES nope READ;"), "0");
    assert_eq!(failed("LOCK TABLES t READ; SELECT nope"), "T0");
    assert_eq!(
        failed("LOCK TABLES t READ; DO GET_LOCK('a', 1); SELECT nope; UNLOCK TABLES; DO RELEASE_LOCK('a')"),
        "T1"
    );
}

#[test]
fn holding_and_clearing() {
    let mut state = LockState::default();
    state.apply(effect(b"XA PREPARE 'a'", MODE));
    assert!(!state.holds_any() && state.xa_prepared());
    state.apply(effect(b"DO GET_LOCK('a', 1)", MODE));
    assert!(state.holds_any());
    state.clear();
    assert_eq!(state, LockState::default());
    assert!(effect(b"SELECT user_id FROM t WHERE get_lock_x = 1", MODE).is_none());
}
