//! The upstream's role is watched: sessions on a server that was demoted end at a transaction boundary.

use sandbox::APP;

use super::{as_probe_user, cluster, login};
use crate::harness::wait_until;
use crate::rules::{Answer, run};

#[test]
fn sessions_on_a_demoted_server_end_at_a_boundary() {
    for (on_demotion, ends) in [("close", true), ("keep", false)] {
        let cluster = cluster();
        cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.demoted (a INT)").expect("a table");
        let tollgate = crate::harness::Tollgate::start(&format!(
            "upstream: {{ address: \"{}\", on_demotion: {on_demotion} }}\n{}",
            cluster.primary.address(),
            as_probe_user("probe: { PROBE }\n")
        ));
        let (mut idle, mut busy) = (login(&tollgate, APP), login(&tollgate, APP));
        wait_until("the primary to be known", || {
            tollgate.gates()["servers"].as_array().is_some_and(|servers| !servers.is_empty())
        });
        assert_eq!(run(&mut idle, "SELECT 1"), Answer::Done);
        assert_eq!(run(&mut busy, "BEGIN"), Answer::Done);
        assert_eq!(run(&mut busy, "INSERT INTO test.demoted VALUES (1)"), Answer::Done);
        // Not super_read_only: the transaction that is under way may be committed by one who may.
        cluster.primary.root_sql("SET GLOBAL read_only = ON").expect("demoted");
        wait_until("the demotion to be seen", || tollgate.log().contains("the upstream has changed"));
        if ends {
            wait_until("the idle session to end", || tollgate.sessions() == 1);
            assert_eq!(run(&mut busy, "SELECT COUNT(*) FROM test.demoted"), Answer::Done, "it is not at a boundary");
            assert_eq!(run(&mut busy, "ROLLBACK"), Answer::Done);
            wait_until("the other to end", || tollgate.sessions() == 0);
        } else {
            assert_eq!(run(&mut idle, "SELECT 1"), Answer::Done);
            assert_eq!(run(&mut busy, "ROLLBACK"), Answer::Done);
            assert_eq!(tollgate.sessions(), 2);
        }
        assert_eq!(run(&mut login(&tollgate, APP), "SELECT 1"), Answer::Done, "new sessions are let in");
        cluster.primary.root_sql("SET GLOBAL read_only = OFF").expect("promoted");
        drop(cluster);
    }
}
