//! `max_concurrency` and `max_connections`: never exceeded, never leaked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::{APP, ETL};

use super::{Answer, primary, ruled, run, table};
use crate::harness::{Raw, RawOptions, process_list, read_err, wait_until};

/// Statements of a kind that the server is at work on now: one that has just been answered is still in the list for a moment,
/// but sleeps no more.
fn running(marker: &str) -> usize {
    let list = process_list(primary());
    let sql =
        format!("SELECT COUNT(*) FROM {list} WHERE user = 'etl' AND state = 'User sleep' AND info LIKE '%{marker}%'");
    primary().root_sql(&sql).expect("the process list").trim().parse().expect("a number")
}

#[test]
fn no_more_units_run_than_the_rule_allows() {
    table("crowd");
    let rule =
        "rules:\n- { id: two, match: { user: etl }, do: { max_concurrency: 2 }, max_delay: 60s, permanent: true }\n";
    let tollgate = ruled(rule);
    let over = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|worker| {
                let (over, tollgate) = (&over, &tollgate);
                scope.spawn(move || {
                    let mut round = 0;
                    while !over.load(Ordering::Relaxed) {
                        let mut raw = Raw::login(tollgate.address, ETL);
                        for _ in 0..5 {
                            round += 1;
                            match (worker + round) % 4 {
                                0 => drop(run(&mut raw, "SELECT 'crowd', SLEEP(0.02) FROM test.crowd")),
                                1 => drop(run(&mut raw, "SELECT 'crowd', no_such_column FROM test.crowd")),
                                2 => {
                                    let _ = run(&mut raw, "BEGIN");
                                    let _ = run(&mut raw, "SELECT 'crowd', SLEEP(0.01) FROM test.crowd");
                                    let _ = run(&mut raw, "SELECT 'crowd', SLEEP(0.01) FROM test.crowd");
                                    let _ = run(&mut raw, "ROLLBACK");
                                }
                                // Leaves in the middle.
                                _ => {
                                    raw.query("SELECT 'crowd', SLEEP(0.05) FROM test.crowd");
                                    break;
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        let mut most = 0;
        for _ in 0..100 {
            most = most.max(running("crowd"));
            std::thread::sleep(Duration::from_millis(20));
        }
        over.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|worker| worker.join().expect("a worker"));
        most
    });
    assert!(most <= 2, "{most} at once");
    assert!(most > 0, "nothing ran");
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
