//! A favouring rule of which only a part of a packet is certain.

use super::{Attempt, Group, Place, Query, both, grant_everything_to_seer, mariadb, seer, servers};
use crate::harness::wait_until;
use crate::rules::{Answer, run};

const ATTEMPTS: &[Attempt] = &[
    both("utf8mb4", &[Query(b"SELECT * FROM pub; INSERT INTO t (v) VALUES (9)")]),
    both("utf8mb4", &[Query(b"INSERT INTO t (v) VALUES (9); SELECT * FROM pub")]),
    both("gbk", &[Query(b"SELECT '\xBF\\' FROM pub; INSERT INTO t (v) VALUES (9); -- ' FROM pub")]),
    both("utf8mb4", &[Query(b"SELECT f() FROM pub")]),
    both("utf8mb4", &[Query(b"PREPARE s FROM 'INSERT INTO t (v) VALUES (9)'; EXECUTE s; SELECT * FROM pub")]),
    mariadb(&[Query(b"EXECUTE IMMEDIATE 'INSERT INTO t (v) VALUES (9)'; SELECT * FROM pub")]),
];

macro_rules! favouring {
    ($test:ident, $matching:literal $(, $more:literal)?) => {
        #[test]
        fn $test() {
            const YAML: &str = concat!(
                "rules:\n",
                "- { id: stop, match: { user: app }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n",
                "- { id: favour, match: { ",
                $matching,
                " }, do: { exempt: true }, priority: 10, permanent: true",
                $($more,)?
                " }\n",
            );
            let (control, harmless) = ("INSERT INTO t (v) VALUES (9)", "SELECT * FROM pub");
            let schema = concat!("doubt_", stringify!($test));
            Group { schema, yaml: YAML, control, harmless, attempts: ATTEMPTS }.run();
        }
    };
}

favouring!(exempt_class_needs_whole_packet, "class: read");
favouring!(exempt_table_needs_whole_packet, "table: @.pub", ", unknown_tables: match");
favouring!(exempt_fingerprint_needs_whole_packet, "fingerprint: 'SELECT * FROM pub'");

/// By the name alone it would be a table that is favoured.
#[test]
fn view_by_the_name_of_an_exempt_table_is_not_exempt() {
    const YAML: &str = concat!(
        seer!(),
        "heartbeat_writers: { tables: [@.heartbeat] }\nrules:\n",
        "- { id: stop, match: { class: write }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n",
        "- { id: favour, match: { table: @.pub }, do: { exempt: true }, priority: 10, permanent: true }\n",
    );
    const GROUP: Group = Group { schema: "doubt_favoured_view", yaml: YAML, control: "", harmless: "", attempts: &[] };
    for server in servers() {
        let place = Place::new(server, GROUP.schema);
        grant_everything_to_seer(server);
        let proxy = GROUP.proxy(server);
        wait_until("the catalogue", || proxy.log().contains("read the server's catalogue"));
        let mut raw = place.session(proxy.address, "utf8mb4");
        for favoured in ["heartbeat", "pub"] {
            let write = format!("UPDATE {favoured} SET v = 7");
            assert_eq!(run(&mut raw, &write), Answer::Done, "the table itself");
            for sql in [format!("DROP TABLE {favoured}"), format!("CREATE VIEW {favoured} AS SELECT * FROM t")] {
                assert_eq!(run(&mut raw, &sql), Answer::Done, "{sql}");
            }
            let before = place.evidence();
            let answer = run(&mut raw, &write);
            assert!(answer.is_refused(), "{:?}: {answer:?}: {write}", server.flavor());
            assert_eq!(place.evidence(), before, "{:?}: {favoured}", server.flavor());
            wait_until("the next reading of the catalogue", || {
                proxy.log().matches("read the server's catalogue").count() > 1
            });
            assert!(run(&mut raw, &write).is_refused(), "{:?}: {favoured}", server.flavor());
        }
    }
}
