//! `max_concurrency` over whole units.

use std::time::Duration;

use tokio::time::{Instant, advance};

use crate::port::Verdict;
use crate::refusal::Reason;
use crate::stage::{At, Setup, Stage, times};
use crate::stats::Effect;

const WRITE: &str = "UPDATE t SET a = 1";
const READ: &str = "SELECT * FROM t";

#[tokio::test(start_paused = true)]
async fn a_statement_has_its_place_until_it_is_answered() {
    let stage = Stage::new(&["r | scope=* | concurrency=1"]);
    let (mut one, mut other) = (stage.login("one"), stage.login("other"));
    assert!(matches!(one.ask(WRITE), Verdict::Pass(_)));
    assert_eq!(stage.keeper.used("r"), (1, 0));
    assert_eq!(other.at(READ).await, At::Held);
    one.answer(WRITE, false);
    assert_eq!(stage.keeper.used("r"), (0, 0));
    assert_eq!(other.at(READ).await, At::Once);
}

/// A rule that is added, wherever it comes from, loosens no other.
#[tokio::test(start_paused = true)]
async fn added_limit_never_loosens_another() {
    let (wide, narrow) = ("wide | user=etl | concurrency=2", "narrow | user=etl class=read | concurrency=2");
    for [first, second] in [[wide, narrow], [narrow, wide]] {
        for [one, other] in [["", ""], ["", " runtime"], [" runtime", ""], [" runtime", " runtime"]] {
            let (first, second) = (format!("{first}{one}"), format!("{second}{other}"));
            let stage = Stage::new(&[&first]);
            let mut before: Vec<_> = (0..2).map(|_| stage.login("etl")).collect();
            assert!(before.iter_mut().all(|session| matches!(session.ask(READ), Verdict::Pass(_))));
            stage.apply(&[&first, &second]);
            let mut after: Vec<_> = (0..4).map(|_| stage.login("etl")).collect();
            for session in &mut after {
                assert_eq!(session.at(READ).await, At::Held, "{first}, {second}");
            }
            for mut session in before {
                session.answer(READ, true);
            }
            let passing = after.iter_mut().map(|session| session.ask(READ)).filter(passes).count();
            assert_eq!(passing, 2, "{first}, {second}");
            assert_eq!((stage.keeper.used("wide").0, stage.keeper.used("narrow").0), (2, 2));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn overriding_limit_replaces_those_of_the_file() {
    let file = ["a | user=etl | concurrency=1", "b | user=etl class=read | concurrency=0"];
    let stage = Stage::new(&file);
    assert_eq!(stage.login("etl").at(READ).await, At::Held);
    stage.apply(&[file[0], file[1], "r | scope=* | concurrency=2 runtime override"]);
    let mut sessions: Vec<_> = (0..3).map(|_| stage.login("etl")).collect();
    let passing = sessions.iter_mut().map(|session| session.ask(READ)).filter(passes).count();
    assert_eq!(passing, 2);
    assert_eq!((stage.keeper.used("a").0, stage.keeper.used("b").0, stage.keeper.used("r").0), (0, 0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_has_its_place_until_it_ends() {
    let stage = Stage::new(&["r | scope=* | concurrency=1 delay=2000"]);
    let (mut one, mut other) = (stage.login("one"), stage.login("other"));
    for end in ["COMMIT", "ROLLBACK"] {
        one.run("BEGIN").await.unwrap();
        one.run(READ).await.unwrap();
        one.run(WRITE).await.unwrap();
        assert_eq!(stage.keeper.used("r"), (1, 0), "one place, however many statements");
        let start = Instant::now();
        let refusal = other.run(READ).await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::from_secs(2));
        assert!(refusal.message.contains("rule=r reason=concurrency client=other"), "{}", refusal.message);

        let verdict = other.ask(READ);
        let waits = tokio::spawn(async move {
            let ran = other.finish(READ, verdict).await;
            (ran, Instant::now(), other)
        });
        advance(Duration::from_millis(1500)).await;
        let ended = Instant::now();
        one.run(end).await.unwrap();
        let (ran, when, back) = waits.await.unwrap();
        assert!(ran.is_ok() && when == ended, "it passes as soon as there is room");
        other = back;
    }
    assert_eq!(stage.keeper.used("r"), (0, 0));
    let counted = stage.counted("other", "other");
    assert_eq!(times(&counted, "r", Reason::Concurrency, Effect::Held), 4);
    assert_eq!(times(&counted, "r", Reason::Concurrency, Effect::Rejected), 2);
    stage.assert_settled();
}

/// Every way in which a unit can end without its COMMIT.
#[tokio::test(start_paused = true)]
async fn nothing_leaks() {
    let stage = Stage::new(&["r | scope=* | concurrency=1", "w | class=ddl | ratio=1 reject"]);
    for way in ["disconnect", "reset", "change user", "deadlock", "refused", "answered", "killed hold"] {
        let mut session = stage.login("app");
        session.run("BEGIN").await.unwrap();
        session.run(READ).await.unwrap();
        assert_eq!(stage.keeper.used("r"), (1, 0), "{way}");
        match way {
            "disconnect" => {}
            "reset" => session.gate.reset(),
            "change user" => session.gate.changed_user(&crate::stage::Who::new("web").client()).unwrap(),
            "deadlock" => {
                session.ask(WRITE);
                session.state.in_transaction = false;
                session.answer(WRITE, false);
            }
            "refused" => assert_eq!(session.at("DROP TABLE t").await, At::Refused),
            "answered" => session.run("COMMIT").await.unwrap(),
            "killed hold" => {
                let mut other = stage.login("other");
                assert!(matches!(other.ask(READ), Verdict::Hold(_)));
                session.run("COMMIT").await.unwrap();
            }
            _ => unreachable!(),
        }
        if way == "disconnect" {
            drop(session);
        }
        assert_eq!(stage.keeper.used("r"), (0, 0), "{way}");
        assert_eq!(stage.keeper.limits.waiting(), 0, "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn with_reject_nobody_waits() {
    let stage = Stage::new(&["r | scope=* | concurrency=1 reject"]);
    let mut one = stage.login("one");
    assert!(matches!(one.ask(READ), Verdict::Pass(_)));
    let start = Instant::now();
    let refusal = stage.login("other").run(READ).await.unwrap_err();
    assert!(refusal.message.contains("reason=concurrency"), "{}", refusal.message);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_limit_that_is_full_says_how_long_and_is_blamed() {
    // `wide` has room and little patience; it is not what anybody waits for.
    let stage = Stage::new(&[
        "wide | scope=* | concurrency=9 delay=10 reject",
        "narrow | scope=* | concurrency=1 delay=2000 runtime",
    ]);
    let mut one = stage.login("one");
    assert!(matches!(one.ask(READ), Verdict::Pass(_)));
    assert_eq!((stage.keeper.used("wide").0, stage.keeper.used("narrow").0), (1, 1));
    let start = Instant::now();
    let refusal = stage.login("other").run(READ).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert!(refusal.message.contains("rule=narrow"), "{}", refusal.message);
    assert_eq!((stage.keeper.used("wide").0, stage.keeper.used("narrow").0), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_reload_costs_nobody_its_place_in_the_line() {
    let rules = ["r | scope=* | concurrency=1 delay=60000"];
    let stage = Stage::new(&rules);
    let mut running = stage.login("running");
    assert!(matches!(running.ask(READ), Verdict::Pass(_)));
    let wait = |user: &str| {
        let mut session = stage.login(user);
        let verdict = session.ask(READ);
        tokio::spawn(async move {
            session.finish(READ, verdict).await.unwrap();
            Instant::now()
        })
    };
    let first = wait("app");
    tokio::task::yield_now().await;
    for number in 0..20 {
        stage.apply(&[rules[0], &format!("x{number} | user=nobody | ratio=1")]);
        tokio::task::yield_now().await;
    }
    let second = wait("app");
    tokio::task::yield_now().await;
    running.answer(READ, true);
    let when = first.await.unwrap();
    second.await.unwrap();
    assert_eq!(when, Instant::now(), "both pass, one after the other");
    assert_eq!(stage.keeper.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_raised_limit_lets_those_in_who_wait() {
    let stage = Stage::new(&["r | scope=* | concurrency=0 delay=60000"]);
    let mut session = stage.login("app");
    let verdict = session.ask(READ);
    let waits = tokio::spawn(async move { session.finish(READ, verdict).await.map(|()| Instant::now()) });
    advance(Duration::from_secs(5)).await;
    let raised = Instant::now();
    stage.apply(&["r | scope=* | concurrency=1 delay=60000"]);
    assert_eq!(waits.await.unwrap().unwrap(), raised);
}

#[tokio::test(start_paused = true)]
async fn a_lock_holder_waits_a_little_and_overdraws() {
    let mut setup = Setup::default();
    setup.defaults.graces.lock = Duration::ZERO;
    let stage = setup.stage(&["r | scope=* | concurrency=1 delay=60000"]);
    let mut one = stage.login("one");
    assert!(matches!(one.ask(READ), Verdict::Pass(_)));
    let mut holder = stage.login("holder");
    holder.state.holds_locks = true;
    let start = Instant::now();
    let verdict = holder.ask(READ);
    let permit = holder.admitted(verdict).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(250));
    assert_eq!(stage.counted("holder", "holder").overdrawn, 1);
    assert_eq!(stage.keeper.used("r"), (2, 0));
    holder.answer(READ, true);
    drop(permit);
    assert_eq!(stage.keeper.used("r"), (2, 0), "as long as it holds locks");
    holder.state.holds_locks = false;
    holder.run("UNLOCK TABLES").await.unwrap();
    assert_eq!(stage.keeper.used("r"), (1, 0));
    one.answer(READ, true);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn lock_holder_within_grace_counts() {
    let stage = Stage::new(&["r | scope=* | concurrency=1", "s | class=read | concurrency=9 runtime"]);
    let (mut holder, mut other) = (stage.login("holder"), stage.login("other"));
    holder.state.holds_locks = true;
    for _ in 0..3 {
        assert!(matches!(holder.ask(READ), Verdict::Pass(_)));
        assert_eq!((stage.keeper.used("r").0, stage.keeper.used("s").0), (1, 1));
        assert_eq!(other.at(READ).await, At::Held);
        holder.answer(READ, true);
        assert_eq!((stage.keeper.used("r").0, stage.keeper.used("s").0), (1, 1), "as long as it holds locks");
    }
    holder.state.holds_locks = false;
    holder.run("UNLOCK TABLES").await.unwrap();
    assert_eq!((stage.keeper.used("r").0, stage.keeper.used("s").0), (0, 0));
    assert_eq!(other.at(READ).await, At::Once);
    holder.state.holds_locks = true;
    // It does not wait, even where there is no room.
    assert!(matches!(other.ask(READ), Verdict::Pass(_)));
    assert!(matches!(holder.ask(READ), Verdict::Pass(_)));
    assert_eq!(stage.keeper.used("r").0, 2);
    drop((holder, other));
    assert_eq!((stage.keeper.used("r").0, stage.keeper.used("s").0), (0, 0));
}

/// Its first statement matched no limit, and the later ones pass because it has written.
#[tokio::test(start_paused = true)]
async fn writing_transaction_without_place_counts_once() {
    // A rule on transactions makes it a decision of another kind.
    for beside in ["x | user=nobody | ratio=1", "x | user=nobody | ratio=1 in_transaction=reject"] {
        let stage = Stage::new(&["r | class=read | concurrency=1", beside]);
        let (mut one, mut two, mut other) = (stage.login("one"), stage.login("two"), stage.login("other"));
        for session in [&mut one, &mut two] {
            session.run("BEGIN").await.unwrap();
            session.run(WRITE).await.unwrap();
        }
        assert_eq!(stage.keeper.used("r"), (0, 0));
        for used in [1, 1] {
            assert_eq!(one.at(READ).await, At::Once);
            assert_eq!(stage.keeper.used("r"), (used, 0), "one place for the unit");
        }
        assert_eq!(other.at(READ).await, At::Held);
        assert_eq!(two.at(READ).await, At::Once, "it has written");
        assert_eq!(stage.keeper.used("r"), (2, 0));
        one.run("COMMIT").await.unwrap();
        assert_eq!((stage.keeper.used("r").0, other.at(READ).await), (1, At::Held));
        two.run("ROLLBACK").await.unwrap();
        assert_eq!((stage.keeper.used("r").0, other.at(READ).await), (0, At::Once));
    }
}

#[tokio::test(start_paused = true)]
async fn reading_transaction_counts_under_later_tables_limit() {
    let stage = Stage::new(&["r | table=u | concurrency=1"]);
    let (mut one, mut other) = (stage.login("one"), stage.login("other"));
    for sql in ["BEGIN", READ, "SELECT * FROM u", "SELECT * FROM u"] {
        one.run(sql).await.unwrap();
    }
    assert_eq!(stage.keeper.used("r"), (1, 0));
    assert_eq!(other.at("SELECT a FROM u").await, At::Held);
    one.run("COMMIT").await.unwrap();
    assert_eq!(other.at("SELECT a FROM u").await, At::Once);
}

#[tokio::test(start_paused = true)]
async fn exempt_unit_counts_and_never_waits() {
    let stage = Stage::new(&["r | scope=* | concurrency=1", "e | user=dba | exempt"]);
    let (mut one, mut dba, mut other) = (stage.login("one"), stage.login("dba"), stage.login("other"));
    assert!(matches!(one.ask(READ), Verdict::Pass(_)));
    assert!(matches!(dba.ask(READ), Verdict::Pass(_)));
    assert_eq!(stage.keeper.used("r"), (2, 0));
    one.answer(READ, true);
    assert_eq!(other.at(READ).await, At::Held, "the exempt one runs");
    dba.answer(READ, true);
    assert_eq!(stage.keeper.used("r"), (0, 0));
    for sql in ["BEGIN", READ, WRITE, READ] {
        dba.run(sql).await.unwrap();
    }
    assert_eq!(stage.keeper.used("r"), (1, 0), "one place for the unit");
    dba.run("COMMIT").await.unwrap();
    assert_eq!(other.at(READ).await, At::Once);
}

#[tokio::test(start_paused = true)]
async fn unit_exempted_while_it_waits_counts() {
    let limit = "r | scope=* | concurrency=1 delay=60000";
    let stage = Stage::new(&[limit]);
    let (mut one, mut other) = (stage.login("one"), stage.login("other"));
    assert!(matches!(one.ask(READ), Verdict::Pass(_)));
    let verdict = other.ask(READ);
    let waits = tokio::spawn(async move { (other.admitted(verdict).await.unwrap(), other) });
    tokio::task::yield_now().await;
    stage.apply(&[limit, "e | user=other | exempt"]);
    let (permit, mut other) = waits.await.unwrap();
    assert_eq!(stage.keeper.used("r"), (2, 0));
    other.answer(READ, true);
    drop(permit);
    assert_eq!(stage.keeper.used("r"), (1, 0));
    one.answer(READ, true);
    stage.assert_settled();
}

fn passes(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Pass(_))
}

/// Else LOCK TABLES would be a way around the limit: its own unit ends at once.
#[tokio::test(start_paused = true)]
async fn a_session_with_table_locks_keeps_its_place() {
    let stage = Stage::new(&["one | user=app | concurrency=1 reject"]);
    let (mut holder, mut other) = (stage.login("app"), stage.login("app"));
    let verdict = holder.ask("LOCK TABLES t READ");
    let permit = holder.admitted(verdict).await.unwrap();
    holder.state.holds_locks = true;
    holder.answer("LOCK TABLES t READ", true);
    drop(permit);
    assert_eq!(stage.keeper.used("one").0, 1);
    assert_eq!(other.at("SELECT * FROM t").await, At::Held, "until it is refused");
    assert_eq!(holder.at("SELECT * FROM t").await, At::Once);
    assert_eq!(stage.keeper.used("one").0, 1);
    holder.state.holds_locks = false;
    holder.run("UNLOCK TABLES").await.unwrap();
    assert_eq!(stage.keeper.used("one").0, 0);
    assert_eq!(other.at("SELECT * FROM t").await, At::Once);
}
