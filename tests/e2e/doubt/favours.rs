//! A favouring rule of which only a part of a packet is certain.

use super::{Attempt, Group, Query, both, mariadb};

const ATTEMPTS: &[Attempt] = &[
    both("utf8mb4", &[Query(b"SELECT * FROM pub; INSERT INTO t (v) VALUES (9)")]),
    both("utf8mb4", &[Query(b"INSERT INTO t (v) VALUES (9); SELECT * FROM pub")]),
    both("gbk", &[Query(b"SELECT '\xBF\\' FROM pub; INSERT INTO t (v) VALUES (9); -- ' FROM pub")]),
    both("utf8mb4", &[Query(b"SELECT f() FROM pub")]),
    both("utf8mb4", &[Query(b"PREPARE s FROM 'INSERT INTO t (v) VALUES (9)'; EXECUTE s; SELECT * FROM pub")]),
    mariadb(&[Query(b"EXECUTE IMMEDIATE 'INSERT INTO t (v) VALUES (9)'; SELECT * FROM pub")]),
];

macro_rules! favouring {
    ($test:ident, $matching:literal) => {
        #[test]
        fn $test() {
            const YAML: &str = concat!(
                "rules:\n",
                "- { id: stop, match: { user: app }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n",
                "- { id: favour, match: { ",
                $matching,
                " }, do: { exempt: true }, priority: 10, permanent: true }\n",
            );
            let (control, harmless) = ("INSERT INTO t (v) VALUES (9)", "SELECT * FROM pub");
            let schema = concat!("doubt_", stringify!($test));
            Group { schema, yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
        }
    };
}

favouring!(exempt_class_needs_whole_packet, "class: read");
favouring!(exempt_table_needs_whole_packet, "table: @.pub");
favouring!(exempt_fingerprint_needs_whole_packet, "fingerprint: 'SELECT * FROM pub'");
