//! Names whose schema changes within a packet, or between PREPARE and EXECUTE.

use super::{Attempt, Execute, Group, InitDb, Prepare, Query, both, mysql};

#[test]
fn table_rule_follows_schema_changes() {
    const YAML: &str = "rules:\n\
        - { id: stop, match: { table: @_other.secret }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"USE doubt_names_other; SELECT * FROM secret")]),
        both("utf8mb4", &[Query(b"USE doubt_names_other"), Query(b"SELECT * FROM secret")]),
        both("utf8mb4", &[InitDb(b"doubt_names_other"), Query(b"SELECT * FROM secret")]),
        // MySQL reads up to the NUL, and MariaDB refuses the name.
        mysql("utf8mb4", &[InitDb(b"doubt_names_other\0x"), Query(b"SELECT * FROM secret")]),
        both(
            "utf8mb4",
            &[
                Query(b"USE doubt_names_other"),
                Query(b"PREPARE s FROM 'SELECT * FROM secret'"),
                Query(b"USE doubt_names"),
                Query(b"EXECUTE s"),
            ],
        ),
        both(
            "utf8mb4",
            &[Query(b"USE doubt_names_other"), Prepare("SELECT * FROM secret"), Query(b"USE doubt_names"), Execute],
        ),
    ];
    let control = "SELECT * FROM doubt_names_other.secret";
    let harmless = "SELECT * FROM pub";
    Group { schema: "doubt_names", yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
}

#[test]
fn schema_rule_follows_schema_changes() {
    const YAML: &str = "rules:\n\
        - { id: stop, match: { schema: @_other, class: read }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n\
        - { id: control, match: { table: @.t }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";
    const ATTEMPTS: &[Attempt] = &[
        both("utf8mb4", &[Query(b"USE doubt_schemas_other; SELECT * FROM secret")]),
        both("utf8mb4", &[Query(b"USE doubt_schemas_other"), Query(b"SELECT * FROM secret")]),
        both(
            "utf8mb4",
            &[Query(b"USE doubt_schemas_other"), Prepare("SELECT * FROM secret"), Query(b"USE doubt_schemas"), Execute],
        ),
    ];
    let (control, harmless) = ("SELECT * FROM t", "SELECT * FROM pub");
    Group { schema: "doubt_schemas", yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
}
