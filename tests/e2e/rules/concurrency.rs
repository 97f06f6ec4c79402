//! `max_concurrency` and `max_connections`: never exceeded, never leaked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use sandbox::{APP, ETL, Login};

use super::{Answer, primary, ruled, run, table};
use crate::harness::{Raw, RawOptions, Tollgate, process_list, read_err, wait_until};

/// Statements of a kind that the server is at work on now: one that has just been answered is still in the list for a moment,
/// but sleeps no more.
fn running(marker: &str) -> usize {
    let list = process_list(primary());
    let sql =
        format!("SELECT COUNT(*) FROM {list} WHERE user = 'etl' AND state = 'User sleep' AND info LIKE '%{marker}%'");
    primary().root_sql(&sql).expect("the process list").trim().parse().expect("a number")
}

/// One client of the crowd: reads, fails, runs transactions, comes back, and leaves in the middle.
fn crowd(tollgate: &Tollgate, worker: usize, ids: &Mutex<Vec<u32>>, over: &AtomicBool) {
    let mut round = 0;
    while !over.load(Ordering::Relaxed) {
        let mut raw = Raw::login(tollgate.address, ETL);
        ids.lock().expect("the ids").push(raw.id());
        for _ in 0..5 {
            round += 1;
            match (worker + round) % 4 {
                0 => drop(run(&mut raw, "SELECT 'crowd', SLEEP(0.02) FROM test.crowd")),
                1 => drop(run(&mut raw, "SELECT 'crowd', no_such_column FROM test.crowd")),
                2 => {
                    for sql in ["BEGIN", CROWD, CROWD, "ROLLBACK"] {
                        let _ = run(&mut raw, sql);
                    }
                }
                // Leaves in the middle.
                _ => {
                    raw.query("SELECT 'crowd', SLEEP(0.05) FROM test.crowd");
                    break;
                }
            }
        }
    }
}

const CROWD: &str = "SELECT 'crowd', SLEEP(0.01) FROM test.crowd";

/// A statement of each of the latest is killed, whether it runs, waits or is over.
fn kill_some(tollgate: &Tollgate, ids: &Mutex<Vec<u32>>, over: &AtomicBool) -> u32 {
    let mut killer = Raw::login(tollgate.address, APP);
    let mut killed = 0;
    while !over.load(Ordering::Relaxed) {
        let latest: Vec<u32> = ids.lock().expect("the ids").iter().rev().take(8).copied().collect();
        for id in latest {
            // One that has left is unknown to the server.
            killed += u32::from(run(&mut killer, &format!("KILL QUERY {id}")) == Answer::Done);
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    killed
}

const TWO: &str =
    "rules:\n- { id: two, match: { user: etl }, do: { max_concurrency: 2 }, max_delay: 60s, permanent: true }\n";

/// Over errors, disconnects, KILLs and reloads.
#[test]
fn no_more_units_run_than_the_rule_allows() {
    table("crowd");
    let tollgate = ruled(TWO);
    let (over, ids) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let (most, killed) = std::thread::scope(|scope| {
        let (tollgate, ids, over) = (&tollgate, &ids, &over);
        let workers: Vec<_> = (0..8).map(|worker| scope.spawn(move || crowd(tollgate, worker, ids, over))).collect();
        let killer = scope.spawn(move || kill_some(tollgate, ids, over));
        let mut most = 0;
        for look in 0..100 {
            most = most.max(running("crowd"));
            if look % 10 == 0 {
                // The same limit under a new plan, with another rule beside it.
                let other =
                    format!("- {{ id: r{look}, match: {{ user: x }}, do: {{ hold: true }}, permanent: true }}\n");
                tollgate.rewrite(|yaml| format!("{}{TWO}{other}", &yaml[..yaml.find("rules:").expect("rules")]));
                assert_eq!(tollgate.post("/reload", "").0, 200);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        over.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|worker| worker.join().expect("a worker"));
        (most, killer.join().expect("the killer"))
    });
    assert!(most <= 2, "{most} at once");
    assert!(most > 0, "nothing ran");
    assert!(killed > 0 && tollgate.generation() >= 10, "{killed} killed, generation {}", tollgate.generation());
    // Nothing is leaked: both places are free again.
    wait_until("all have ended", || tollgate.sessions() == 0);
    let mut two = [(); 2].map(|()| Raw::login(tollgate.address, ETL));
    for raw in &mut two {
        assert_eq!(run(raw, "BEGIN"), Answer::Done);
        assert_eq!(run(raw, "SELECT COUNT(*) FROM test.crowd"), Answer::Done, "a place is free");
    }
    assert_eq!(run(&mut Raw::login(tollgate.address, APP), "SELECT COUNT(*) FROM test.crowd"), Answer::Done);
}

#[test]
fn a_transaction_keeps_its_place_until_it_ends() {
    table("placed");
    let rule =
        "rules:\n- { id: one, match: { user: etl }, do: { max_concurrency: 1 }, action: reject, permanent: true }\n";
    let tollgate = ruled(rule);
    let mut first = Raw::login(tollgate.address, ETL);
    let mut second = Raw::login(tollgate.address, ETL);
    assert_eq!(run(&mut first, "BEGIN"), Answer::Done);
    assert_eq!(run(&mut first, "INSERT INTO test.placed (batch) VALUES (1)"), Answer::Done);
    let Answer::Err(code, message) = run(&mut second, "SELECT COUNT(*) FROM test.placed") else {
        panic!("two at once")
    };
    assert_eq!(code, 1226);
    assert!(message.contains("rule=one reason=concurrency"), "{message}");
    assert_eq!(run(&mut first, "INSERT INTO test.placed (batch) VALUES (2)"), Answer::Done, "it has its place");
    assert_eq!(run(&mut first, "COMMIT"), Answer::Done);
    assert_eq!(run(&mut second, "SELECT COUNT(*) FROM test.placed"), Answer::Done);
}

#[test]
fn no_more_sessions_than_the_rule_allows() {
    let rule = "rules:\n- { id: three, match: { user: etl }, do: { max_connections: 3 }, permanent: true }\n";
    let tollgate = ruled(rule);
    for _ in 0..3 {
        let mut three: Vec<Raw> = (0..3).map(|_| Raw::login(tollgate.address, ETL)).collect();
        let denied = Raw::login_with(tollgate.address, ETL, &RawOptions::default()).expect_err("a fourth");
        let (code, state, message) = read_err(&denied);
        assert_eq!((code, state.as_str()), (1040, "08004"));
        assert!(message.contains("rule=three reason=connections"), "{message}");
        assert_eq!(run(&mut Raw::login(tollgate.address, APP), "SELECT 1"), Answer::Done, "others get in");
        three.pop();
        let mut again = None;
        wait_until("a place is free", || {
            again = Raw::login_with(tollgate.address, ETL, &RawOptions::default()).ok();
            again.is_some()
        });
        drop((three, again));
        wait_until("all have left", || tollgate.sessions() == 0);
    }
}

/// Comes and goes in every way there is; counts those who are in, as their clients know it.
fn come_and_go(tollgate: &Tollgate, worker: usize, inside: &AtomicUsize, most: &AtomicUsize, over: &AtomicBool) {
    let mut round = worker;
    while !over.load(Ordering::Relaxed) {
        round += 1;
        match round % 5 {
            // Leaves before and during its login, or may not log in.
            0 => drop(Raw::dial(tollgate.address)),
            1 => Raw::greeted(tollgate.address).request_login(ETL, &RawOptions::default()),
            2 => {
                let wrong = Login { password: "wrong", ..ETL };
                Raw::login_with(tollgate.address, wrong, &RawOptions::default()).expect_err("a wrong password");
            }
            way => {
                let Ok(mut raw) = Raw::login_with(tollgate.address, ETL, &RawOptions::default()) else { continue };
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let _ = run(&mut raw, "SELECT no_such_column");
                if way == 3 {
                    // Killed by itself: the server answers, or closes first.
                    raw.query(&format!("KILL {}", raw.id()));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    let _ = raw.read();
                } else {
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            }
        }
    }
}

#[test]
fn sessions_come_and_go_and_are_never_too_many() {
    let rule = "rules:\n- { id: three, match: { user: etl }, do: { max_connections: 3 }, permanent: true }\n";
    let tollgate = ruled(rule);
    let (inside, most, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (tollgate, inside, most, over) = (&tollgate, &inside, &most, &over);
            scope.spawn(move || come_and_go(tollgate, worker, inside, most, over));
        }
        for number in 0..20 {
            std::thread::sleep(Duration::from_millis(100));
            let other = format!("- {{ id: r{number}, match: {{ user: x }}, do: {{ hold: true }}, permanent: true }}\n");
            tollgate.rewrite(|yaml| format!("{}{rule}{other}", &yaml[..yaml.find("rules:").expect("rules")]));
            assert_eq!(tollgate.post("/reload", "").0, 200);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(most.load(Ordering::SeqCst), 3, "at once");
    wait_until("all have left", || tollgate.sessions() == 0);
    let _three = [(); 3].map(|()| Raw::login(tollgate.address, ETL));
    assert!(Raw::login_with(tollgate.address, ETL, &RawOptions::default()).is_err(), "a fourth");
}
