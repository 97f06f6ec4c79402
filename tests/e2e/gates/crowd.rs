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

/// How late five who come last go of the 205 that wait when a closed gate reopens: the place of the last of them.
fn place_of_the_last(tollgate: &Tollgate, dial: &Dial<'_>, few: Login) -> u64 {
    let one = |sql: &str| dial.server.root_sql(sql).expect(sql).trim().parse::<u64>().expect("a number");
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    dial.server.root_sql("TRUNCATE TABLE test.gated_turns").expect("an empty table");
    let mut waiting: Vec<_> = [(ETL, 200, 0), (few, 5, 1)]
        .into_iter()
        .flat_map(|(who, count, is_few)| {
            let mut raws: Vec<_> = (0..count).map(|_| login(tollgate, who)).collect();
            let before = tollgate.waiting();
            let sql = format!("INSERT INTO test.gated_turns (few) VALUES ({is_few})");
            raws.iter_mut().for_each(|raw| raw.command(0x03, sql.as_bytes()));
            wait_until("all to wait", || tollgate.waiting() == before + count);
            raws
        })
        .collect();
    assert_eq!(one("SELECT COUNT(*) FROM test.gated_turns"), 0, "it is closed");
    dial.set(0.0);
    waiting.iter_mut().for_each(|raw| assert_eq!(crate::rules::answer(raw), Answer::Done));
    // Numbered as they came to the server.
    one("SELECT MAX(id) FROM test.gated_turns WHERE few = 1")
}

/// A gate that has been closed for everybody reopens. First come first served is what five more of the same user get.
#[test]
fn few_go_among_the_first_when_a_gate_reopens() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "reopens");
    let table = "CREATE TABLE IF NOT EXISTS test.gated_turns (id INT PRIMARY KEY AUTO_INCREMENT, few INT)";
    cluster.primary.root_sql(table).expect("a table");
    let tollgate = gated(&cluster, &dial.yaml(", classes: [write], max_delay: 10m, trickle: 0"));
    let fifo = place_of_the_last(&tollgate, &dial, ETL);
    assert!(fifo > 190, "{fifo}");
    for _ in 0..3 {
        let fair = place_of_the_last(&tollgate, &dial, APP);
        assert!(fair * 10 <= fifo, "the last of the few was number {fair}; first come first served: {fifo}");
    }
}

/// How many may run after so many steps of a gate that opens: half as many more with each, and one at least.
fn after_steps(steps: u128) -> usize {
    (0..steps).fold(0.0_f64, |running, _| running + (running / 2.0).max(1.0)) as usize
}

/// A hundred wait at a gate that is closed; it reopens; what runs grows by steps.
#[test]
fn nobody_comes_as_a_herd() {
    // Of a sample, and no longer than this where samples are rarer.
    const STEP: Duration = Duration::from_millis(250);
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
    let running = "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_INFO LIKE 'INSERT INTO test.gated_herd SELECT SLEEP%'";
    let running = || cluster.primary.root_sql(running).expect("a count").trim().parse::<usize>().expect("a number");
    assert_eq!((running(), &tollgate.gate("dial")["state"]), (0, &"closed".into()), "nobody runs before it opens");
    // Nothing that runs ends, so that each step is seen. The clock is read after each look: a slow machine makes the bound wider,
    // and never too narrow.
    let mut seen = Vec::new();
    let opens = Instant::now();
    dial.set(0.0);
    wait_until("all to run", || {
        let now = running();
        let steps = 1 + opens.elapsed().as_millis() / STEP.as_millis();
        seen.push((steps, now));
        let most = after_steps(steps);
        assert!(now <= most, "{now} run where {most} are the most (steps, running): {seen:?}");
        now == 100
    });
    let kill = "SELECT GROUP_CONCAT('KILL ', PROCESSLIST_ID SEPARATOR ';') FROM performance_schema.threads \
                WHERE PROCESSLIST_INFO LIKE 'INSERT INTO test.gated_herd%'";
    drop(crowd);
    let kills = cluster.primary.root_sql(&format!("SET SESSION group_concat_max_len = 100000; {kill}")).expect("ids");
    let _ = cluster.primary.root_sql(kills.trim());
}
