//! Text, binary, pipelined and multi-statement: the same statement, the same verdict.

use sandbox::APP;

use super::{AT_ONCE, Answer, answer, ruled, run, table};
use crate::harness::Raw;

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

fn execute(raw: &mut Raw, id: u32) -> Answer {
    raw.command(0x17, &[&id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat());
    answer(raw)
}

#[test]
fn every_protocol_gets_the_verdict_of_the_statement() {
    table("protocols");
    let tollgate = ruled(&format!("{AT_ONCE}{WRITES_STOP}"));
    for (sql, refused) in [
        ("SELECT COUNT(*) FROM test.protocols", false),
        ("SELECT id FROM test.protocols LIMIT 1 FOR UPDATE", true),
        ("SELECT id FROM test.protocols LIMIT 1 FOR SHARE", true),
        ("DELETE FROM test.protocols WHERE id < 0", true),
        ("/* SELECT */ DELETE FROM test.protocols WHERE id < 0", true),
        ("/*!50000 DELETE FROM test.protocols WHERE id < 0 */", true),
        ("WITH a AS (SELECT 1) DELETE FROM test.protocols WHERE id < 0", true),
        ("REPLACE INTO test.protocols (id, batch) VALUES (-1, 1)", true),
        ("UPDATE test.protocols SET batch = 1 WHERE id < 0", true),
        ("INSERT INTO test.protocols (batch) SELECT 1 FROM test.protocols WHERE id < 0", true),
        ("CREATE TABLE test.protocols_2 (a INT)", true),
        ("TABLE test.protocols LIMIT 1", false),
    ] {
        let mut raw = Raw::login(tollgate.address, APP);
        let text = run(&mut raw, sql);
        assert_eq!(text.is_refused(), refused, "{sql}: {text:?}");
        if let Some(id) = prepare(&mut raw, sql) {
            for _ in 0..2 {
                let binary = execute(&mut raw, id);
                assert_eq!(binary.is_refused(), refused, "binary {sql}: {binary:?}");
            }
        }
        let quoted = sql.replace('\'', "''");
        assert_eq!(run(&mut raw, &format!("PREPARE named FROM '{quoted}'")), Answer::Done, "{sql}");
        let named = run(&mut raw, "EXECUTE named");
        assert_eq!(named.is_refused(), refused, "EXECUTE {sql}: {named:?}");
        let several = run(&mut raw, &format!("SELECT 1; {sql}"));
        assert_eq!(several.is_refused(), refused, "behind a SELECT: {sql}: {several:?}");
        // Two packets at once, each with its own verdict.
        raw.query("SELECT COUNT(*) FROM test.protocols");
        raw.query(sql);
        raw.query("SELECT 1");
        assert_eq!(answer(&mut raw), Answer::Done);
        assert_eq!(answer(&mut raw).is_refused(), refused, "pipelined {sql}");
        assert_eq!(answer(&mut raw), Answer::Done);
    }
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
    let large = format!("SELECT 1 /*{}*/; DELETE FROM test.unseen", "x".repeat(200_000));
    assert!(run(&mut raw, &large).is_refused(), "what is longer than is looked at is at least a write");
    assert_eq!(primary_count(), "3");
}

fn primary_count() -> String {
    super::primary().root_sql("SELECT COUNT(*) FROM test.unseen").expect("a count").trim().to_owned()
}

#[test]
fn a_refused_execution_succeeds_when_it_is_tried_again() {
    table("again");
    let rule = "rules:\n- { id: half, match: { class: write }, do: { rejection_ratio: 0.5 }, permanent: true }\n";
    let tollgate = ruled(&format!("{AT_ONCE}{rule}"));
    let mut raw = Raw::login(tollgate.address, APP);
    raw.command(0x16, b"INSERT INTO test.again (batch, step) VALUES (?, ?)");
    let reply = raw.read().expect("a reply");
    let prepared = wire::PrepareOk::decode(&reply, wire::Capabilities::PROTOCOL_41).expect("prepared");
    (0..=prepared.params).for_each(|_| drop(raw.read().expect("a definition")));
    let id = prepared.statement_id.to_le_bytes();
    // Types only with the first, as client libraries do it.
    let first = [&id[..], &[0, 1, 0, 0, 0, 0, 1, 3, 0, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0]].concat();
    let later = [&id[..], &[0, 1, 0, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0]].concat();
    let (mut done, mut refused) = (0, 0);
    for body in std::iter::once(&first).chain(std::iter::repeat_n(&later, 99)) {
        raw.command(0x17, body);
        match answer(&mut raw) {
            Answer::Done => done += 1,
            Answer::Err(1226, _) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(done > 10 && refused > 10, "{done} {refused}");
    let rows = super::primary().root_sql("SELECT COUNT(*) FROM test.again WHERE batch = 7 AND step = 8");
    assert_eq!(rows.expect("a count").trim(), done.to_string());
}
