//! The upstream's role is watched: sessions on a server that was demoted end at a transaction boundary.

use sandbox::{APP, Cluster, Server, TOLLGATE};

use super::{Dial, allow, as_probe_user, cluster, is_known, login};
use crate::harness::{Forwarder, Tollgate, wait_until};
use crate::rules::{Answer, run};

#[test]
fn sessions_on_a_demoted_server_end_at_a_boundary() {
    for (on_demotion, ends) in [("close", true), ("keep", false)] {
        let cluster = cluster();
        cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.demoted (a INT)").expect("a table");
        let tollgate = Tollgate::start(&format!(
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

/// The connections of the proxy's own user end; those of its clients' sessions stay.
fn end_probes(server: &Server) {
    let probes = format!(
        "SELECT CONCAT('KILL ', PROCESSLIST_ID, ';') FROM performance_schema.threads WHERE PROCESSLIST_USER = '{}'",
        TOLLGATE.user
    );
    for kill in server.root_sql(&probes).expect("ids").lines() {
        // It may have ended meanwhile.
        let _ = server.root_sql(kill);
    }
}

/// The address leads to another server: what was known is forgotten, what is known from now on is of the new one, and sessions on the
/// old one end.
#[test]
fn an_address_that_leads_to_another_server() {
    let old = cluster();
    let new = Cluster::start().expect("another primary and replica");
    allow(&new);
    for cluster in [&*old, &new] {
        cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.led (a INT)").expect("a table");
    }
    // The new one has no such number as `only`, and what the old one said would count for an hour. Permits of `both` would be remembered for
    // a calm minute.
    let (only, both, other) = (Dial::new(&old, "only"), Dial::new(&old, "both"), Dial::new(&new, "both"));
    only.set(99.0);
    both.set(6.0);
    let forwarder = Forwarder::to(old.primary.address());
    let gate = "threshold: 10, stale_after: 1h, on_stale: open, action: reject, trickle: 0";
    let tollgate = Tollgate::start(&format!(
        "upstream: {{ address: \"{}\", replicas: discover, on_demotion: close }}\n{}",
        forwarder.address,
        as_probe_user(&format!(
            "probe: {{ PROBE, heartbeat: {{ table: tollgate.heartbeat, create: true }} }}\n\
             metrics: {{ only: {{ sql: \"SELECT v FROM {}\", interval: 100ms }}, both: {{ sql: \"SELECT v FROM {}\", interval: 100ms }} }}\n\
             gates: {{ only: {{ {gate}, control: binary, classes: [ddl] }}, both: {{ {gate}, control: permits, classes: [call] }} }}\n",
            only.table, both.table
        ))
    ));
    let (mut idle, mut busy) = (login(&tollgate, APP), login(&tollgate, APP));
    tollgate.await_gate("only", "closed");
    tollgate.await_gate("both", "limiting");
    wait_until("the old replica's lag", || is_known(&tollgate, "replication_lag", &old.replica));
    for sql in ["BEGIN", "INSERT INTO test.led VALUES (1)"] {
        assert_eq!(run(&mut busy, sql), Answer::Done);
    }
    assert_eq!(run(&mut idle, "SELECT 1"), Answer::Done);

    forwarder.lead_to(new.primary.address());
    wait_until("the other server to be seen", || {
        end_probes(&old.primary);
        tollgate.log().contains("the upstream has changed")
    });
    tollgate.await_gate("only", "stale");
    tollgate.await_gate("both", "open");
    wait_until("the number of the new one", || tollgate.gate("both")["value"] == 0.0);
    other.set(99.0);
    tollgate.await_gate("both", "closed");

    // Beats are written on the new one, and read on its replica; the old replica is none of ours any more.
    wait_until("the new replica's lag", || is_known(&tollgate, "replication_lag", &new.replica));
    let gates = tollgate.gates();
    for known in [&gates["metrics"], &gates["servers"]] {
        assert!(!known.to_string().contains(&old.replica.address().to_string()), "{gates:#}");
    }
    assert_eq!(new.replica.root_sql("SELECT COUNT(*) FROM tollgate.heartbeat").expect("a count").trim(), "1");

    wait_until("the idle session to end", || tollgate.sessions() == 1);
    for sql in ["SELECT COUNT(*) FROM test.led", "COMMIT"] {
        assert_eq!(run(&mut busy, sql), Answer::Done, "what has begun is finished where it began: {sql}");
    }
    wait_until("the other to end", || tollgate.sessions() == 0);
    let uuid = new.primary.root_sql("SELECT @@server_uuid").expect("an id");
    assert_eq!(login(&tollgate, APP).value("SELECT @@server_uuid").as_deref(), Some(uuid.trim()));
}
