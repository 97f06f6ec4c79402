//! Clocks that are set, both ways: ours, and the servers'. A monotonic clock is never set.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sandbox::{APP, Cluster, ETL, Options, Server};
use serde_json::json;

use super::lag::{HEARTBEAT, Locked, NO_HEARTBEAT};
use super::{allow, beats, before, cluster, gated, login, until_passes, until_refused};
use crate::harness::{Raw, Tollgate, WallClock, skipped, wait_until};
use crate::rules::{Answer, run};

const WRITE: &str = "INSERT INTO test.jumps VALUES (1)";
const READ: &str = "SELECT COUNT(*) FROM test.jumps";
const GATE: &str =
    "gates: { replication_lag: { threshold: 3s, on_stale: closed, stale_after: 2s, action: reject, trickle: 0 } }\n";

const DAY: i64 = 86_400;

fn table(cluster: &Cluster) {
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.jumps (a INT)").expect("a table");
}

/// Beats are written and read, and everything passes.
fn is_undisturbed(cluster: &Cluster, raw: &mut Raw, when: &str) {
    let before = beats(cluster);
    wait_until("more beats", || {
        assert_eq!(run(raw, WRITE), Answer::Done, "{when}");
        beats(cluster) >= before + 8
    });
}

/// And lag that is real is seen.
fn closes_and_opens(cluster: &Cluster, raw: &mut Raw) {
    let locked = Locked::new(cluster);
    cluster.primary.root_sql(WRITE).expect("a write");
    until_refused(raw, WRITE, "replication_lag");
    locked.release();
    until_passes(raw, WRITE);
}

#[test]
fn our_clock_jumps_both_ways() {
    let Some(clock) = WallClock::new("our clock that jumps") else { return };
    let cluster = cluster();
    table(&cluster);
    let words: Vec<String> = clock.environment().iter().map(|(name, value)| format!("{name}={value}")).collect();
    let program: Vec<&str> = std::iter::once("env").chain(words.iter().map(String::as_str)).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let tollgate = Tollgate::start_under(folder, &program, &before(&cluster, &format!("{HEARTBEAT}{GATE}")));
    let (mut app, mut etl) = (login(&tollgate, APP), login(&tollgate, ETL));
    until_passes(&mut app, WRITE);
    let stop_etl = |id: &str| {
        tollgate.add_rule(&json!({ "id": id, "match": { "user": "etl" }, "do": { "rejection_ratio": 1 },
            "for": "1h", "reason": format!("for {id}") }));
    };
    stop_etl("first");
    assert!(run(&mut etl, READ).is_refused());

    // A rule ends when the clock says so, and does not come back with the hour.
    clock.is_ahead_by(DAY);
    is_undisturbed(&cluster, &mut app, "a day ahead");
    assert_eq!(run(&mut etl, READ), Answer::Done, "the rule has ended");
    wait_until("it is said", || tollgate.log().contains("a rule has expired"));
    clock.is_ahead_by(0);
    is_undisturbed(&cluster, &mut app, "a day back");
    assert_eq!(run(&mut etl, READ), Answer::Done, "what has ended stays so");

    // Behind, it has not ended yet.
    stop_etl("second");
    for ahead in [-DAY, 0] {
        clock.is_ahead_by(ahead);
        is_undisturbed(&cluster, &mut app, "a day behind, and right again");
        assert!(run(&mut etl, READ).is_refused(), "{ahead}");
    }
    clock.is_ahead_by(-DAY);
    closes_and_opens(&cluster, &mut app);
}

/// A primary and a replica, each with a clock of its own. `None`: they have not, which is said.
fn with_clocks() -> Option<(Cluster, WallClock, WallClock)> {
    let whose = "a server's clock that jumps";
    let (of_primary, of_replica) = (WallClock::new(whose)?, WallClock::new(whose)?);
    let options = |clock: &WallClock| Options::mysql().environment(clock.environment());
    let cluster = Cluster::with_options(options(&of_primary), options(&of_replica)).expect("a primary and a replica");
    for (server, clock) in [(&cluster.primary, &of_primary), (&cluster.replica, &of_replica)] {
        clock.is_ahead_by(DAY);
        if !is_ahead_by(seconds(server), DAY) {
            skipped(whose, "its program does not take it, as in a container");
            return None;
        }
        clock.is_ahead_by(0);
    }
    allow(&cluster);
    table(&cluster);
    Some((cluster, of_primary, of_replica))
}

fn seconds(server: &Server) -> f64 {
    server.root_sql("SELECT UNIX_TIMESTAMP(NOW(6))").expect("a time").trim().parse().expect("a number")
}

fn is_ahead_by(seconds: f64, ahead: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs_f64();
    (seconds - now - ahead as f64).abs() < 300.0
}

/// Of lag that is real, so that there is an age to be mistaken in at every look.
const LONG: &str = "gates: { replication_lag: { threshold: 10m, control: binary, on_stale: closed, stale_after: 2s, \
    action: reject, trickle: 0 } }\n";

#[test]
fn a_servers_clock_jumps_both_ways() {
    let Some((cluster, of_primary, of_replica)) = with_clocks() else { return };
    let tollgate = gated(&cluster, &format!("{HEARTBEAT}{LONG}"));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
    let lag = || tollgate.gate("replication_lag")["value"].as_f64();
    let locked = Locked::new(&cluster);
    wait_until("some lag", || lag().is_some_and(|lag| lag > 1.0));
    for (clock, whose) in [(&of_primary, "the primary's"), (&of_replica, "the replica's")] {
        for ahead in [DAY, -DAY, 0] {
            clock.is_ahead_by(ahead);
            is_undisturbed(&cluster, &mut raw, &format!("{whose} clock is ahead by {ahead} s"));
        }
    }
    of_primary.is_ahead_by(DAY);
    of_replica.is_ahead_by(-DAY);
    is_undisturbed(&cluster, &mut raw, "two days apart");
    assert!(lag().is_some_and(|lag| lag > 1.0));
    locked.release();
    wait_until("the replica to have caught up", || lag().is_some_and(|lag| lag < 1.0));
    drop(tollgate);
    of_primary.is_ahead_by(0);
    of_replica.is_ahead_by(0);
    without_a_heartbeat(&cluster, &of_replica);
}

/// Ages go by the servers' clocks: wrong by the jump, until the clocks have been compared anew.
fn without_a_heartbeat(cluster: &Cluster, of_replica: &WallClock) {
    let gate = "gates: { replication_lag: { threshold: 10m, control: binary, action: reject, trickle: 0 } }\n\
        metrics: { clock: { sql: \"SELECT UNIX_TIMESTAMP(NOW(6))\", on: replicas, interval: 100ms } }\n";
    let tollgate = gated(cluster, &format!("{NO_HEARTBEAT}{gate}"));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
    let lags = || {
        let gate = tollgate.gate("replication_lag");
        let lag = gate["value"].as_f64().filter(|lag| *lag > 0.0 && *lag < 600.0);
        lag.and_then(|_| gate["age_ms"].as_u64()).map(Duration::from_millis)
    };
    // Something that is never applied, so that there is an age at every look.
    let locked = Locked::new(cluster);
    cluster.primary.root_sql(WRITE).expect("a write");
    wait_until("some lag", || lags().is_some());
    for ahead in [DAY, -DAY, 0] {
        of_replica.is_ahead_by(ahead);
        let clock = || value(&tollgate, "clock").is_some_and(|seconds| is_ahead_by(seconds, ahead));
        wait_until("the proxy to have seen its clock", clock);
        let seen = Instant::now();
        wait_until("the lag to be right again", || lags().is_some_and(|age| age < seen.elapsed()));
        until_passes(&mut raw, WRITE);
    }
    locked.release();
}

/// What a metric has been measured as, on any server.
fn value(tollgate: &Tollgate, metric: &str) -> Option<f64> {
    let gates = tollgate.gates();
    let found = gates["metrics"].as_array()?.iter().find(|found| found["metric"] == metric)?;
    found["value"].as_f64()
}
