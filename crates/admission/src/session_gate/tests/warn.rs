//! What only warns changes nothing and is counted.

use health::Flow;
use rules::Mode;

use crate::port::Verdict;
use crate::refusal::Reason;
use crate::stage::{At, Setup, Stage, times};
use crate::stats::Effect;

const READ: &str = "SELECT * FROM t";

#[tokio::test(start_paused = true)]
async fn shares() {
    for (setup, rule) in [
        (Setup::default(), "r | scope=* | ratio=0.5 reject warn"),
        (Setup::in_mode(Mode::Warn), "r | scope=* | ratio=0.5 reject"),
        (Setup::in_mode(Mode::Warn), "r | scope=* | ratio=0.5 reject warn"),
    ] {
        let stage = setup.stage(&[rule]);
        let mut session = stage.login("app");
        for _ in 0..1000 {
            assert_eq!(session.at(READ).await, At::Once);
        }
        let counted = stage.counted("app", "app");
        assert_eq!((counted.passed, counted.held, counted.rejected), (1000, 0, 0));
        assert!(counted.warned.abs_diff(500) <= 64, "{rule}: {}", counted.warned);
        assert_eq!(times(&counted, "r", Reason::Ratio, Effect::Warned), counted.warned);
        assert_eq!(stage.keeper.policy().rules.rules()[0].hits().matched(), 1000);
        stage.assert_settled();
    }
}

#[tokio::test(start_paused = true)]
async fn off_does_not_even_count() {
    for (setup, rule) in [
        (Setup::default(), "r | scope=* | ratio=1 concurrency=0 connections=0 reject off"),
        (Setup::in_mode(Mode::Off), "r | scope=* | ratio=1 concurrency=0 connections=0 reject"),
    ] {
        let stage = setup.stage(&[rule]);
        assert_eq!(stage.login("app").at(READ).await, At::Once);
        let counted = stage.counted("app", "app");
        assert_eq!((counted.passed, counted.warned, counted.by_rule.len()), (1, 0, 0));
        assert_eq!(stage.keeper.used("r"), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn concurrency() {
    for (setup, rule) in [
        (Setup::default(), "r | scope=* | concurrency=2 warn"),
        (Setup::in_mode(Mode::Warn), "r | scope=* | concurrency=2"),
    ] {
        let stage = setup.stage(&[rule]);
        let mut sessions: Vec<_> = (0..5).map(|_| stage.login("app")).collect();
        for session in &mut sessions {
            session.run("BEGIN").await.unwrap();
            session.run(READ).await.unwrap();
            session.run("UPDATE t SET a = 1").await.unwrap();
        }
        // Five at once under a limit of two: three would have waited, each once.
        let counted = stage.counted("app", "app");
        assert_eq!((counted.warned, times(&counted, "r", Reason::Concurrency, Effect::Warned)), (3, 3), "{rule}");
        assert_eq!(stage.keeper.used("r"), (5, 0));
        for session in &mut sessions {
            session.run("COMMIT").await.unwrap();
        }
        assert_eq!(stage.keeper.used("r"), (0, 0));
        for session in &mut sessions {
            session.run(READ).await.unwrap();
        }
        assert_eq!(stage.counted("app", "app").warned, 3, "one after the other nobody would have waited");
        stage.assert_settled();
    }
}

/// As under a limit in force, but without a warning: in force it would not have waited either.
#[tokio::test(start_paused = true)]
async fn units_that_pass_for_other_reasons_count_under_warning_limits() {
    for (setup, rule) in [
        (Setup::default(), "r | scope=* | concurrency=1 warn"),
        (Setup::in_mode(Mode::Warn), "r | scope=* | concurrency=1"),
    ] {
        let stage = setup.stage(&[rule, "e | user=dba | exempt"]);
        let (mut dba, mut holder, mut other) = (stage.login("dba"), stage.login("holder"), stage.login("other"));
        holder.state.holds_locks = true;
        assert!(matches!(dba.ask(READ), Verdict::Pass(_)));
        assert!(matches!(holder.ask(READ), Verdict::Pass(_)));
        assert_eq!(stage.keeper.used("r"), (2, 0), "{rule}");
        assert_eq!(other.at(READ).await, At::Once);
        for (name, warned) in [("dba", 0), ("holder", 0), ("other", 1)] {
            assert_eq!(stage.counted(name, name).warned, warned, "{name}, {rule}");
        }
        dba.answer(READ, true);
        holder.state.holds_locks = false;
        holder.answer(READ, true);
        assert_eq!(stage.keeper.used("r"), (0, 0), "{rule}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_enforced_is_not_also_warned_of() {
    let stage = Stage::new(&["r | scope=* | ratio=0.5 reject", "w | scope=* | concurrency=1 warn"]);
    let mut session = stage.login("app");
    for _ in 0..200 {
        let _ = session.run(READ).await;
    }
    let counted = stage.counted("app", "app");
    assert_eq!(counted.warned, 0, "{counted:?}");
    assert!(counted.rejected > 50 && counted.passed > 50);
    assert_eq!(stage.keeper.used("w"), (0, 0));
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn a_warning_beside_a_hold_is_counted_when_the_unit_passes() {
    let stage = Stage::new(&["h | scope=* | hold delay=60000 expires=5000", "w | scope=* | concurrency=0 warn"]);
    let mut session = stage.login("app");
    let Verdict::Hold(hold) = session.ask(READ) else { panic!("held") };
    assert_eq!((stage.counted("app", "app").warned, stage.keeper.used("w").0), (0, 0));
    let permit = hold.await.unwrap();
    assert_eq!((stage.counted("app", "app").warned, stage.keeper.used("w").0), (1, 1));
    let _ = session.keep(permit);
    session.answer(READ, true);
    assert_eq!(stage.keeper.used("w").0, 0);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn connections() {
    for (setup, rule) in [
        (Setup::default(), "r | user=app | connections=1 warn"),
        (Setup::in_mode(Mode::Warn), "r | user=app | connections=1"),
    ] {
        let stage = setup.stage(&[rule]);
        let sessions: Vec<_> = (0..3).map(|_| stage.login("app")).collect();
        let counted = stage.counted("app", "app");
        assert_eq!(times(&counted, "r", Reason::Connections, Effect::Warned), 2, "{rule}");
        assert_eq!(stage.keeper.used("r"), (0, 3));
        drop(sessions);
        assert_eq!(stage.keeper.used("r"), (0, 0));
    }
}

/// While it is not counted where it runs, the leave of the gate that is enforced says that it will be.
#[tokio::test(start_paused = true)]
async fn a_gate_that_only_warns_takes_nobodys_leave_away() {
    let gates = ["threads threads_running 40 | | permits delay=60000", "lag replication_lag 5 | | binary warn"];
    let stage = Setup::gated(&gates).stage(&["line | user=other | concurrency=9"]);
    let (mut runs, mut waits, mut comes) = (stage.login("app"), stage.login("other"), stage.login("app"));
    stage.measure(&[("threads_running", 10.0), ("replication_lag", 9.0)]).await;
    assert!(matches!(runs.ask(READ), Verdict::Pass(_)));
    stage.measure(&[("threads_running", 21.0), ("replication_lag", 9.0)]).await;
    let verdict = waits.ask(READ);
    let waiting = tokio::spawn(async move { waits.finish(READ, verdict).await });
    tokio::task::yield_now().await;
    assert_eq!(stage.keeper.limits.waiting(), 1, "one runs, and one may");
    // There is room for one more, and before those are called who wait in another line somebody comes.
    let slot = stage.keeper.policy().gates.iter().find(|placed| &**placed.name() == "threads").unwrap().slot;
    stage.keeper.limits.set_flow(slot, Flow::AtOnce(2.0), Some(21.0));
    assert!(matches!(comes.ask("UPDATE t SET a = 1"), Verdict::Pass(_)));
    assert_eq!(stage.counted("app", "app").warned, 1);
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "two run, and two may");
    comes.answer(READ, true);
    waiting.await.unwrap().unwrap();
}
