//! `rejection_ratio`, by reject and by delay.

use std::time::{Duration, Instant};

use sandbox::{APP, ETL, Login};

use super::{AT_ONCE, Answer, ruled, run, word};
use crate::harness::{Raw, Tollgate};

const RATIOS: &str = "rules:\n\
    - { id: batch-yields, match: { user: etl }, do: { rejection_ratio: 0.9 }, permanent: true }\n\
    - { id: web-mostly, match: { user: app }, do: { rejection_ratio: 0.1 }, permanent: true }\n";

/// How many of so many units passed; every other was refused by the rule.
fn passed(tollgate: &Tollgate, login: Login, rule: &str, units: usize) -> usize {
    let mut raw = Raw::login(tollgate.address, login);
    let mut passed = 0;
    for _ in 0..units {
        match run(&mut raw, "SELECT COUNT(*) FROM mysql.plugin") {
            Answer::Done => passed += 1,
            Answer::Err(code, message) => {
                assert_eq!(
                    (code, word(&message, "rule"), word(&message, "reason")),
                    (1226, rule, "ratio"),
                    "{message}"
                );
            }
        }
    }
    passed
}

#[test]
fn with_reject_the_favoured_does_nine_times_the_work() {
    let tollgate = ruled(&format!("{AT_ONCE}{RATIOS}"));
    // 4 standard deviations of 10,000 rolls at 0.1.
    let four = 120;
    std::thread::scope(|scope| {
        let etl = scope.spawn(|| passed(&tollgate, ETL, "batch-yields", 10_000));
        let app = scope.spawn(|| passed(&tollgate, APP, "web-mostly", 10_000));
        let (etl, app) = (etl.join().expect("etl"), app.join().expect("app"));
        assert!(etl.abs_diff(1_000) <= four, "{etl} of 10,000 at 0.9");
        assert!(app.abs_diff(9_000) <= four, "{app} of 10,000 at 0.1");
    });
}

#[test]
fn with_delay_both_get_on_without_an_error() {
    // So long that 0.9 to the power of the rolls that fit is nothing.
    let tollgate = ruled(&format!("defaults: {{ max_delay: 60s }}\n{RATIOS}"));
    let until = Instant::now() + Duration::from_secs(8);
    let work = |login| {
        let mut raw = Raw::login(tollgate.address, login);
        let mut done = 0;
        while Instant::now() < until {
            assert_eq!(run(&mut raw, "SELECT COUNT(*) FROM mysql.plugin"), Answer::Done);
            done += 1;
        }
        done
    };
    std::thread::scope(|scope| {
        let (etl, app) = (scope.spawn(|| work(ETL)), scope.spawn(|| work(APP)));
        let (etl, app) = (etl.join().expect("etl"), app.join().expect("app"));
        assert!(etl > 0 && app > 3 * etl, "{app} at 0.1 and {etl} at 0.9");
    });
}

#[test]
fn what_is_never_delayed_passes_at_ratio_one() {
    let rule = "- { id: nothing, match: { scope: \"*\" }, do: { rejection_ratio: 1 }, permanent: true }\n";
    let tollgate = ruled(&format!("{AT_ONCE}rules:\n{rule}"));
    let mut raw = Raw::login(tollgate.address, APP);
    for sql in [
        "SET NAMES utf8mb4",
        "SET SESSION sql_mode = ''",
        "SELECT @@version, @@session.autocommit",
        "SELECT 1",
        "SELECT DATABASE(), CONNECTION_ID(), NOW()",
        "SHOW DATABASES",
        "USE test",
        "BEGIN",
        "COMMIT",
        "START TRANSACTION",
        "ROLLBACK",
        "SAVEPOINT a",
        "DO 1",
        "EXPLAIN SELECT 1",
    ] {
        assert_eq!(run(&mut raw, sql), Answer::Done, "{sql}");
    }
    for sql in [
        "SELECT SLEEP(0)",
        "DO SLEEP(0)",
        "SELECT BENCHMARK(1, 1)",
        "SELECT * FROM mysql.plugin",
        "EXPLAIN ANALYZE SELECT * FROM mysql.plugin",
        // The optimiser reads rows by unique keys, and shows them.
        "EXPLAIN SELECT * FROM mysql.plugin",
        "SET @a = (SELECT COUNT(*) FROM mysql.plugin)",
        "(SELECT COUNT(*) FROM mysql.plugin)",
        ";;SELECT COUNT(*) FROM mysql.plugin",
        "CREATE TABLE test.never (a INT)",
        "SELECT GET_LOCK('dice', 0)",
        "LOCK TABLES mysql.plugin READ",
    ] {
        assert!(run(&mut raw, sql).is_refused(), "{sql}");
    }
    // PING, and the connection is as good as before.
    raw.command(0x0E, b"");
    raw.ok();
}
