//! Replication lag that is real: the replica's applier waits for a lock.

use sandbox::{APP, ETL};

use super::{cluster, gated, is_refused_by, login, until_passes, until_refused};
use crate::harness::{Raw, wait_until};
use crate::rules::{Answer, run};

const HEARTBEAT: &str = "probe: { PROBE, heartbeat: { table: tollgate.heartbeat, create: true } }\n\
    defaults: { reject_pause: 0s }\n";
const NO_HEARTBEAT: &str = "probe: { PROBE }\ndefaults: { reject_pause: 0s }\n";

/// Holds up the replica's applier until it is dropped.
struct Locked(Raw);

impl Locked {
    fn new(cluster: &sandbox::Cluster) -> Locked {
        let mut raw = Raw::login(cluster.replica.address(), APP);
        assert_eq!(run(&mut raw, "FLUSH TABLES WITH READ LOCK"), Answer::Done);
        Locked(raw)
    }

    fn release(mut self) {
        assert_eq!(run(&mut self.0, "UNLOCK TABLES"), Answer::Done);
    }
}

/// Over its threshold writes, calls and what cannot be parsed stop, and reads and COMMIT pass; and again when it is over.
fn stops_writes(probe: &str, control: &str) {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.lagging (a INT); DROP PROCEDURE IF EXISTS test.lags; CREATE PROCEDURE test.lags() SELECT 1").expect("a table");
    let gate = format!(
        "gates: {{ replication_lag: {{ threshold: 500ms, control: {control}, action: reject, trickle: 0 }} }}\n"
    );
    let tollgate = gated(&cluster, &format!("{probe}{gate}"));
    let (mut raw, mut other) = (login(&tollgate, APP), login(&tollgate, ETL));
    let write = "INSERT INTO test.lagging VALUES (1)";
    until_passes(&mut raw, write);
    let locked = Locked::new(&cluster);
    // Lag shows only if there is something to apply: somebody writes past the proxy.
    cluster.primary.root_sql(write).expect("a write");
    until_refused(&mut raw, write, "replication_lag");
    for (sql, passes) in [
        ("SELECT COUNT(*) FROM test.lagging", true),
        ("SET @a = 1", true),
        ("COMMIT", true),
        ("CALL test.lags()", false),
        ("SELECT a FROM test.lagging FOR UPDATE", false),
        ("GIBBERISH", false),
        ("ALTER TABLE test.lagging COMMENT 'x'", false),
    ] {
        if passes {
            assert_eq!(run(&mut other, sql), Answer::Done, "{sql}");
        } else {
            until_refused(&mut other, sql, "replication_lag");
        }
    }
    locked.release();
    until_passes(&mut raw, write);
}

#[test]
fn by_heartbeat() {
    stops_writes(HEARTBEAT, "paced");
}

#[test]
fn by_heartbeat_open_or_closed() {
    stops_writes(HEARTBEAT, "binary");
}

#[test]
fn without_a_heartbeat() {
    stops_writes(NO_HEARTBEAT, "permits");
}

/// Lag fine and threads_running over: reads and writes stop; and neither when both are in order.
#[test]
fn all_metrics_together() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.together (a INT)").expect("a table");
    let tollgate = gated(
        &cluster,
        &format!(
            "{HEARTBEAT}gates: {{ replication_lag: {{ threshold: 5s, action: reject }}, \
             threads_running: {{ threshold: 30, control: binary, action: reject, trickle: 0 }} }}\n"
        ),
    );
    let mut raw = login(&tollgate, APP);
    let (read, write) = ("SELECT COUNT(*) FROM test.together", "INSERT INTO test.together VALUES (1)");
    until_passes(&mut raw, read);
    until_passes(&mut raw, write);
    let mut busy: Vec<Raw> = (0..40).map(|_| Raw::login(cluster.primary.address(), APP)).collect();
    busy.iter_mut().for_each(|raw| raw.command(0x03, b"SELECT SLEEP(600)"));
    until_refused(&mut raw, read, "threads_running");
    until_refused(&mut raw, write, "threads_running");
    assert_eq!(run(&mut raw, "SELECT 1"), Answer::Done, "what is free is free");
    let kill = "SELECT GROUP_CONCAT('KILL QUERY ', PROCESSLIST_ID SEPARATOR ';') FROM performance_schema.threads \
                WHERE PROCESSLIST_INFO = 'SELECT SLEEP(600)'";
    let kills = cluster.primary.root_sql(&format!("SET SESSION group_concat_max_len = 100000; {kill}")).expect("ids");
    // One may have ended meanwhile.
    let _ = cluster.primary.root_sql(kills.trim());
    until_passes(&mut raw, read);
    until_passes(&mut raw, write);
}

/// The heartbeat's own table is written whatever the gate says, and so is that of pt-heartbeat.
#[test]
fn heartbeats_are_never_held() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE DATABASE IF NOT EXISTS percona; CREATE TABLE IF NOT EXISTS percona.heartbeat (id INT PRIMARY KEY, ts VARCHAR(26))").expect("a table");
    let tollgate = gated(
        &cluster,
        &format!("{HEARTBEAT}gates: {{ replication_lag: {{ threshold: 500ms, action: reject, trickle: 0 }} }}\n"),
    );
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, "REPLACE INTO percona.heartbeat VALUES (1, NOW(6))");
    let locked = Locked::new(&cluster);
    cluster.primary.root_sql("REPLACE INTO percona.heartbeat VALUES (2, NOW(6))").expect("a write");
    until_refused(&mut raw, "CREATE TABLE test.never_made (a INT)", "replication_lag");
    assert_eq!(run(&mut raw, "REPLACE INTO percona.heartbeat VALUES (1, NOW(6))"), Answer::Done);
    let joined = "REPLACE INTO percona.heartbeat SELECT 3, v FROM test.nothing_such";
    assert!(is_refused_by(&run(&mut raw, joined), "replication_lag"), "what touches another table is no heartbeat");
    locked.release();
}

/// A rule may be stricter for some, and skip the gate for others.
#[test]
fn thresholds_and_exemptions_of_rules() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.ruled (a INT)").expect("a table");
    let tollgate = gated(
        &cluster,
        &format!(
            "{HEARTBEAT}gates: {{ replication_lag: {{ threshold: 60s, action: reject }} }}\nrules:\n\
             - {{ id: strict, match: {{ user: etl }}, do: {{ thresholds: {{ replication_lag: 500ms }} }}, permanent: true }}\n"
        ),
    );
    let write = "INSERT INTO test.ruled VALUES (1)";
    let (mut app, mut etl) = (login(&tollgate, APP), login(&tollgate, ETL));
    until_passes(&mut etl, write);
    let locked = Locked::new(&cluster);
    cluster.primary.root_sql(write).expect("a write");
    until_refused(&mut etl, write, "replication_lag");
    assert_eq!(run(&mut app, write), Answer::Done, "others have the gate's own threshold");
    tollgate.add_rule(&serde_json::json!({
        "id": "skips", "match": { "user": "etl" }, "do": { "skip_gates": ["replication_lag"] },
        "for": "1h", "reason": "test", "priority": 10
    }));
    wait_until("the rule that skips the gate", || run(&mut etl, write) == Answer::Done);
    locked.release();
}
