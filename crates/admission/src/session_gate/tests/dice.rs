//! The worked example: a favoured client and one that yields.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::refusal::Reason;
use crate::stage::{At, Stage, times};
use crate::stats::Effect;

const UNITS: u64 = 10_000;

#[tokio::test(start_paused = true)]
async fn with_reject_the_pass_counts_are_as_the_ratios_say() {
    let stage = Stage::new(&["yields | user=batch | ratio=0.9 reject", "first | user=web | ratio=0.1 reject"]);
    for (user, rule, expected) in [("batch", "yields", 1_000_u64), ("web", "first", 9_000)] {
        let mut session = stage.login(user);
        let mut passed = 0;
        for _ in 0..UNITS {
            passed += u64::from(session.run("UPDATE t SET a = 1 WHERE id = 1").await.is_ok());
        }
        // Four standard deviations: 4 × √(10,000 × 0.9 × 0.1).
        assert!(passed.abs_diff(expected) <= 120, "{user}: {passed}");
        let counted = stage.counted(user, user);
        assert_eq!((counted.seen, counted.passed, counted.held), (UNITS, passed, 0));
        assert_eq!(times(&counted, rule, Reason::Ratio, Effect::Rejected), UNITS - passed);
    }
    stage.assert_settled();
}

/// How many statements of 5 ms a client gets done in a minute, each after the other, without an error.
async fn work(stage: &Stage, user: &str) -> u64 {
    let mut session = stage.login(user);
    let until = Instant::now() + Duration::from_secs(60);
    let mut done = 0;
    while Instant::now() < until {
        session.run("SELECT * FROM t WHERE id = 1").await.unwrap_or_else(|refusal| panic!("{}", refusal.message));
        sleep(Duration::from_millis(5)).await;
        done += 1;
    }
    done
}

#[tokio::test(start_paused = true)]
async fn with_delay_the_favoured_client_does_several_times_the_work_and_neither_sees_an_error() {
    let stage =
        Stage::new(&["yields | user=batch | ratio=0.9 delay=30000", "first | user=web | ratio=0.1 delay=30000"]);
    let (batch, web) = tokio::join!(work(&stage, "batch"), work(&stage, "web"));
    // About 5 + 9 × 100 ms a unit against 5 + 0.11 × 100 ms.
    assert!(batch > 30 && web > 20 * batch, "{batch} and {web}");
    let counted = stage.counted("batch", "batch");
    assert_eq!(counted.rejected, 0);
    assert!(counted.held > 0 && counted.hold_time > Duration::from_secs(30), "{counted:?}");
    // A unit that rolls many times is held once.
    assert_eq!(times(&counted, "yields", Reason::Ratio, Effect::Held), counted.held);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn only_whom_the_rules_name() {
    let stage = Stage::new(&["r | user=batch class=write | ratio=1 reject", "free | user=dba | exempt"]);
    for (user, sql, at) in [
        ("batch", "UPDATE t SET a = 1", At::Refused),
        ("batch", "SELECT * FROM t", At::Once),
        ("batch", "SELECT 1", At::Once),
        ("batch", "COMMIT", At::Once),
        ("web", "UPDATE t SET a = 1", At::Once),
        ("dba", "UPDATE t SET a = 1", At::Once),
    ] {
        assert_eq!(stage.login(user).at(sql).await, at, "{user}: {sql}");
    }
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_who_why_and_when_to_come_back_after_a_pause() {
    let mut setup = crate::stage::Setup::default();
    setup.defaults.reject_pause = Duration::from_millis(150);
    let stage =
        setup.stage(&["yields | scope=* | ratio=0.99 reject", "no | user=never | ratio=1 reject expires=90000"]);
    let mut session = stage.login("batch program_name=loader");
    let mut pauses = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        if let Err(refusal) = session.run("UPDATE t SET a = 1").await {
            assert_eq!((refusal.code, &refusal.sqlstate), (1226, b"HY000"));
            let words = "[tollgate] rule=yields reason=ratio client=loader:batch retry_after_ms=10000 id=";
            assert!(refusal.message.starts_with(words), "{}", refusal.message);
            pauses.push(start.elapsed());
        }
    }
    let (least, most) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
    assert!(*least >= Duration::from_millis(50) && *most <= Duration::from_millis(251), "{least:?} to {most:?}");
    assert!(*most - *least > Duration::from_millis(150), "{least:?} to {most:?}");
    // Where nothing passes before the rule ends, it makes no sense to come back before.
    let refusal = stage.login("never").run("SELECT * FROM t").await.unwrap_err();
    let retry_after = refusal.message.split_once("rule=no reason=ratio client=never retry_after_ms=").unwrap().1;
    let millis: u64 = retry_after.split(' ').next().unwrap().parse().unwrap();
    assert!((50_000..=60_000).contains(&millis), "{}", refusal.message);
    stage.assert_settled();
}
