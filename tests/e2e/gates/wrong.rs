//! Every way in which a metric can be wrong has a chosen outcome.

use std::io::{Read, Write};
use std::net::TcpListener;

use sandbox::APP;

use super::{Dial, REJECT, cluster, gated, is_refused_by, login, until_passes, until_refused};
use crate::harness::{Tollgate, wait_until};
use crate::rules::{Answer, run};

const WRITE: &str = "DELETE FROM test.gated_wrong WHERE a = 0";

fn table(cluster: &sandbox::Cluster) {
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.gated_wrong (a INT)").expect("a table");
}

/// A gate that is told so is closed while nobody knows, and a gate that is not is open. The gate says why.
fn unknown(metric: &str, why: &str) {
    let cluster = cluster();
    table(&cluster);
    for (on_stale, passes) in [("closed", false), ("open", true), ("hold_last", true)] {
        let tollgate = gated(
            &cluster,
            &format!(
                "probe: {{ PROBE, timeout: 300ms }}\nmetrics: {{ odd: {{ {metric}, interval: 100ms, timeout: 300ms }} }}\n\
                 gates: {{ odd: {{ threshold: 10, control: binary, on_stale: {on_stale}, stale_after: 1s, trickle: 0{REJECT} }} }}\n"
            ),
        );
        tollgate.await_gate("odd", "stale");
        assert_eq!(tollgate.gate("odd")["unknown"], why, "{metric}");
        let mut raw = login(&tollgate, APP);
        if passes {
            assert_eq!(run(&mut raw, WRITE), Answer::Done, "{metric}, {on_stale}");
        } else {
            until_refused(&mut raw, WRITE, "odd");
        }
        assert_eq!(run(&mut raw, "SELECT COUNT(*) FROM test.gated_wrong"), Answer::Done, "it concerns writes");
    }
}

#[test]
fn null() {
    unknown("sql: \"SELECT NULL\"", "null");
}

#[test]
fn text() {
    unknown("sql: \"SELECT 'many'\"", "not_a_number");
}

#[test]
fn negative() {
    unknown("sql: \"SELECT -1\"", "negative");
}

#[test]
fn two_rows() {
    unknown("sql: \"SELECT 1 UNION ALL SELECT 2\"", "several_rows");
}

#[test]
fn two_columns() {
    unknown("sql: \"SELECT 1, 2\"", "several_rows");
}

#[test]
fn no_row() {
    unknown("sql: \"SELECT 1 FROM DUAL WHERE 1 = 0\"", "no_row");
}

#[test]
fn an_error() {
    unknown("sql: \"SELECT * FROM test.there_is_no_such_table\"", "failed");
}

#[test]
fn a_probe_that_is_refused() {
    unknown("sql: \"SELECT COUNT(*) FROM mysql.user\"", "denied");
}

#[test]
fn a_probe_that_hangs() {
    unknown("sql: \"SELECT SLEEP(600)\"", "timed_out");
}

#[test]
fn a_page_that_says_nonsense() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbad");
        }
    });
    unknown(&format!("http: \"http://{address}/\""), "not_a_number");
}

#[test]
fn a_page_that_nobody_serves() {
    unknown("http: \"http://127.0.0.1:1/\"", "unreachable");
}

/// What was known is not known for ever, and what comes back counts again.
#[test]
fn a_metric_is_lost_and_comes_back() {
    let cluster = cluster();
    table(&cluster);
    let dial = Dial::new(&cluster, "lost");
    let tollgate = gated(&cluster, &dial.yaml(&format!(", on_stale: closed, stale_after: 1s, trickle: 0{REJECT}")));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
    cluster.primary.root_sql(&format!("RENAME TABLE {0} TO {0}_away", dial.table)).expect("renamed");
    until_refused(&mut raw, WRITE, "dial");
    cluster.primary.root_sql(&format!("RENAME TABLE {0}_away TO {0}", dial.table)).expect("renamed");
    until_passes(&mut raw, WRITE);
}

/// What it did when somebody knew it goes on doing while nobody knows: closed stays closed, and open stays open.
#[test]
fn what_was_known_last_is_held_on_to() {
    let cluster = cluster();
    table(&cluster);
    let dial = Dial::new(&cluster, "held_on");
    let tollgate = gated(&cluster, &dial.yaml(&format!(", on_stale: hold_last, stale_after: 1s, trickle: 0{REJECT}")));
    let mut raw = login(&tollgate, APP);
    for (value, state) in [(99.0, "closed"), (0.0, "open")] {
        dial.set(value);
        tollgate.await_gate("dial", state);
        cluster.primary.root_sql(&format!("RENAME TABLE {0} TO {0}_away", dial.table)).expect("renamed");
        tollgate.await_gate("dial", "stale");
        match state {
            "closed" => assert!(is_refused_by(&run(&mut raw, WRITE), "dial")),
            _ => assert_eq!(run(&mut raw, WRITE), Answer::Done),
        }
        cluster.primary.root_sql(&format!("RENAME TABLE {0}_away TO {0}", dial.table)).expect("renamed");
    }
}

#[test]
fn a_gate_closed_for_too_long_is_given_up() {
    let cluster = cluster();
    table(&cluster);
    let dial = Dial::new(&cluster, "given_up");
    let tollgate = gated(&cluster, &dial.yaml(&format!(", max_closed: 3s, trickle: 0{REJECT}")));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
    dial.set(99.0);
    until_refused(&mut raw, WRITE, "dial");
    until_passes(&mut raw, WRITE);
    assert_eq!(tollgate.gate("dial")["state"], "given_up");
    dial.set(0.0);
    tollgate.await_gate("dial", "open");
    dial.set(99.0);
    until_refused(&mut raw, WRITE, "dial");
}

const LAG: &str = "probe: { PROBE, timeout: 500ms, heartbeat: { table: tollgate.heartbeat, create: true } }\n";

fn lag_gate(on_stale: &str) -> String {
    format!(
        "{LAG}gates: {{ replication_lag: {{ threshold: 5s, on_stale: {on_stale}, stale_after: 1s, action: reject, trickle: 0 }} }}\n"
    )
}

/// The replica stops, is promoted, disappears, and comes back: each is its own state, and none is a lag of nothing.
#[test]
fn a_replica_that_is_not_one_just_now() {
    let cluster = cluster();
    table(&cluster);
    let tollgate = gated(&cluster, &lag_gate("closed"));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
    let why = |tollgate: &Tollgate| tollgate.gate("replication_lag")["unknown"].as_str().map(str::to_owned);
    let becomes = |raw: &mut crate::harness::Raw, expected: &str| {
        wait_until(expected, || why(&tollgate).as_deref() == Some(expected));
        until_refused(raw, WRITE, "replication_lag");
    };

    cluster.replica.root_sql("STOP REPLICA SQL_THREAD").expect("stopped");
    becomes(&mut raw, "stopped");
    cluster.replica.root_sql("START REPLICA SQL_THREAD").expect("started");
    until_passes(&mut raw, WRITE);

    cluster
        .replica
        .root_sql("STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 3600; START REPLICA")
        .expect("delayed");
    becomes(&mut raw, "no_server");
    cluster
        .replica
        .root_sql("STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0; START REPLICA")
        .expect("not delayed");
    until_passes(&mut raw, WRITE);

    cluster.replica.kill().expect("killed");
    becomes(&mut raw, "unreachable");
    cluster.replica.restart().expect("restarted");
    cluster.replica.root_sql("START REPLICA").expect("started");
    until_passes(&mut raw, WRITE);

    let status = "SELECT CONCAT_WS('|', HOST, PORT, USER) FROM performance_schema.replication_connection_configuration";
    assert!(!cluster.replica.root_sql(status).expect("a source").trim().is_empty());
    cluster.replica.root_sql("STOP REPLICA; RESET REPLICA ALL").expect("promoted");
    becomes(&mut raw, "not_a_replica");
    follow(&cluster.replica, &cluster.primary);
    until_passes(&mut raw, WRITE);
}

/// Makes it a replica of this primary.
pub(super) fn follow(replica: &sandbox::Server, primary: &sandbox::Server) {
    let port = primary.port();
    let sql = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='repl', SOURCE_PASSWORD='repl-pw',
         SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1; START REPLICA"
    );
    replica.root_sql(&sql).expect("a replica");
}

/// Beats that cannot be written say nothing about lag.
#[test]
fn the_heartbeat_writer_stops() {
    let cluster = cluster();
    table(&cluster);
    let tollgate = gated(&cluster, &lag_gate("closed"));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
    let mut locker = crate::harness::Raw::login(cluster.primary.address(), APP);
    assert_eq!(run(&mut locker, "LOCK TABLES tollgate.heartbeat READ"), Answer::Done);
    tollgate.await_gate("replication_lag", "stale");
    assert_eq!(run(&mut locker, "UNLOCK TABLES"), Answer::Done);
    tollgate.await_gate("replication_lag", "open");
}

/// The proxy starts while the database is down, and works when it is up.
#[test]
fn a_start_without_a_database() {
    let cluster = cluster();
    table(&cluster);
    cluster.primary.stop().expect("stopped");
    let tollgate = gated(&cluster, &lag_gate("closed"));
    tollgate.await_gate("replication_lag", "stale");
    cluster.primary.restart().expect("restarted");
    wait_until("the proxy to be ready", || tollgate.get("/readyz").0 == 200);
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
}
