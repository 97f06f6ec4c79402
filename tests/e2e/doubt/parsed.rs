//! Statements in which the table is easily overlooked: modifiers, names of WITH, plans, and text that the server converts first.

use super::{Attempt, Group, Query, both, mariadb, mysql};

const SECRET: &str = "rules:\n\
    - { id: stop, match: { table: @.secret }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";

fn check(schema: &'static str, attempts: &'static [Attempt]) {
    Group { schema, yaml: SECRET, control: "SELECT * FROM secret", harmless: "SELECT * FROM pub", attempts }.run();
}

#[test]
fn modifiers_are_no_tables() {
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"UPDATE IGNORE secret SET v = 7 WHERE id = 1")]),
        both("utf8mb4", &[Query(b"UPDATE LOW_PRIORITY secret SET v = 7 WHERE id = 1")]),
        both("utf8mb4", &[Query(b"UPDATE LOW_PRIORITY IGNORE pub JOIN secret USING (id) SET secret.v = 7")]),
    ];
    check("doubt_modifiers", ATTEMPTS);
}

/// MySQL tells a name of WITH from a table by its case.
#[test]
fn names_of_with_hide_no_table_of_another_case() {
    const ATTEMPTS: &[Attempt] = &[
        mysql("utf8mb4", &[Query(b"WITH SECRET AS (SELECT 1 x) SELECT * FROM secret")]),
        mysql(
            "utf8mb4",
            &[Query(b"WITH SECRET AS (SELECT 1 x) SELECT secret.v FROM pub JOIN secret ON pub.id = secret.id")],
        ),
    ];
    check("doubt_with", ATTEMPTS);
}

/// The optimiser reads rows by their keys, and shows them.
#[test]
fn plans_are_reads() {
    const ATTEMPTS: &[Attempt] = &[
        mysql("utf8mb4", &[Query(b"EXPLAIN FORMAT=JSON SELECT * FROM secret WHERE id = 1")]),
        mysql("utf8mb4", &[Query(b"EXPLAIN FORMAT=TRADITIONAL SELECT * FROM secret WHERE id = 1; SHOW WARNINGS")]),
    ];
    check("doubt_plans", ATTEMPTS);
}

/// MySQL converts the literal to UTF-8, and reads the result in the client's character set.
#[test]
fn prepared_literal_is_read_as_the_server_converts_it() {
    const ATTEMPTS: &[Attempt] = &[
        mysql("latin1", &[Query(b"PREPARE s FROM \"SELECT @x\xE0FROM secret\""), Query(b"EXECUTE s")]),
        mysql("latin1", &[Query(b"PREPARE s FROM \"SELECT 1 AS p\xE0FROM secret\""), Query(b"EXECUTE s")]),
    ];
    check("doubt_literal", ATTEMPTS);
}

/// A session under ANSI_QUOTES, which no reply shows, and text behind a change of the mode.
#[test]
fn double_quoted_names_are_tables() {
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"SET sql_mode = 'ANSI'; SELECT * FROM pub, \"secret\"")]),
        both("utf8mb4", &[Query(b"SET sql_mode = 'ANSI_QUOTES'"), Query(b"SELECT * FROM pub, \"secret\"")]),
        both(
            "utf8mb4",
            &[Query(b"SET sql_mode = 'ANSI_QUOTES'"), Query(b"SELECT * FROM pub JOIN t ON '1', \"secret\"")],
        ),
        both("utf8mb4", &[Query(b"SET sql_mode = 'ANSI_QUOTES'; SELECT id MOD 2 FROM \"secret\"")]),
        mysql("big5", &[Query(b"SET sql_mode = 'ANSI_QUOTES'"), Query(b"SELECT * FROM \"secret\xA1\"")]),
        // Under ANSI_QUOTES it would be two statements without a table.
        both("utf8mb4", &[Query(b"SELECT\"\"AS\"\\\"/**/;--\nSELECT\"FROM secret")]),
    ];
    check("doubt_ansi", ATTEMPTS);
}

/// MariaDB takes the name of a table's file for that of the table.
#[test]
fn names_of_files_are_not_believed() {
    const ATTEMPTS: &[Attempt] = &[
        mariadb(&[Query(b"SELECT * FROM `#mysql50#secret`")]),
        mariadb(&[Query(b"SELECT * FROM `#mysql50#doubt_files`.secret")]),
        mariadb(&[Query(b"SET sql_mode = 'ANSI_QUOTES'"), Query(b"SELECT * FROM \"#mysql50#secret\"")]),
        mariadb(&[Query(b"USE `#mysql50#doubt_files`"), Query(b"SELECT * FROM secret")]),
    ];
    check("doubt_files", ATTEMPTS);
}

/// Grammar that the parser does not know: every name may be a table.
#[test]
fn names_in_unknown_grammar_may_be_tables() {
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"SELECT v MOD 2 FROM secret")]),
        both("utf8mb4", &[Query(b"SELECT * FROM pub LEFT JOIN (`secret`, t) ON !0")]),
        both("utf8mb4", &[Query(b"INSERT INTO t (v) SELECT v MOD 2 FROM doubt_grammar . secret")]),
        both("utf8mb4", &[Query(b"CREATE TABLE child (i INT, FOREIGN KEY (i) REFERENCES secret (id))")]),
        both("utf8mb4", &[Query(b"CREATE TABLE `like` LIKE secret")]),
        mariadb(&[Query(b"UPDATE LOW_PRIORITY .secret SET v = 7")]),
    ];
    check("doubt_grammar", ATTEMPTS);
}

#[test]
fn tables_of_dropped_schemas_are_touched() {
    const YAML: &str = "rules:\n\
        - { id: stop, match: { table: @_other.secret }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"DROP DATABASE doubt_dropped_other")]),
        both("utf8mb4", &[Query(b"DO 1; DROP SCHEMA IF EXISTS `doubt_dropped_other`")]),
        mariadb(&[Query(b"CREATE OR REPLACE DATABASE doubt_dropped_other")]),
    ];
    Group {
        schema: "doubt_dropped",
        yaml: YAML,
        control: "SELECT * FROM doubt_dropped_other.secret",
        harmless: "DROP DATABASE IF EXISTS doubt_dropped_nowhere",
        attempts: ATTEMPTS,
    }
    .run();
}

/// Names that begin with the right one and end in a byte that is no character: MySQL drops it.
#[test]
fn names_outside_utf8_are_not_believed() {
    const ATTEMPTS: &[Attempt] = &[
        mysql("utf8mb4", &[Query(b"SELECT * FROM secret\xC3")]),
        mysql("utf8mb4", &[Query(b"SELECT * FROM `secret\xC3`")]),
        mysql("gbk", &[Query(b"SELECT * FROM `secret\x80`")]),
        mysql("gb18030", &[Query(b"SELECT * FROM secret\x81")]),
        mysql("big5", &[Query(b"SELECT * FROM secret\xA1")]),
        mysql("sjis", &[Query(b"SELECT * FROM secret\x81")]),
        mysql("cp932", &[Query(b"SELECT * FROM secret\x81")]),
        mysql("ujis", &[Query(b"SELECT * FROM secret\xA1")]),
        mysql("euckr", &[Query(b"SELECT * FROM secret\xA1")]),
    ];
    check("doubt_names", ATTEMPTS);
}

/// MariaDB's `\N` ends where it is two bytes long.
#[test]
fn escaped_null_hides_nothing() {
    const ATTEMPTS: &[Attempt] = &[
        mariadb(&[Query(b"SELECT v,\\NFROM secret")]),
        mariadb(&[Query(b"SELECT \\NFROM pub JOIN secret ON \\NIS NULL")]),
        mariadb(&[Query(b"SELECT \\N,\\NUNION SELECT id, v FROM secret")]),
    ];
    check("doubt_null", ATTEMPTS);
}

#[test]
fn definitions_in_dollar_quotes_hide_nothing() {
    const ATTEMPTS: &[Attempt] = &[
        mysql(
            "utf8mb4",
            &[Query(b"CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $$ ' $$; SELECT * FROM secret; SELECT ' '")],
        ),
        mysql(
            "utf8mb4",
            &[Query(b"CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $tag$ ' $$ ' $tag$; SELECT * FROM secret -- '")],
        ),
    ];
    check("doubt_dollars", ATTEMPTS);
}
