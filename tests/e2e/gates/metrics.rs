//! Numbers from elsewhere: replicas that nobody listed, a page, and the proxy's own traffic.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sandbox::{APP, ETL};

use super::lag::Locked;
use super::{
    before, cluster, everything_is_known, gated, login, printed_grants, until_passes, until_refused, while_they_run,
};
use crate::harness::{Raw, Tollgate, wait_until};
use crate::rules::{Answer, run};

/// The primary says who follows it, to the user that `tollgate grants` makes; and that one's lag closes the gate.
#[test]
fn a_replica_that_is_discovered() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.discovered (a INT)").expect("a table");
    let yaml = "probe: { user: e2e_finder, password: e2e-finder-pw, heartbeat: e2e_finder.heartbeat }\n\
         gates: { replication_lag: { threshold: 1s, on_stale: closed, action: reject, trickle: 0 } }\n";
    let listed = format!("[\"{}\"]", cluster.replica.address());
    let yaml = before(&cluster, yaml).replace(&listed, "discover");
    let printed = printed_grants(&yaml, &[]).replace("<password>", "'e2e-finder-pw'");
    cluster.primary.root_sql("DROP USER IF EXISTS e2e_finder@'%'").expect("nobody yet");
    cluster.primary.root_sql(&printed).expect("the printed statements");
    everything_is_known(&yaml, &cluster);

    let tollgate = Tollgate::start(&yaml);
    let mut raw = login(&tollgate, APP);
    let write = "INSERT INTO test.discovered VALUES (1)";
    until_passes(&mut raw, write);
    let locked = Locked::new(&cluster);
    cluster.primary.root_sql(write).expect("a write");
    tollgate.await_gate("replication_lag", "closed");
    until_refused(&mut raw, write, "replication_lag");
    locked.release();
    until_passes(&mut raw, write);
    drop(tollgate);
    cluster.primary.root_sql("DROP USER e2e_finder@'%'; DROP DATABASE e2e_finder").expect("nothing left");
}

/// A page that says this number.
fn page() -> (SocketAddr, Arc<Mutex<f64>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let number = Arc::new(Mutex::new(0.0));
    let says = Arc::clone(&number);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let body = says.lock().expect("a number").to_string();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    (address, number)
}

#[test]
fn a_page_closes_a_gate_and_opens_it() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.paged (a INT)").expect("a table");
    let (address, number) = page();
    let tollgate = gated(
        &cluster,
        &format!(
            "probe: {{ PROBE }}\nmetrics: {{ storage: {{ http: \"http://{address}/load\", interval: 100ms }} }}\n\
             gates: {{ storage: {{ threshold: 10, on_stale: closed, classes: [write], action: reject, trickle: 0 }} }}\n"
        ),
    );
    let mut raw = login(&tollgate, APP);
    let write = "INSERT INTO test.paged VALUES (1)";
    until_passes(&mut raw, write);
    *number.lock().expect("a number") = 10.5;
    until_refused(&mut raw, write, "storage");
    assert_eq!(tollgate.gate("storage")["value"], 10.5);
    assert_eq!(run(&mut raw, "SELECT COUNT(*) FROM test.paged"), Answer::Done);
    // Under the threshold, and not yet by a fifth.
    *number.lock().expect("a number") = 8.5;
    wait_until("the gate to see it", || tollgate.gate("storage")["value"] == 8.5);
    assert_eq!(tollgate.gate("storage")["state"], "closed");
    until_refused(&mut raw, write, "storage");
    *number.lock().expect("a number") = 7.5;
    until_passes(&mut raw, write);
}

/// Neither a page nor the load of this machine is asked of a server: there is no `probe`, and their gates act all the same.
#[test]
fn what_asks_no_server_needs_no_probe_user() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.unprobed (a INT)").expect("a table");
    let write = "INSERT INTO test.unprobed VALUES (1)";
    let (address, number) = page();
    let tollgate = gated(
        &cluster,
        &format!(
            "metrics: {{ storage: {{ http: \"http://{address}/load\", interval: 100ms }} }}\n\
             gates: {{ storage: {{ threshold: 10, on_stale: closed, classes: [write], action: reject, trickle: 0 }} }}\n"
        ),
    );
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, write);
    *number.lock().expect("a number") = 10.5;
    until_refused(&mut raw, write, "storage");
    *number.lock().expect("a number") = 7.5;
    until_passes(&mut raw, write);
    let seen = tollgate.gates();
    assert_eq!((&seen["asleep"], &seen["servers"]), (&false.into(), &serde_json::json!([])), "{seen:#}");
    drop(tollgate);

    let loaded = "gates: { load_average: { threshold: 0.0001, classes: [write], action: reject, trickle: 0 } }\n";
    until_refused(&mut login(&gated(&cluster, loaded), APP), write, "load_average");
}

const ON_COMMITS: &str = "probe: { PROBE }\ngates: { commit_delay: { threshold: 200ms, control: binary, match: { user: app }, \
    action: reject, trickle: 0 } }\n";

/// Commits take long, and nobody asked a server: the proxy timed them. Who is not concerned makes them.
#[test]
fn slow_commits_stop_writes() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.slow (a INT)").expect("a table");
    let tollgate = gated(&cluster, ON_COMMITS);
    let mut raw = login(&tollgate, APP);
    let (read, write) = ("SELECT COUNT(*) FROM test.slow", "INSERT INTO test.slow VALUES (1)");
    until_passes(&mut raw, write);
    let slow = (0..4).map(|_| login(&tollgate, ETL)).collect();
    while_they_run(slow, "INSERT INTO test.slow SELECT SLEEP(0.4)", |_| {
        // Not by writing: quick ones would be most of what is measured.
        tollgate.await_gate("commit_delay", "closed");
        until_refused(&mut raw, write, "commit_delay");
        assert_eq!(run(&mut raw, read), Answer::Done, "reads commit nothing");
    });
    // Nothing commits: there is nothing to measure, and nothing speaks against more.
    until_passes(&mut raw, write);
}

/// Commits that do not come back at all are not nothing to measure.
#[test]
fn commits_that_hang_stop_writes() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.slow (a INT)").expect("a table");
    let tollgate = gated(&cluster, ON_COMMITS);
    let mut raw = login(&tollgate, APP);
    let write = "INSERT INTO test.slow VALUES (1)";
    until_passes(&mut raw, write);
    let mut held = Raw::login(cluster.primary.address(), APP);
    assert_eq!(run(&mut held, "FLUSH TABLES WITH READ LOCK"), Answer::Done);
    let hang = (0..3).map(|_| login(&tollgate, ETL)).map(|mut raw| std::thread::spawn(move || run(&mut raw, write)));
    let hang: Vec<_> = hang.collect();
    // Before, it was closed for nobody: what has not ended was not measured.
    wait_until("a delay that grows", || {
        let gate = tollgate.gate("commit_delay");
        gate["state"] == "closed" && gate["value"].as_f64().is_some_and(|delay| delay > 2.0)
    });
    until_refused(&mut raw, write, "commit_delay");
    assert_eq!(run(&mut held, "UNLOCK TABLES"), Answer::Done);
    for raw in hang {
        assert_eq!(raw.join().expect("a thread"), Answer::Done);
    }
    until_passes(&mut raw, write);
}

/// How long statements take is told by class, and commits by themselves. There is no gate, and no probe user.
#[test]
fn statements_are_timed_by_class() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.timed (a INT)").expect("a table");
    let tollgate = gated(&cluster, "");
    let mut raw = login(&tollgate, APP);
    let of = |class: &str| {
        let gates = tollgate.gates();
        let mut latencies = gates["latencies"].as_array().expect("latencies").iter();
        latencies.find(|took| took["of"] == class).cloned()
    };
    for (class, sql) in [
        ("read", "SELECT SLEEP(0.1)"),
        ("write", "INSERT INTO test.timed SELECT SLEEP(0.1)"),
        ("commit", "INSERT INTO test.timed SELECT SLEEP(0.1)"),
    ] {
        // Of the last second, so that there must be some in it.
        wait_until(&format!("{class} to be timed"), || {
            assert_eq!(run(&mut raw, sql), Answer::Done);
            of(class).is_some_and(|took| {
                let seconds = |key: &str| took[key].as_f64().expect("seconds");
                // Told to an eighth.
                took["count"].as_u64() > Some(0) && seconds("p50") > 0.09 && seconds("p99") >= seconds("p50")
            })
        });
    }
}

/// As many at once as the threshold bears, which the gate finds: then the server runs no more than that, and all get on.
#[test]
fn threads_running_gives_permits() {
    const THRESHOLD: usize = 20;
    let cluster = cluster();
    // The control is the metric's usual one.
    let tollgate = gated(
        &cluster,
        &format!("probe: {{ PROBE }}\ngates: {{ threads_running: {{ threshold: {THRESHOLD}, max_delay: 10m }} }}\n"),
    );
    let running = "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_INFO LIKE 'SELECT SLEEP(.05)%'";
    let running = || cluster.primary.root_sql(running).expect("a count").trim().parse::<usize>().expect("a number");
    let gives_permits = || {
        let gate = tollgate.gate("threads_running");
        gate["state"] == "limiting" && gate["flow"].as_str().is_some_and(|flow| flow.ends_with(" at once"))
    };
    let crowd = (0..60).map(|_| login(&tollgate, ETL)).collect();
    while_they_run(crowd, "SELECT SLEEP(.05)", |done| {
        // Sixty come at once, which closes it, and it opens by steps again; when it does not come to its threshold in twice the
        // time that this takes, it has found its number.
        let mut since = Instant::now();
        wait_until("a number at once to be found", || {
            if !gives_permits() || running() > THRESHOLD {
                since = Instant::now();
            }
            since.elapsed() > Duration::from_secs(4)
        });
        let before = done.load(Ordering::Relaxed);
        let seen: Vec<usize> = (0..100).map(|_| running()).collect();
        let over = seen.iter().filter(|running| **running > THRESHOLD).count();
        assert!(over <= 10, "{over} of {seen:?}");
        wait_until("more to have had their turn than there are", || done.load(Ordering::Relaxed) > before + 60);
    });
}

/// A gate on one of the servers' own numbers that concerns the application alone: another user moves it.
fn on(cluster: &sandbox::Cluster, metric: &str, threshold: &str, more: &str) -> Tollgate {
    let gate = format!(
        "{metric}: {{ threshold: {threshold}, control: binary, classes: [write], match: {{ user: app }}, \
         action: reject, trickle: 0 }}"
    );
    gated(cluster, &format!("probe: {{ PROBE }}\n{more}gates: {{ {gate} }}\n"))
}

#[test]
fn lock_waits_stop_writes() {
    let cluster = cluster();
    let table =
        "CREATE TABLE IF NOT EXISTS test.waited_for (a INT PRIMARY KEY); REPLACE INTO test.waited_for VALUES (1)";
    cluster.primary.root_sql(table).expect("a table");
    let tollgate = on(&cluster, "lock_waits", "0.5", "");
    let (mut app, mut holds, mut waits) = (login(&tollgate, APP), login(&tollgate, ETL), login(&tollgate, ETL));
    let write = "INSERT INTO test.waited_for VALUES (2) ON DUPLICATE KEY UPDATE a = a";
    until_passes(&mut app, write);
    let lock = "UPDATE test.waited_for SET a = 1 WHERE a = 1";
    assert_eq!(run(&mut holds, "BEGIN"), Answer::Done);
    assert_eq!(run(&mut holds, lock), Answer::Done);
    assert_eq!(run(&mut holds, "SELECT * FROM test.waited_for WHERE a = 1 FOR UPDATE"), Answer::Done);
    waits.command(0x03, b"UPDATE test.waited_for SET a = 3 WHERE a = 1");
    until_refused(&mut app, write, "lock_waits");
    assert_eq!(run(&mut holds, "ROLLBACK"), Answer::Done);
    until_passes(&mut app, write);
}

#[test]
fn a_long_history_stops_writes() {
    let cluster = cluster();
    let table =
        "CREATE TABLE IF NOT EXISTS test.history (a INT PRIMARY KEY, b INT); REPLACE INTO test.history VALUES (1, 0)";
    cluster.primary.root_sql(table).expect("a table");
    let tollgate = on(&cluster, "history_list_length", "1000", "");
    let (mut app, mut old) = (login(&tollgate, APP), login(&tollgate, ETL));
    let write = "INSERT INTO test.history VALUES (2, 2) ON DUPLICATE KEY UPDATE b = 2";
    until_passes(&mut app, write);
    // Nothing that has changed since can be forgotten.
    assert_eq!(run(&mut old, "START TRANSACTION WITH CONSISTENT SNAPSHOT"), Answer::Done);
    assert_eq!(run(&mut old, "SELECT * FROM test.history"), Answer::Done);
    cluster.primary.root_sql(&"UPDATE test.history SET b = b + 1 WHERE a = 1;".repeat(1500)).expect("changes");
    until_refused(&mut app, write, "history_list_length");
    assert_eq!(run(&mut old, "COMMIT"), Answer::Done);
    wait_until("the history to be forgotten", || {
        // A server where nothing changes forgets nothing either.
        cluster.primary.root_sql("UPDATE test.history SET b = b + 1 WHERE a = 1").expect("a change");
        run(&mut app, write) == Answer::Done
    });
}

#[test]
fn a_long_queue_and_a_loaded_host_stop_writes() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.queued (a INT)").expect("a table");
    let write = "INSERT INTO test.queued VALUES (1)";
    let held = "rules: [{ id: wait, match: { user: etl }, do: { hold: true }, max_delay: 10m, permanent: true, reason: test }]\n";
    let tollgate = on(&cluster, "queue_length", "3.5", held);
    let mut app = login(&tollgate, APP);
    until_passes(&mut app, write);
    let mut queue: Vec<_> = (0..5).map(|_| login(&tollgate, ETL)).collect();
    queue.iter_mut().for_each(|raw| raw.command(0x03, write.as_bytes()));
    until_refused(&mut app, write, "queue_length");
    drop(queue);
    until_passes(&mut app, write);

    // The servers are on this machine, and somebody runs tests on it.
    let tollgate = on(&cluster, "load_average", "0.0001", "");
    until_refused(&mut login(&tollgate, APP), write, "load_average");
}
