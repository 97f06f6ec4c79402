//! Statements behind other text: functions with the names of statements, long comments, routines, prepared text, several
//! statements in one packet (numbers 4, 6, 9 and 10 of the list).

use crate::rules::{Answer, run};

use super::{Attempt, Execute, Group, Place, Prepare, Query, both, mariadb, servers};

const WRITES: &str = "rules:\n\
    - { id: stop, match: { class: [write, ddl] }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";

#[test]
fn functions_named_like_statements_are_not_free() {
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"DO INSERT(f(), 1, 1, 'x')")]),
        both("utf8mb4", &[Query(b"DO REPLACE(f(), 1, 1)")]),
        both("utf8mb4", &[Query(b"DO 1, REPLACE(f(), 1, 1)")]),
    ];
    let control = "INSERT INTO t (v) VALUES (9)";
    Group { schema: "doubt_do", yaml: WRITES, control, harmless: "DO 1", attempts: ATTEMPTS }.run();
}

#[test]
fn class_rule_applies_to_unseen_statements() {
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"CALL p()")]),
        both("utf8mb4", &[Query(b"SELECT f()")]),
        both("utf8mb4", &[Prepare("CALL p()"), Execute]),
        both("utf8mb4", &[Prepare("SELECT f()"), Execute]),
        both(
            "utf8mb4",
            &[Query(b"SET @v = 'INSERT INTO t (v) VALUES (9)'"), Query(b"PREPARE s FROM @v"), Query(b"EXECUTE s")],
        ),
        both("utf8mb4", &[Query(b"SET @v = 'INSERT INTO t (v) VALUES (9)'; PREPARE s FROM @v; EXECUTE s")]),
        both("utf8mb4", &[Query(b"PREPARE s FROM 'INSERT INTO t (v) VALUES (9)'; EXECUTE s")]),
        // The name stood for something harmless before, and where the literal ends depends on ANSI_QUOTES.
        both(
            "utf8mb4",
            &[
                Query(b"PREPARE s FROM 'SELECT 1'"),
                Query(b"PREPARE s FROM \"INSERT INTO t (v) VALUES (9) -- \\\"\""),
                Query(b"EXECUTE s"),
            ],
        ),
        mariadb(&[Query(b"EXECUTE IMMEDIATE 'INSERT INTO t (v) VALUES (9)'")]),
        mariadb(&[Query(b"EXECUTE IMMEDIATE CONCAT('INSERT INTO t (v)', ' VALUES (9)')")]),
        mariadb(&[Query(b"BEGIN NOT ATOMIC INSERT INTO t (v) VALUES (9); END")]),
    ];
    let control = "INSERT INTO t (v) VALUES (9)";
    Group { schema: "doubt_unseen", yaml: WRITES, control, harmless: "SELECT * FROM pub", attempts: ATTEMPTS }.run();
}

#[test]
fn ddl_rule_applies_to_unseen_statements() {
    const YAML: &str = "rules:\n\
        - { id: stop, match: { class: ddl }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"PREPARE s FROM 'CREATE TABLE x1 (i INT)'"), Query(b"EXECUTE s")]),
        both("utf8mb4", &[Query(b"PREPARE s FROM 'CREATE TABLE x1 (i INT)'; EXECUTE s")]),
        both(
            "utf8mb4",
            &[Query(b"SET @v = 'CREATE TABLE x1 (i INT)'"), Query(b"PREPARE s FROM @v"), Query(b"EXECUTE s")],
        ),
        both("utf8mb4", &[Prepare("CREATE TABLE x1 (i INT)"), Execute]),
        both("utf8mb4", &[Query(b"CALL d()")]),
        both("utf8mb4", &[Query(b"BEGIN"), Query(b"INSERT INTO pub (v) VALUES (1)"), Query(b"CALL d()")]),
        mariadb(&[Query(b"EXECUTE IMMEDIATE 'CREATE TABLE x1 (i INT)'")]),
    ];
    let control = "CREATE TABLE x1 (i INT)";
    let harmless = "INSERT INTO pub (v) VALUES (1)";
    Group { schema: "doubt_ddl", yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
}

#[test]
fn exact_class_does_not_match_call() {
    let yaml = "rules:\n- { id: stop, match: { class: { exactly: [write] } }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    let control = "INSERT INTO t (v) VALUES (9)";
    for server in servers() {
        let proxy = Group { schema: "doubt_exact", yaml, control, harmless: "", attempts: &[] }.proxy(server);
        let place = Place::new(server, "doubt_exact");
        let mut raw = place.session(proxy.address, "utf8mb4");
        assert!(run(&mut raw, control).is_refused());
        assert_eq!(run(&mut raw, "CALL p()"), Answer::Done);
    }
}

#[test]
fn fingerprint_rule_applies_to_every_statement() {
    const YAML: &str = "rules:\n\
        - { id: stop, match: { fingerprint: \"DELETE FROM t WHERE id > 0\" }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"SELECT 1; DELETE FROM t WHERE id > 1")]),
        both("utf8mb4", &[Query(b"DELETE FROM t WHERE id > 1; SELECT 1")]),
        both("utf8mb4", &[Query(b"SELECT 1; DELETE FROM t WHERE id > 1; SELECT 1")]),
        both("utf8mb4", &[Prepare("DELETE FROM t WHERE id > 1"), Execute]),
        both("utf8mb4", &[Query(b"PREPARE s FROM 'DELETE FROM t WHERE id > 1'"), Query(b"EXECUTE s")]),
        both("utf8mb4", &[Query(b"PREPARE s FROM 'DELETE FROM t WHERE id > 1'; EXECUTE s; SELECT 1")]),
        mariadb(&[Query(b"EXECUTE IMMEDIATE 'DELETE FROM t WHERE id > 1'")]),
        mariadb(&[Query(b"SELECT 1; EXECUTE IMMEDIATE 'DELETE FROM t WHERE id > 1'")]),
    ];
    let control = "DELETE FROM t WHERE id > 5";
    let harmless = "DELETE FROM pub WHERE id > 5; SELECT 1";
    Group { schema: "doubt_fingerprint", yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
}

/// A comment that is longer than `limits.inspect`, in front of a statement.
macro_rules! behind_comment {
    ($sql:literal) => {{
        const SQL: &[u8] = $sql;
        const TEXT: [u8; 2000 + SQL.len()] = {
            let mut text = [b'x'; 2000 + SQL.len()];
            (text[0], text[1], text[1998], text[1999]) = (b'/', b'*', b'*', b'/');
            let mut at = 0;
            while at < SQL.len() {
                text[2000 + at] = SQL[at];
                at += 1;
            }
            text
        };
        Query(&TEXT)
    }};
}

const INSPECTED: &str = "limits: { inspect: 1KiB }\nrules:\n";

macro_rules! inspected {
    ($test:ident, $rule:literal, $control:literal, $sql:literal) => {
        #[test]
        fn $test() {
            const ATTEMPTS: &[Attempt] = &[both("utf8mb4", &[behind_comment!($sql)])];
            let yaml = format!(
                "{INSPECTED}- {{ id: stop, match: {{ {} }}, do: {{ rejection_ratio: 1 }}, action: reject, permanent: true }}\n",
                $rule
            );
            let (schema, harmless) = (concat!("doubt_", stringify!($test)), "SELECT * FROM pub WHERE id = 1");
            Group { schema, yaml: yaml.leak(), control: $control, harmless, attempts: ATTEMPTS }.run();
        }
    };
}

inspected!(long_comment_hides_no_ddl, "class: ddl", "CREATE TABLE x1 (i INT)", b"CREATE TABLE x1 (i INT)");
inspected!(long_comment_hides_no_table, "table: @.secret", "SELECT * FROM secret", b"SELECT * FROM secret");
inspected!(
    long_comment_hides_no_fingerprint,
    "fingerprint: 'DELETE FROM t WHERE id > 0'",
    "DELETE FROM t WHERE id > 5",
    b"DELETE FROM t WHERE id > 1"
);
inspected!(long_comment_hides_no_shape, "shape: no_where", "DELETE FROM t", b"DELETE FROM t");
