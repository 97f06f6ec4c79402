//! Bytes that the server reads in more than one way (numbers 1, 3 and 5 of the list).

use super::{Attempt, Group, Query, both, mariadb};

const WRITES: &str = "heartbeat_writers: { tables: [@.heartbeat] }\nrules:\n\
    - { id: stop, match: { user: app, class: write }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";

const BEHIND_HEARTBEAT: &[Attempt] = &[
    both(
        "utf8mb4",
        &[Query(
            b"SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 'a\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat (v) VALUES (1)",
        )],
    ),
    both(
        "gbk",
        &[Query(b"SELECT '\xBF\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat (v) VALUES (1)")],
    ),
    both(
        "sjis",
        &[Query(b"SELECT '\x81\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat (v) VALUES (1)")],
    ),
    both(
        "big5",
        &[Query(b"SELECT '\xA1\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat (v) VALUES (1)")],
    ),
    // The character set changes in the packet itself.
    both(
        "utf8mb4",
        &[Query(
            b"SET NAMES gbk; SELECT '\xBF\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat (v) VALUES (1)",
        )],
    ),
];

#[test]
fn heartbeat_exemption_needs_every_reading() {
    Group {
        schema: "doubt_heartbeat",
        yaml: WRITES,
        control: "INSERT INTO t (v) VALUES (9)",
        harmless: "INSERT INTO heartbeat (v) VALUES (1)",
        attempts: BEHIND_HEARTBEAT,
    }
    .run();
}

const HOLDS_WRITES: &str = "heartbeat_writers: { tables: [@.heartbeat] }\nrules:\n\
    - { id: stop, match: { user: app, class: write }, do: { hold: true }, max_delay: 20ms, permanent: true }\n";

#[test]
fn hold_applies_to_every_reading() {
    Group {
        schema: "doubt_hold",
        yaml: HOLDS_WRITES,
        control: "INSERT INTO t (v) VALUES (9)",
        harmless: "INSERT INTO heartbeat (v) VALUES (1)",
        attempts: BEHIND_HEARTBEAT,
    }
    .run();
}

const HIDDEN_WRITES: &[Attempt] = &[
    // The escape of a byte that looks like the first of two.
    both("gbk", &[Query(b"SELECT '\\\x81\\', '; INSERT INTO t (v) VALUES (9); -- '")]),
    // Misleading text stands before the change of sql_mode.
    both(
        "utf8mb4",
        &[Query(
            b"SELECT 'NO_BACKSLASH_ESCAPES\\'; SET sql_mode=0 -- ' ; SET sql_mode=NO_BACKSLASH_ESCAPES\n; SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 'a\\'; INSERT INTO t (v) VALUES (9); -- '",
        )],
    ),
    both("utf8mb4", &[Query(b"SET sql_mode=ANSI_QUOTES; SELECT 1 AS \"\\\"; INSERT INTO t (v) VALUES (9); -- \"")]),
    both(
        "utf8mb4",
        &[Query(b"SET @m='NO_BACKSLASH_ESCAPES'; SET sql_mode=@m; SELECT 'a\\'; INSERT INTO t (v) VALUES (9); -- '")],
    ),
    both(
        "utf8mb4",
        &[
            Query(b"SET sql_mode=NO_BACKSLASH_ESCAPES"),
            Query(b"SELECT 'a\\'; INSERT INTO t (v) VALUES (9); -- '"),
        ],
    ),
    mariadb(&[Query(b"SET sql_mode=MSSQL; SELECT 1 AS [']; INSERT INTO t (v) VALUES (9); -- ']")]),
    mariadb(&[Query(b"SET sql_mode=MSSQL"), Query(b"SELECT 1 AS [']; INSERT INTO t (v) VALUES (9); -- ']")]),
];

#[test]
fn class_rule_applies_to_every_reading() {
    Group {
        schema: "doubt_class",
        yaml: WRITES,
        control: "INSERT INTO t (v) VALUES (9)",
        harmless: "SELECT COUNT(*) FROM pub",
        attempts: HIDDEN_WRITES,
    }
    .run();
}

const SECRET: &str = "rules:\n\
    - { id: stop, match: { table: @.secret }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";

const SECRET_TABLES: &[Attempt] = &[
    both(
        "utf8mb4",
        &[Query(b"SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 'a\\' FROM pub UNION SELECT id FROM secret -- '")],
    ),
    both("gbk", &[Query(b"SELECT '\xBF\\' FROM pub UNION SELECT id FROM secret -- '")]),
    both("sjis", &[Query(b"SELECT '\x81\\' FROM pub UNION SELECT id FROM secret -- '")]),
    both("big5", &[Query(b"SELECT '\xA1\\' FROM pub UNION SELECT id FROM secret -- '")]),
    both("latin1", &[Query(b"SELECT * FROM pub\xA0JOIN\xA0secret")]),
    both("greek", &[Query(b"SELECT * FROM pub\xA0JOIN\xA0secret")]),
    both("cp852", &[Query(b"SELECT * FROM pub\xFFJOIN\xFFsecret")]),
    both("latin1", &[Query(b"SELECT * FROM\xA0secret")]),
    mariadb(&[Query(b"SET sql_mode=MSSQL"), Query(b"SELECT * FROM [secret]")]),
    mariadb(&[Query(b"SET sql_mode=MSSQL; SELECT * FROM [secret]")]),
];

#[test]
fn table_rule_applies_to_every_reading() {
    Group {
        schema: "doubt_table",
        yaml: SECRET,
        control: "SELECT * FROM secret",
        harmless: "SELECT * FROM pub",
        attempts: SECRET_TABLES,
    }
    .run();
}

const EVERYTHING: &str = "rules:\n\
    - { id: stop, match: { user: app }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";

const SPACES: &[Attempt] = &[
    both("latin1", &[Query(b"SELECT @x\xA0OR f()")]),
    both("latin2", &[Query(b"SELECT @x\xA0OR f()")]),
    both("greek", &[Query(b"SELECT @x\xA0OR f()")]),
    both("cp852", &[Query(b"SELECT @x\xFFOR f()")]),
    both("cp866", &[Query(b"SELECT @x\xFFOR f()")]),
];

#[test]
fn space_of_character_set_ends_variable() {
    Group { schema: "doubt_space", yaml: EVERYTHING, control: "SELECT f()", harmless: "SELECT 1", attempts: SPACES }
        .run();
}
