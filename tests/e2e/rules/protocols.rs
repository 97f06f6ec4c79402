//! Text, binary, pipelined and multi-statement: the same statement, the same verdict.

use sandbox::APP;
use serde_json::json;

use super::{AT_ONCE, Answer, answer, ruled, run, table};
use crate::harness::{Raw, Tollgate};

const WRITES_STOP: &str = "rules:\n\
    - { id: writes-stop, match: { class: [write, call, unparsed, ddl] }, do: { rejection_ratio: 1 }, permanent: true }\n";

pub(super) fn prepare(raw: &mut Raw, sql: &str) -> Option<u32> {
    raw.command(0x16, sql.as_bytes());
    let ok = raw.read().expect("a reply");
    let prepared = wire::PrepareOk::decode(&ok, wire::Capabilities::PROTOCOL_41).ok()?;
    for count in [prepared.params, prepared.columns] {
        if count > 0 {
            (0..=count).for_each(|_| drop(raw.read().expect("a definition")));
        }
    }
    Some(prepared.statement_id)
}

/// Without parameters.
fn send_execute(raw: &mut Raw, id: u32) {
    raw.command(0x17, &[&id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat());
}

const READS_STOP: &str =
    "rules:\n- { id: reads-stop, match: { class: read }, do: { rejection_ratio: 1 }, permanent: true }\n";

/// Which of the two rules refuses a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    ByWrites,
    ByReads,
    /// A routine whose body is not known may read and write.
    ByBoth,
    Never,
}

/// Whether the server prepares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prepared {
    Can,
    /// It says 1295.
    Cannot,
}

const STATEMENTS: &[(&str, Stopped, Prepared)] = &[
    ("SELECT COUNT(*) FROM test.protocols", Stopped::ByReads, Prepared::Can),
    ("TABLE test.protocols LIMIT 1", Stopped::ByReads, Prepared::Can),
    ("(SELECT COUNT(*) FROM test.protocols)", Stopped::ByReads, Prepared::Can),
    ("((SELECT id FROM test.protocols LIMIT 1)) UNION (SELECT 1)", Stopped::ByReads, Prepared::Can),
    ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a, test.protocols", Stopped::ByReads, Prepared::Can),
    ("SELECT COUNT(*) FROM test.protocols INTO @v", Stopped::ByReads, Prepared::Can),
    ("SELECT SLEEP(0)", Stopped::ByReads, Prepared::Can),
    ("DO SLEEP(0)", Stopped::ByReads, Prepared::Can),
    ("SET @v = (SELECT COUNT(*) FROM test.protocols)", Stopped::ByReads, Prepared::Can),
    ("EXPLAIN ANALYZE SELECT COUNT(*) FROM test.protocols", Stopped::ByReads, Prepared::Can),
    ("HANDLER test.protocols OPEN", Stopped::ByReads, Prepared::Cannot),
    ("SELECT id FROM test.protocols LIMIT 1 FOR UPDATE", Stopped::ByWrites, Prepared::Can),
    ("((SELECT id FROM test.protocols LIMIT 1 FOR UPDATE))", Stopped::ByWrites, Prepared::Can),
    ("SELECT id FROM test.protocols LIMIT 1 FOR SHARE", Stopped::ByWrites, Prepared::Can),
    ("SELECT id FROM test.protocols LIMIT 1 FOR UPDATE INTO @v", Stopped::ByWrites, Prepared::Can),
    ("SET @v = (SELECT id FROM test.protocols LIMIT 1 FOR UPDATE)", Stopped::ByWrites, Prepared::Can),
    ("DELETE FROM test.protocols WHERE id < 0", Stopped::ByWrites, Prepared::Can),
    ("/* SELECT */ DELETE FROM test.protocols WHERE id < 0", Stopped::ByWrites, Prepared::Can),
    ("/*!50000 DELETE FROM test.protocols WHERE id < 0 */", Stopped::ByWrites, Prepared::Can),
    ("WITH a AS (SELECT 1) DELETE FROM test.protocols WHERE id < 0", Stopped::ByWrites, Prepared::Can),
    (
        "EXPLAIN ANALYZE DELETE a FROM test.protocols AS a JOIN test.protocols AS b ON a.id = b.id WHERE a.id < 0",
        Stopped::ByWrites,
        Prepared::Can,
    ),
    ("REPLACE INTO test.protocols (id, batch) VALUES (-1, 1)", Stopped::ByWrites, Prepared::Can),
    ("UPDATE test.protocols SET batch = 1 WHERE id < 0", Stopped::ByWrites, Prepared::Can),
    ("INSERT INTO test.protocols (batch) SELECT 1 FROM test.protocols WHERE id < 0", Stopped::ByWrites, Prepared::Can),
    ("CALL test.protocols_call()", Stopped::ByBoth, Prepared::Can),
    ("SELECT test.protocols_function()", Stopped::ByBoth, Prepared::Can),
    ("CREATE TABLE IF NOT EXISTS test.protocols_2 (a INT)", Stopped::ByWrites, Prepared::Can),
    ("EXPLAIN DELETE FROM test.protocols WHERE id < 0", Stopped::ByReads, Prepared::Can),
    ("SET @v = 1", Stopped::Never, Prepared::Can),
    ("SELECT 1", Stopped::Never, Prepared::Can),
];

#[test]
fn every_protocol_gets_the_verdict_of_the_statement() {
    table("protocols");
    for sql in [
        "DROP PROCEDURE IF EXISTS test.protocols_call",
        "DROP FUNCTION IF EXISTS test.protocols_function",
        "CREATE PROCEDURE test.protocols_call() SELECT 1",
        "CREATE FUNCTION test.protocols_function() RETURNS INT DETERMINISTIC NO SQL RETURN 1",
    ] {
        super::primary().root_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error:#}"));
    }
    for (rule, by) in [(WRITES_STOP, Stopped::ByWrites), (READS_STOP, Stopped::ByReads)] {
        let tollgate = ruled(&format!("{AT_ONCE}{rule}"));
        for (sql, stopped, prepared) in STATEMENTS {
            let mut raw = Raw::login(tollgate.address, APP);
            // For a DELETE with aliases.
            assert_eq!(run(&mut raw, "USE test"), Answer::Done);
            same_verdict(&mut raw, sql, *stopped == by || *stopped == Stopped::ByBoth, *prepared);
        }
    }
}

/// Text, binary, by PREPARE and EXECUTE, among others in a text, and among others on their way.
fn same_verdict(raw: &mut Raw, sql: &str, refused: bool, prepared: Prepared) {
    let check = |raw: &mut Raw, how: &str| {
        let answer = answer(raw);
        assert_eq!(answer.is_refused(), refused, "{how}: {sql}: {answer:?}");
    };
    let text = run(raw, sql);
    // A statement that the server does not know would show nothing.
    assert!(if refused { text.is_refused() } else { text == Answer::Done }, "{sql}: {text:?}");
    raw.query(&format!("SELECT 1; {sql}"));
    check(raw, "behind a SELECT");
    // Each packet gets its own verdict.
    raw.query("SELECT 1");
    raw.query(sql);
    raw.query("SELECT 1");
    assert_eq!(answer(raw), Answer::Done);
    check(raw, "pipelined");
    assert_eq!(answer(raw), Answer::Done);

    let named = run(raw, &format!("PREPARE named FROM '{}'", sql.replace('\'', "''")));
    let Some(id) = prepare(raw, sql) else {
        assert_eq!(prepared, Prepared::Cannot, "{sql}: {named:?}");
        assert!(matches!(named, Answer::Err(1295, _)), "{sql}: {named:?}");
        return;
    };
    assert_eq!((prepared, named), (Prepared::Can, Answer::Done), "{sql}");
    raw.query("EXECUTE named");
    check(raw, "EXECUTE");
    for how in ["binary", "binary, again"] {
        send_execute(raw, id);
        check(raw, how);
    }
    raw.query("SELECT 1");
    send_execute(raw, id);
    send_execute(raw, id);
    raw.query("SELECT 1");
    assert_eq!(answer(raw), Answer::Done);
    check(raw, "binary, pipelined");
    check(raw, "binary, pipelined, second");
    assert_eq!(answer(raw), Answer::Done);
}

#[test]
fn what_nobody_saw_is_not_milder() {
    table("unseen");
    let tollgate = ruled(&format!("{AT_ONCE}{WRITES_STOP}"));
    let mut raw = Raw::login(tollgate.address, APP);
    assert_eq!(run(&mut raw, "SET @v = 'DELETE FROM test.unseen'"), Answer::Done);
    assert_eq!(run(&mut raw, "PREPARE hidden FROM @v"), Answer::Done);
    assert!(run(&mut raw, "EXECUTE hidden").is_refused());
    assert!(run(&mut raw, "CALL test.nothing()").is_refused());
    let large = format!("SELECT 1 /*{}*/; DELETE FROM test.unseen", "x".repeat(2_000_000));
    assert!(run(&mut raw, &large).is_refused(), "what is longer than is looked at is at least a write");
    assert_eq!(primary_count(), "3");
}

fn primary_count() -> String {
    super::primary().root_sql("SELECT COUNT(*) FROM test.unseen").expect("a count").trim().to_owned()
}

/// Refuses so much of all writes, from now on.
fn refuse_writes(tollgate: &Tollgate, id: &str, ratio: f64) {
    let effect = json!({ "rejection_ratio": ratio });
    tollgate.add_rule(&json!({ "id": id, "match": { "class": "write" }, "do": effect, "reason": id }));
}

/// Sends `before` and an execution a hundred times, types only with the first, as client libraries do it. The first is
/// refused, and half of the others. How many were done.
fn a_hundred(table: &str, columns: &str, before: &[(u8, &[u8])], types: &[u8], values: &[u8]) -> usize {
    let tollgate = ruled(AT_ONCE);
    refuse_writes(&tollgate, "all", 1.0);
    let mut raw = Raw::login(tollgate.address, APP);
    let id = prepare(&mut raw, &format!("INSERT INTO test.{table} ({columns}) VALUES (?, ?)")).expect("a statement");
    let id = id.to_le_bytes();
    let first = [&id[..], &[0, 1, 0, 0, 0, 0, 1], types, values].concat();
    let later = [&id[..], &[0, 1, 0, 0, 0, 0, 0], values].concat();
    let mut execute = |body: &[u8]| {
        for (command, rest) in before {
            raw.command(*command, &[&id[..], rest].concat());
        }
        raw.command(0x17, body);
        let answer = answer(&mut raw);
        assert!(answer.is_refused() || answer == Answer::Done, "{answer:?}");
        answer == Answer::Done
    };
    assert!(!execute(&first), "it is refused");
    tollgate.end_rule("all");
    refuse_writes(&tollgate, "half", 0.5);
    let done = (1..100).filter(|_| execute(&later)).count();
    assert!((10..90).contains(&done), "{done}");
    done
}

#[test]
fn a_refused_execution_succeeds_when_it_is_tried_again() {
    table("again");
    let done = a_hundred("again", "batch, step", &[], &[3, 0, 3, 0], &[7, 0, 0, 0, 8, 0, 0, 0]);
    let rows = super::primary().root_sql("SELECT COUNT(*) FROM test.again WHERE batch = 7 AND step = 8");
    assert_eq!(rows.expect("a count").trim(), done.to_string());
}

#[test]
fn a_refused_execution_with_long_data_succeeds_when_it_is_tried_again() {
    table("again_long");
    let root = |sql: &str| super::primary().root_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error:#}"));
    root("ALTER TABLE test.again_long ADD data LONGBLOB");
    // The second parameter, in two pieces. What was sent before a refusal and kept would be in front of the next.
    let pieces: &[(u8, &[u8])] = &[(0x18, b"\x01\x00some "), (0x18, b"\x01\x00data")];
    let done = a_hundred("again_long", "batch, data", pieces, &[3, 0, 0xFC, 0], &[7, 0, 0, 0]);
    assert_eq!(root("SELECT COUNT(*) FROM test.again_long WHERE batch = 7").trim(), done.to_string());
    assert_eq!(root("SELECT COUNT(*) FROM test.again_long WHERE data = 'some data'").trim(), done.to_string());
}
