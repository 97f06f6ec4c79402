//! Text, prepared statement, and text that executes a prepared statement: one verdict.

use crate::port::{Refusal, Verdict};
use crate::stage::{Session, Setup, Stage};

const BY_CLASS: &[&str] = &[
    "read | class=read | ratio=1 reject",
    "write | class=write | ratio=1 reject",
    "call | class=call | ratio=1 reject",
    "unparsed | class=unparsed | ratio=1 reject",
    "ddl | class=ddl | ratio=1 reject",
];

/// Statements, and the class as which they are decided; `free` are never.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT 1", "free"),
    ("SELECT @@version", "free"),
    ("SET NAMES utf8mb4", "free"),
    ("SET @a = 1", "free"),
    ("COMMIT", "free"),
    ("SHOW TABLES", "free"),
    ("SELECT * FROM t", "read"),
    ("(SELECT * FROM t)", "read"),
    ("((SELECT a FROM t) UNION (SELECT b FROM u))", "read"),
    ("WITH x AS (SELECT 1) SELECT * FROM x, t", "read"),
    ("SELECT SLEEP(9)", "read"),
    ("DO SLEEP(9)", "read"),
    ("SET @a = (SELECT COUNT(*) FROM t)", "read"),
    ("HANDLER t READ FIRST", "read"),
    ("EXPLAIN ANALYZE SELECT * FROM t", "read"),
    ("SELECT * FROM t FOR UPDATE", "write"),
    ("SELECT * FROM t LOCK IN SHARE MODE", "write"),
    ("SELECT GET_LOCK('a', 1)", "write"),
    ("INSERT INTO t VALUES (1)", "write"),
    ("INSERT INTO t VALUES (?)", "write"),
    ("REPLACE INTO t VALUES (1)", "write"),
    ("UPDATE t SET a = 1", "write"),
    ("DELETE FROM t", "write"),
    (";;; DELETE FROM t", "write"),
    ("/*!DELETE FROM t*/", "write"),
    ("/* SELECT 1 */ DELETE FROM t", "write"),
    ("WITH x AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM x)", "write"),
    ("EXPLAIN ANALYZE DELETE FROM t", "write"),
    ("CALL p()", "call"),
    ("CREATE TABLE u (a INT)", "ddl"),
    ("DROP TABLE t", "ddl"),
    ("TRUNCATE t", "ddl"),
    ("EXECUTE nobody_knows", "unparsed"),
    ("NONSENSE", "unparsed"),
];

/// The rule that refuses it, or `free`.
fn word(verdict: Verdict) -> String {
    let rule = |refusal: Refusal| {
        let rest = refusal.message.split_once("rule=").unwrap().1;
        rest.split(' ').next().unwrap().to_owned()
    };
    match verdict {
        Verdict::Pass(_) => "free".to_owned(),
        Verdict::Refuse(refusal) => rule(refusal),
        Verdict::Hold(_) => panic!("held"),
    }
}

async fn by_text_execute(session: &mut Session, sql: &str) -> String {
    session.run(&format!("PREPARE s FROM '{}'", sql.replace('\\', "\\\\").replace('\'', "''"))).await.unwrap();
    word(session.ask("EXECUTE S USING @a"))
}

#[tokio::test(start_paused = true)]
async fn however_it_comes() {
    let stage = Stage::new(BY_CLASS);
    for (sql, class) in STATEMENTS {
        let mut session = stage.login("app");
        assert_eq!(word(session.ask(sql)), *class, "as text: {sql}");
        assert_eq!(word(session.ask_prepared(sql)), *class, "prepared: {sql}");
        // The server prepares one statement, and says so of more.
        if !sql.starts_with(';') {
            assert_eq!(by_text_execute(&mut session, sql).await, *class, "PREPARE and EXECUTE: {sql}");
        }
    }
}

/// In a transaction that has read, too.
#[tokio::test(start_paused = true)]
async fn wherever_it_comes() {
    let stage = Stage::new(&BY_CLASS[1..]);
    for (sql, class) in STATEMENTS.iter().filter(|(_, class)| *class != "read") {
        let mut verdicts = Vec::new();
        for way in 0..3 {
            let mut session = stage.login("app");
            session.run("BEGIN").await.unwrap();
            session.run("SELECT * FROM t").await.unwrap();
            verdicts.push(match way {
                0 => word(session.ask(sql)),
                1 => word(session.ask_prepared(sql)),
                _ if sql.starts_with(';') => (*class).to_owned(),
                _ => by_text_execute(&mut session, sql).await,
            });
        }
        assert_eq!(verdicts, [*class; 3], "{sql}");
    }
}

/// A rule on the class of any of several statements refuses them all.
#[tokio::test(start_paused = true)]
async fn each_of_several_statements_may_be_refused() {
    for (sql, classes) in [
        ("SELECT 1; SELECT 2", &[][..]),
        ("SELECT 1; SELECT * FROM t", &["read"]),
        ("SELECT * FROM t; DELETE FROM t", &["read", "write"]),
        ("COMMIT; BEGIN; UPDATE t SET a = 1", &["write"]),
        ("SELECT * FROM t; DROP TABLE t", &["read", "ddl"]),
        ("SELECT 1; EXECUTE s", &["read", "write", "call", "unparsed", "ddl"]),
        ("CALL p()", &["read", "write", "call", "ddl"]),
    ] {
        for class in ["read", "write", "call", "unparsed", "ddl"] {
            let stage = Stage::new(&[&format!("r | class={class} | ratio=1 reject")]);
            let expected = if classes.contains(&class) { "r" } else { "free" };
            assert_eq!(word(stage.login("app").ask(sql)), expected, "{class}: {sql}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_on_a_fingerprint_finds_it_however_it_comes() {
    let text = b"UPDATE orders SET state = 'x' WHERE id = 7";
    let fingerprint = statement::fingerprint(text, statement::Mode::default());
    let rule = format!("r | fingerprint={fingerprint} | ratio=1 reject");
    let stage = Setup::default().stage(&[&rule]);
    let mut session = stage.login("app");
    for (sql, expected) in [
        ("UPDATE orders SET state = 'y' WHERE id = 8", "r"),
        ("update  orders set state = ? where id = ? -- x", "r"),
        ("UPDATE orders SET state = 'y' WHERE shop = 8", "free"),
    ] {
        assert_eq!(word(session.ask(sql)), expected, "as text: {sql}");
        assert_eq!(word(session.ask_prepared(sql)), expected, "prepared: {sql}");
        assert_eq!(by_text_execute(&mut session, sql).await, expected, "PREPARE and EXECUTE: {sql}");
    }
}
