//! Bytes that the server reads in more than one way (numbers 1, 3 and 5 of the list).

use super::{Attempt, Execute, Group, Prepare, Query, both, mariadb, mysql, servers};
use crate::harness::Tollgate;

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

/// A gate on writes that is always closed.
macro_rules! closed_gate {
    () => {
        "probe: { user: app, password: app-pw }\n\
        metrics: { level: { sql: SELECT 99, interval: 100ms } }\n\
        gates:\n  level: { threshold: 10, control: binary, classes: [write], action: reject, trickle: 0, on_stale: closed }\n"
    };
}

fn is_closed(proxy: &Tollgate) {
    proxy.await_gate("level", "closed");
}

#[test]
fn closed_gate_applies_to_every_reading() {
    Group {
        schema: "doubt_gate",
        yaml: concat!("heartbeat_writers: { tables: [@.heartbeat] }\n", closed_gate!()),
        control: "INSERT INTO t (v) VALUES (9)",
        harmless: "INSERT INTO heartbeat (v) VALUES (1)",
        attempts: BEHIND_HEARTBEAT,
    }
    .run_once(is_closed);
}

/// The last statement of each packet fails on the server. The write before it does not.
const BEHIND_MISSING_HEARTBEAT: &[Attempt] = &[
    both(
        "utf8mb4",
        &[Query(
            b"SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 'a\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat.heartbeat VALUES (1)",
        )],
    ),
    both(
        "gbk",
        &[Query(
            b"SELECT '\xBF\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat.heartbeat VALUES (1)",
        )],
    ),
    both(
        "sjis",
        &[Query(
            b"SELECT '\x81\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat.heartbeat VALUES (1)",
        )],
    ),
    both(
        "big5",
        &[Query(
            b"SELECT '\xA1\\'; INSERT INTO t (v) VALUES (9); -- '; INSERT INTO heartbeat.heartbeat VALUES (1)",
        )],
    ),
];

#[test]
fn closed_gate_applies_without_heartbeat_table() {
    for server in servers() {
        let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'heartbeat'";
        assert_eq!(server.root_sql(tables).expect("a count").trim(), "0");
    }
    Group {
        schema: "doubt_gate_alone",
        yaml: closed_gate!(),
        control: "INSERT INTO t (v) VALUES (9)",
        harmless: "SELECT COUNT(*) FROM pub",
        attempts: BEHIND_MISSING_HEARTBEAT,
    }
    .run_once(is_closed);
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

/// MySQL reads a prepared text again when a table has changed, in the mode of then.
#[test]
fn prepared_text_is_read_again() {
    const AGAIN: super::Step = Prepare("SELECT id, 'a\\' FROM pub UNION SELECT id, 1 FROM secret -- ' FROM pub");
    const CHANGE: super::Step = Query(b"ALTER TABLE pub COMMENT 'other'");
    const MODE: super::Step = Query(b"SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    const BY_NAME: super::Step =
        Query(b"PREPARE s FROM 'SELECT id, ''a\\\\'' FROM pub UNION SELECT id, 1 FROM secret -- '' FROM pub'");
    const ATTEMPTS: &[Attempt] = &[
        mysql("utf8mb4", &[AGAIN, MODE, CHANGE, Execute]),
        mysql("utf8mb4", &[BY_NAME, MODE, CHANGE, Query(b"EXECUTE s")]),
    ];
    let (control, harmless) = ("SELECT * FROM secret", "SELECT * FROM pub");
    Group { schema: "doubt_again", yaml: SECRET, control, harmless, attempts: ATTEMPTS }.run();
}

/// The status flag keeps what a routine, or SET STATEMENT, did to the sql_mode, and the servers restore the mode without it.
#[test]
fn flag_of_a_routine_is_not_believed() {
    const NONE: super::Step = Query(b"CREATE PROCEDURE nb() SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    const SOME: super::Step = Query(b"CREATE PROCEDURE bs() SET sql_mode = ''");
    const FUNCTION: super::Step = Query(
        b"CREATE FUNCTION fnb() RETURNS INT DETERMINISTIC BEGIN SET sql_mode = 'NO_BACKSLASH_ESCAPES'; RETURN 1; END",
    );
    const SET: super::Step = Query(b"SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    const ESCAPED: super::Step = Query(b"SELECT 'a\\' , 1 -- ', v FROM secret");
    const PLAIN: super::Step = Query(b"SELECT 'a\\', v FROM secret -- '");
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[NONE, Query(b"CALL nb()"), ESCAPED]),
        both("utf8mb4", &[NONE, Query(b"CALL nb()"), Query(b"SELECT 1"), ESCAPED]),
        both("utf8mb4", &[FUNCTION, Query(b"SELECT fnb()"), ESCAPED]),
        both(
            "utf8mb4",
            &[
                FUNCTION,
                Query(b"CREATE VIEW vnb AS SELECT fnb()"),
                Query(b"SELECT * FROM vnb"),
                Query(b"DROP VIEW vnb"),
                ESCAPED,
            ],
        ),
        both("utf8mb4", &[SOME, SET, Query(b"CALL bs()"), PLAIN]),
        // It fails in its second half.
        mysql("utf8mb4", &[Query(b"SET sql_mode = 'NO_BACKSLASH_ESCAPES', gtid_next = 'x'"), PLAIN]),
        mysql("utf8mb4", &[Query(b"SET NAMES gbk, gtid_next = 'x'"), Query(b"SELECT '\xBF\\' a, v FROM secret -- '")]),
        // GLOBAL counts for the character set too.
        mysql(
            "gbk",
            &[
                Query(b"SET GLOBAL net_retry_count = 10, character_set_client = utf8mb4"),
                Query(b"SELECT '\xBF\\' a, v FROM secret -- '"),
            ],
        ),
        mariadb(&[
            Query(b"SET NAMES gbk"),
            Query(b"SET GLOBAL net_retry_count = 10, character_set_client = latin1"),
            Query(b"SELECT '\xBF\\' a, v FROM secret -- '"),
        ]),
        mariadb(&[Query(b"SET STATEMENT sql_mode = 'NO_BACKSLASH_ESCAPES' FOR SELECT 1"), ESCAPED]),
        mariadb(&[SET, Query(b"SET STATEMENT sql_mode = '' FOR DO 1"), PLAIN]),
        // A text is prepared by settings of its own.
        mariadb(&[
            Query(b"PREPARE s FROM 'SELECT 1'"),
            Query(b"SET STATEMENT sql_mode='NO_BACKSLASH_ESCAPES' FOR PREPARE s FROM 'SELECT ''\\\\'' a, v FROM secret -- '' a'"),
            Query(b"SET sql_mode = ''"),
            Query(b"EXECUTE s"),
        ]),
        both("utf8mb4", &[
            Query(b"SET autocommit = 0"),
            Query(b"XA START 'doubt'"),
            Query(b"SET sql_mode = 'NO_BACKSLASH_ESCAPES', autocommit = 1"),
            PLAIN,
        ]),
    ];
    let yaml = "rules:\n\
        - { id: stop, match: { table: @.secret }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    let (control, harmless) = ("SELECT * FROM secret", "SELECT * FROM pub");
    Group { schema: "doubt_flag", yaml, control, harmless, attempts: ATTEMPTS }.run();
}
