//! Many before one gate: users take turns, and nobody comes as a herd.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sandbox::{APP, ETL, Login};

use super::{Dial, cluster, gated, login, until_passes};
use crate::harness::{Tollgate, wait_until};
use crate::rules::{Answer, run};

const WRITE: &str = "INSERT INTO test.gated_crowd VALUES (1)";

/// What the crowd says of itself.
#[derive(Clone, Copy, PartialEq)]
enum Claims {
    Nothing,
    /// A name that nobody has had before, with every query.
    NewNames,
}

/// The 99th percentile of how long each of the few waited, beside a crowd of 200.
fn waited(tollgate: &Tollgate, few: Login, claims: Claims) -> Duration {
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let client = |login: Login, times: usize, claims: Claims| {
            let mut raw = super::login(tollgate, login);
            let stop = &stop;
            scope.spawn(move || {
                let mut waited = Vec::new();
                while waited.len() < times && !stop.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    let name = match claims {
                        Claims::Nothing => String::new(),
                        Claims::NewNames => {
                            format!("/*client='new-{}'*/ ", NAMES.fetch_add(1, Ordering::Relaxed))
                        }
                    };
                    let sql = format!("{name}INSERT INTO test.gated_crowd VALUES (2)");
                    assert_eq!(run(&mut raw, &sql), Answer::Done);
                    waited.push(start.elapsed());
                }
                waited
            })
        };
        let crowd: Vec<_> = (0..200).map(|_| client(ETL, usize::MAX, claims)).collect();
        wait_until("the crowd to wait", || tollgate.waiting() >= 190);
        let few: Vec<_> = (0..5).map(|_| client(few, 4, Claims::Nothing)).collect();
        let mut waited: Vec<Duration> = few.into_iter().flat_map(|client| client.join().expect("a client")).collect();
        stop.store(true, Ordering::Relaxed);
        crowd.into_iter().for_each(|client| drop(client.join()));
        waited.sort_unstable();
        waited[waited.len() * 99 / 100]
    })
}

/// 200 connections of one user against 5 of another at the same gate. What first come first served gives them is what they get
/// as five more of the same user. Names that a user claims share its turn.
#[test]
fn few_connections_do_not_wait_behind_many() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "fair");
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.gated_crowd (a INT)").expect("a table");
    let tollgate = gated(&cluster, &dial.yaml(", classes: [write], max_delay: 10m, trickle: 100/s"));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, WRITE);
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    let fifo = waited(&tollgate, ETL, Claims::Nothing);
    for claims in [Claims::Nothing, Claims::NewNames] {
        let fair = waited(&tollgate, APP, claims);
        eprintln!("p99 of the few: {fair:?}, first come first served: {fifo:?}");
        assert!(fair * 10 <= fifo, "fair {fair:?}, first come first served {fifo:?}");
    }
    let claimed = tollgate.clients().matches("new-").count();
    assert!(claimed > 100, "the crowd was to have many names, not {claimed}");
}

/// A hundred wait; the gate reopens; what runs grows by steps.
#[test]
fn nobody_comes_as_a_herd() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "herd");
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.gated_herd (a INT)").expect("a table");
    let yaml =
        dial.yaml(", classes: [write], max_delay: 10m, trickle: 0").replace("interval: 100ms", "interval: 500ms");
    let tollgate = gated(&cluster, &yaml);
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, "INSERT INTO test.gated_herd VALUES (0)");
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    let mut crowd: Vec<_> = (0..100).map(|_| login(&tollgate, ETL)).collect();
    for raw in &mut crowd {
        raw.command(0x03, b"INSERT INTO test.gated_herd SELECT SLEEP(600)");
    }
    wait_until("all to wait", || tollgate.waiting() == 100);
    dial.set(0.0);
    let running = "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_INFO LIKE 'INSERT INTO test.gated_herd SELECT SLEEP%'";
    let running = || cluster.primary.root_sql(running).expect("a count").trim().parse::<usize>().expect("a number");
    let mut seen = Vec::new();
    wait_until("some to run", || {
        seen.push(running());
        seen.last().is_some_and(|running| *running > 0)
    });
    // The first step is one or two, where all hundred would have come.
    let first = *seen.last().expect("a count");
    assert!(first < 20, "{first} at once");
    wait_until("more to run", || running() > first);
    let kill = "SELECT GROUP_CONCAT('KILL ', PROCESSLIST_ID SEPARATOR ';') FROM performance_schema.threads \
                WHERE PROCESSLIST_INFO LIKE 'INSERT INTO test.gated_herd%'";
    drop(crowd);
    let kills = cluster.primary.root_sql(&format!("SET SESSION group_concat_max_len = 100000; {kill}")).expect("ids");
    let _ = cluster.primary.root_sql(kills.trim());
}
