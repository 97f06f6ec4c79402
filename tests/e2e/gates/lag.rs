//! Replication lag that is real: the replica's applier waits for a lock.

use std::sync::atomic::Ordering;
use std::time::Instant;

use sandbox::{APP, Cluster, ETL};

use super::{beats, cluster, gated, is_refused_by, login, until_passes, until_refused, while_they_run};
use crate::harness::{Raw, Tollgate, wait_until};
use crate::rules::{Answer, run};

pub(super) const HEARTBEAT: &str = "probe: { PROBE, heartbeat: { table: tollgate.heartbeat, create: true } }\n\
    defaults: { reject_pause: 0s }\n";
pub(super) const NO_HEARTBEAT: &str = "probe: { PROBE }\ndefaults: { reject_pause: 0s }\n";

/// Holds up the replica's applier until it is dropped.
pub(super) struct Locked(Raw);

impl Locked {
    pub(super) fn new(cluster: &Cluster) -> Locked {
        let mut raw = Raw::login(cluster.replica.address(), APP);
        assert_eq!(run(&mut raw, "FLUSH TABLES WITH READ LOCK"), Answer::Done);
        Locked(raw)
    }

    pub(super) fn release(mut self) {
        assert_eq!(run(&mut self.0, "UNLOCK TABLES"), Answer::Done);
    }
}

/// Over its threshold writes, calls and what cannot be parsed stop, and reads and COMMIT pass; and again when it is over.
pub(super) fn stops_writes(cluster: &Cluster, probe: &str, control: &str) {
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.lagging (a INT); DROP PROCEDURE IF EXISTS test.lags; CREATE PROCEDURE test.lags() SELECT 1").expect("a table");
    let gate = format!(
        "gates: {{ replication_lag: {{ threshold: 500ms, control: {control}, action: reject, trickle: 0 }} }}\n"
    );
    let tollgate = gated(cluster, &format!("{probe}{gate}"));
    let (mut raw, mut other) = (login(&tollgate, APP), login(&tollgate, ETL));
    let write = "INSERT INTO test.lagging VALUES (1)";
    until_passes(&mut raw, write);
    let locked = Locked::new(cluster);
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
    stops_writes(&cluster(), HEARTBEAT, "paced");
}

#[test]
fn by_heartbeat_open_or_closed() {
    stops_writes(&cluster(), HEARTBEAT, "binary");
}

#[test]
fn without_a_heartbeat() {
    stops_writes(&cluster(), NO_HEARTBEAT, "permits");
}

/// The backlog follows from the lag that the replica shows: far under the threshold writes are held back already, and go at a pace.
#[test]
fn paced_without_a_heartbeat() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.paced (a INT)").expect("a table");
    let tollgate = gated(
        &cluster,
        &format!("{NO_HEARTBEAT}gates: {{ replication_lag: {{ threshold: {THRESHOLD}s, max_delay: 10m }} }}\n"),
    );
    let write = "INSERT INTO test.paced VALUES (1)";
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, write);
    tollgate.await_gate("replication_lag", "open");
    let locked = Locked::new(&cluster);
    // One after the other with a look in between is no crowd: it is the lag that limits them.
    wait_until("the gate to hold back", || {
        assert_eq!(run(&mut raw, write), Answer::Done);
        tollgate.gate("replication_lag")["state"] == "limiting"
    });
    let lag = is_limiting_below(&tollgate, THRESHOLD);
    let writers = (0..8).map(|_| login(&tollgate, ETL)).collect();
    while_they_run(writers, write, |written| {
        let start = Instant::now();
        wait_until("writers to wait for two seconds", || {
            tollgate.counted("held") >= 50 && is_limiting_below(&tollgate, THRESHOLD) >= lag + 2.0
        });
        // Of a replica that has never been behind 200 a second are believed; the primary takes thousands.
        let (written, most) = (written.load(Ordering::Relaxed), 100.0 + 300.0 * start.elapsed().as_secs_f64());
        assert!((written as f64) < most, "{written} writes, where {most} would be too many");
        locked.release();
    });
    until_passes(&mut raw, write);
}

/// Seconds.
const THRESHOLD: f64 = 20.0;

/// The value of a gate that has a pace though its threshold is far.
fn is_limiting_below(tollgate: &Tollgate, threshold: f64) -> f64 {
    let gate = tollgate.gate("replication_lag");
    assert_eq!(gate["state"], "limiting", "{gate}");
    assert!(gate["flow"].as_str().is_some_and(|flow| flow.starts_with("paced ")), "{gate}");
    gate["value"].as_f64().filter(|lag| *lag < threshold).unwrap_or_else(|| panic!("{gate}"))
}

/// Each gate stops what it concerns, whatever the others say: a crowd stops everything, lag what may write, a gate that nobody knows
/// anything of does what it was told, and connections that are there and not too many stop nothing.
#[test]
fn all_metrics_together() {
    let cluster = cluster();
    cluster
        .primary
        .root_sql(
            "CREATE TABLE IF NOT EXISTS test.together (a INT); DROP PROCEDURE IF EXISTS test.gather; CREATE PROCEDURE test.gather() SELECT 1;
             DROP TABLE IF EXISTS test.unknown_together; CREATE TABLE test.unknown_together (v INT); INSERT INTO test.unknown_together VALUES (1)",
        )
        .expect("a table");
    let tollgate = gated(
        &cluster,
        &format!(
            "{HEARTBEAT}metrics: {{ own: {{ sql: \"SELECT v FROM test.unknown_together\", interval: 100ms }} }}\n\
             gates: {{ replication_lag: {{ threshold: 2s, control: binary, action: reject, trickle: 0 }}, \
             threads_running: {{ threshold: 30, control: binary, action: reject, trickle: 0 }}, \
             connections_used: {{ threshold: 90%, trickle: 0 }}, \
             own: {{ threshold: 10, control: binary, classes: [ddl], on_stale: closed, stale_after: 1s, action: reject, trickle: 0 }} }}\n"
        ),
    );
    let mut raw = login(&tollgate, APP);
    let (read, write) = ("SELECT COUNT(*) FROM test.together", "INSERT INTO test.together VALUES (1)");
    let (call, unparsed, ddl) = ("CALL test.gather()", "GIBBERISH", "ALTER TABLE test.together COMMENT 'x'");
    let all_pass = |raw: &mut Raw| {
        for sql in [read, write, call, ddl] {
            until_passes(raw, sql);
        }
    };
    all_pass(&mut raw);

    // Lag is fine, and too many run.
    let mut busy: Vec<Raw> = (0..40).map(|_| Raw::login(cluster.primary.address(), APP)).collect();
    busy.iter_mut().for_each(|raw| raw.command(0x03, b"SELECT SLEEP(600)"));
    for sql in [read, write, call, unparsed, ddl] {
        until_refused(&mut raw, sql, "threads_running");
    }
    assert_eq!(run(&mut raw, "SELECT 1"), Answer::Done, "what is free is free");
    let kill = "SELECT GROUP_CONCAT('KILL QUERY ', PROCESSLIST_ID SEPARATOR ';') FROM performance_schema.threads \
                WHERE PROCESSLIST_INFO = 'SELECT SLEEP(600)'";
    let kills = cluster.primary.root_sql(&format!("SET SESSION group_concat_max_len = 100000; {kill}")).expect("ids");
    // One may have ended meanwhile.
    let _ = cluster.primary.root_sql(kills.trim());
    all_pass(&mut raw);

    // Few run, and there is lag.
    let locked = Locked::new(&cluster);
    cluster.primary.root_sql(write).expect("a write");
    for sql in [write, call, unparsed, ddl] {
        until_refused(&mut raw, sql, "replication_lag");
        assert_eq!(run(&mut raw, read), Answer::Done, "reads do no harm");
    }
    locked.release();
    all_pass(&mut raw);

    // Both are fine, and one is not known.
    cluster.primary.root_sql("UPDATE test.unknown_together SET v = NULL").expect("nothing known");
    until_refused(&mut raw, ddl, "own");
    // What the procedure does is not known: it may be DDL.
    until_refused(&mut raw, call, "own");
    for sql in [read, write] {
        assert_eq!(run(&mut raw, sql), Answer::Done, "{sql}");
    }
    cluster.primary.root_sql("UPDATE test.unknown_together SET v = 1").expect("known");
    all_pass(&mut raw);

    // Connections at 60 % of what the server takes.
    let number = |sql: &str| cluster.primary.root_sql(sql).expect("a number").trim().parse::<u64>().expect("a number");
    let most = number("SELECT @@max_connections");
    let connected =
        number("SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Threads_connected'");
    cluster.primary.root_sql(&format!("SET GLOBAL max_connections = {}", connected * 10 / 6)).expect("set");
    wait_until("60 % to be seen", || {
        tollgate.gate("connections_used")["value"].as_f64().is_some_and(|used| used > 0.5 && used < 0.7)
    });
    for sql in [read, write, call, ddl] {
        assert_eq!(run(&mut raw, sql), Answer::Done, "{sql}");
        assert_eq!(run(&mut login(&tollgate, APP), sql), Answer::Done, "{sql}, of a newcomer");
    }
    cluster.primary.root_sql(&format!("SET GLOBAL max_connections = {most}")).expect("set");
}

/// Nothing more comes from the source: by heartbeat that is lag.
#[test]
fn a_replica_that_has_lost_its_source_lags() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.lost (a INT)").expect("a table");
    let tollgate = gated(
        &cluster,
        &format!("{HEARTBEAT}gates: {{ replication_lag: {{ threshold: 1s, action: reject, trickle: 0 }} }}\n"),
    );
    let mut raw = login(&tollgate, APP);
    let write = "INSERT INTO test.lost VALUES (1)";
    until_passes(&mut raw, write);
    cluster.replica.root_sql("STOP REPLICA IO_THREAD").expect("stopped");
    // Below the threshold it is the pace that refuses.
    tollgate.await_gate("replication_lag", "closed");
    until_refused(&mut raw, write, "replication_lag");
    cluster.replica.root_sql("START REPLICA IO_THREAD").expect("started");
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

/// A lag is looked at ten times as finely as it is judged: a threshold of 1 s makes ten beats a second, one of 5 s four, as long as something
/// is committed. Where all only read, a beat would say nothing new, and one in four is enough. Fine looks at another metric make none.
#[test]
fn beats_are_as_frequent_as_somebody_needs_them() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.ruled (a INT)").expect("a table");
    let (read, write) = ("SELECT * FROM tollgate.heartbeat", "INSERT INTO test.ruled VALUES (1)");
    for (gate, sql, least, most) in [
        ("replication_lag: { threshold: 1s }", write, 6.0, 14.0),
        ("replication_lag: { threshold: 5s }", write, 2.5, 5.5),
        ("replication_lag: { threshold: 1s }", read, 1.5, 3.5),
        ("replication_lag: { threshold: 5s }", read, 0.6, 1.4),
        ("commit_delay: { threshold: 50ms }", write, 0.6, 1.4),
    ] {
        let tollgate = gated(&cluster, &format!("{HEARTBEAT}gates: {{ {gate} }}\n"));
        let mut raw = login(&tollgate, APP);
        tollgate.await_gate(gate.split(':').next().expect("a name"), "open");
        // Without traffic there are hardly any.
        let mut beats = || {
            assert_eq!(run(&mut raw, sql), Answer::Done);
            beats(&cluster)
        };
        let enough = if most < 5.0 { 3 } else { 8 };
        // On a busy machine a look may be late, and a beat too: it is enough that one second in many shows it.
        wait_until(&format!("{least} to {most} beats a second for {gate} and {sql}"), || {
            let (before, start) = (beats(), Instant::now());
            wait_until("more beats", || beats() >= before + enough);
            let rate = (beats() - before) as f64 / start.elapsed().as_secs_f64();
            rate > least && rate < most
        });
    }
}
