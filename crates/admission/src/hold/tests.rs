//! What is held: how it ends, and what is left of it.

use std::time::Duration;

use rules::Timestamp;
use tokio::time::{Instant, advance};

use crate::policy::Queue;
use crate::port::{Refusal, Verdict};
use crate::refusal::Reason;
use crate::stage::{Session, Setup, Stage, times};
use crate::stats::Effect;

const READ: &str = "SELECT * FROM t";
const WRITE: &str = "UPDATE t SET a = 1";
const HOLD: &str = "h | scope=* | hold delay=60000";

/// A session whose statement is held from now on, and when and how that ends.
fn held(stage: &Stage, user: &str, sql: &'static str) -> tokio::task::JoinHandle<(Duration, Result<(), Refusal>)> {
    let mut session = stage.login(user);
    let (verdict, start) = (session.ask(sql), Instant::now());
    assert!(matches!(verdict, Verdict::Hold(_)), "{sql}");
    tokio::spawn(async move {
        let ended = session.finish(sql, verdict).await;
        (start.elapsed(), ended)
    })
}

async fn settle() {
    for _ in 0..5 {
        tokio::task::yield_now().await;
    }
}

/// Of a statement held by [`HOLD`], when it passes or with which reason it is refused if after five seconds the rules change.
#[tokio::test(start_paused = true)]
async fn judged_anew_when_the_rules_change() {
    let at_once = Duration::from_secs(5);
    for (rules, expected) in [
        (&[][..], Ok(at_once)),
        (&["h | user=other | hold delay=60000"], Ok(at_once)),
        (&[HOLD, "e | user=app | exempt"], Ok(at_once)),
        (&["h | scope=* | hold delay=60000 warn"], Ok(at_once)),
        (&["h | scope=* | ratio=0"], Ok(at_once)),
        (&["h | scope=* | ratio=1 reject"], Err((at_once, "rule=h reason=ratio"))),
        (&["g | scope=* | hold delay=5000"], Err((at_once, "rule=g reason=hold"))),
        (&["h | scope=* | hold delay=8000"], Err((Duration::from_secs(8), "rule=h reason=hold"))),
        // The time it has waited counts: a deadline is never restarted.
        (&[HOLD, "x | user=nobody | ratio=1"], Err((Duration::from_secs(60), "rule=h reason=hold"))),
        (&["c | scope=* | concurrency=0 delay=6000"], Err((Duration::from_secs(6), "rule=c reason=concurrency"))),
    ] {
        let stage = Stage::new(&[HOLD]);
        let waits = held(&stage, "app", READ);
        settle().await;
        advance(Duration::from_secs(5)).await;
        stage.apply(rules);
        let found = match waits.await.unwrap() {
            (when, Ok(())) => Ok(when),
            (when, Err(refusal)) => Err((when, refusal.message)),
        };
        match (&found, expected) {
            (Ok(when), Ok(expected)) => assert_eq!(*when, expected, "{rules:?}"),
            (Err((when, message)), Err((expected, words))) => {
                assert!(*when == expected && message.contains(words), "{rules:?}: {when:?}, {message}");
            }
            _ => panic!("{rules:?}: {found:?}"),
        }
        stage.assert_settled();
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_ends_lets_it_pass() {
    for (rule, passes) in [
        ("h | scope=* | hold delay=60000 expires=4200", Duration::from_millis(4200)),
        ("h | scope=* | ratio=1 delay=60000 expires=700", Duration::from_millis(700)),
        ("h | scope=* | concurrency=0 delay=60000 expires=30000", Duration::from_secs(30)),
    ] {
        let stage = Stage::new(&[rule]);
        let (when, ended) = held(&stage, "app", READ).await.unwrap();
        assert!(ended.is_ok(), "{rule}");
        assert!(when >= passes && when <= passes + Duration::from_millis(2), "{rule}: {when:?}");
        stage.assert_settled();
    }
}

/// Hours begin and end without a new policy, and so do those of rules that favour.
#[tokio::test(start_paused = true)]
async fn hours_begin_and_end_while_it_waits() {
    // The test begins at 15:46:40.
    assert_eq!(crate::samples::BEGINNING, Timestamp::parse("2026-04-20T15:46:40Z").unwrap());
    for rules in [
        &["h | scope=* | hold delay=600000 active=900-947"][..],
        &["h | scope=* | hold delay=600000", "e | user=app | exempt active=947-960"],
        &["c | scope=* | concurrency=0 delay=600000 active=900-947"],
    ] {
        let stage = Stage::new(rules);
        let (when, ended) = held(&stage, "app", READ).await.unwrap();
        assert!(ended.is_ok(), "{rules:?}");
        assert!(when >= Duration::from_secs(20) && when <= Duration::from_secs(21), "{rules:?}: {when:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_wins_a_later_roll_passes() {
    let stage = Stage::new(&["r | scope=* | ratio=0.9 delay=600000"]);
    let mut session = stage.login("app");
    for _ in 0..50 {
        session.run(READ).await.unwrap();
    }
    let counted = stage.counted("app", "app");
    assert!(counted.held >= 40, "{counted:?}");
    let mean = counted.hold_time / u32::try_from(counted.held).unwrap();
    assert!(mean > Duration::from_millis(500) && mean < Duration::from_secs(2), "{mean:?}");
    stage.assert_settled();
}

/// A policy that comes between a statement and the first look at its hold: its rules are not taken for the other's.
#[tokio::test(start_paused = true)]
async fn never_decided_by_half_a_plan() {
    let stage = Stage::new(&["a | user=app | hold delay=60000", "b | user=other | exempt"]);
    let mut session = stage.login("app");
    let verdict = session.ask(READ);
    // What was in the first place is in the second now, and the other way round.
    stage.apply(&["b | user=other | exempt", "a | user=app | ratio=1 reject", "c | scope=* | exempt"]);
    let refusal = session.finish(READ, verdict).await.unwrap_err();
    assert!(refusal.message.contains("rule=a reason=ratio"), "{}", refusal.message);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_leaves_nothing() {
    let stage = Stage::new(&["h | class=read | hold delay=60000", "c | class=write | concurrency=0 delay=60000"]);
    for sql in [READ, WRITE] {
        for wait in [Duration::ZERO, Duration::from_secs(3)] {
            let mut session = stage.login("app");
            let Verdict::Hold(mut hold) = session.ask(sql) else { panic!("held") };
            assert_eq!((stage.keeper.waiting(), stage.counted("app", "app").waiting), (1, 1));
            if !wait.is_zero() {
                assert!(tokio::time::timeout(wait, &mut hold).await.is_err());
            }
            drop(hold);
            assert_eq!((stage.keeper.waiting(), stage.keeper.limits.waiting()), (0, 0));
            assert_eq!(stage.keeper.used("c"), (0, 0));
        }
    }
    let counted = stage.counted("app", "app");
    assert_eq!((counted.seen, counted.left, counted.held, counted.hold_time), (4, 4, 4, Duration::from_secs(6)));
    stage.assert_settled();
}

fn reason(session: &mut Session, sql: &str) -> Option<String> {
    match session.ask(sql) {
        Verdict::Refuse(refusal) => Some(refusal.message),
        Verdict::Pass(_) | Verdict::Hold(_) => None,
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_wait_than_the_queue_is_long() {
    let setup = Setup { queue: Queue { per_identity: 3, total: 16 }, ..Setup::default() };
    let stage = setup.stage(&[HOLD]);
    let mut waiting = Vec::new();
    let mut hold = |who: &str| {
        let mut session = stage.login(who);
        match session.ask(READ) {
            Verdict::Hold(hold) => {
                waiting.push((session, hold));
                true
            }
            Verdict::Refuse(refusal) => {
                assert!(refusal.message.contains("rule=- reason=queue"), "{}", refusal.message);
                false
            }
            Verdict::Pass(_) => panic!("passed"),
        }
    };
    // One client: as many as an identity may have. One user with a fresh name each: a quarter of all.
    assert_eq!((0..5).filter(|_| hold("one")).count(), 3);
    let names: Vec<String> = (0..10).map(|number| format!("many program_name=p{number}")).collect();
    assert_eq!(names.iter().filter(|who| hold(who)).count(), 4);
    // Others still find room, until there is none at all.
    let users: Vec<String> = (0..20).map(|number| format!("user{number}")).collect();
    assert_eq!(users.iter().filter(|who| hold(who)).count(), 16 - 3 - 4);
    assert_eq!(stage.keeper.waiting(), 16);
    // What is refused at once needs no room.
    stage.apply(&["r | scope=* | ratio=1 reject"]);
    let message = reason(&mut stage.login("late"), READ).unwrap();
    assert!(message.contains("rule=r reason=ratio"), "{message}");
    drop(waiting);
    stage.assert_settled();
    let counted = stage.counted("one", "one");
    assert_eq!((counted.seen, counted.left, counted.rejected), (5, 3, 2));
    assert_eq!(times(&counted, "-", Reason::Queue, Effect::Rejected), 2);
}

#[tokio::test(start_paused = true)]
async fn the_pause_before_a_refusal_is_no_waiting() {
    let mut setup = Setup::default();
    setup.defaults.reject_pause = Duration::from_secs(10);
    let stage = setup.stage(&["h | scope=* | hold delay=1000"]);
    let waits = held(&stage, "app", READ);
    settle().await;
    advance(Duration::from_millis(1500)).await;
    settle().await;
    assert_eq!(stage.keeper.waiting(), 0);
    assert!(!waits.is_finished());
    let (when, ended) = waits.await.unwrap();
    assert!(ended.is_err() && when > Duration::from_secs(4), "{when:?}");
    assert_eq!(stage.counted("app", "app").hold_time.as_secs(), 1);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_reloads_while_many_wait() {
    let stage = Stage::new(&["r | scope=* | ratio=0.5 concurrency=2 delay=600000"]);
    let clients: Vec<_> = (0..50)
        .map(|number| {
            let mut session = stage.login(&format!("user{}", number % 7));
            tokio::spawn(async move {
                for _ in 0..20 {
                    let verdict = session.ask(WRITE);
                    let permit = session.admitted(verdict).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    session.answer(WRITE, true);
                    drop(permit);
                }
            })
        })
        .collect();
    for number in 0..1000 {
        let (ratio, limit) = (0.3 + 0.1 * f64::from(number % 3), 1 + number % 3);
        let rule = format!("r | scope=* | ratio={ratio} concurrency={limit} delay=600000");
        stage.apply(&[&rule, "other | user=nobody | hold"]);
        tokio::time::sleep(Duration::from_millis(7)).await;
        assert!(stage.keeper.used("r").0 <= 3, "{:?}", stage.keeper.used("r"));
    }
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(stage.keeper.used("r"), (0, 0));
    stage.assert_settled();
}
