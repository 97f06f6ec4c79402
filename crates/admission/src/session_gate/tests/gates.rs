//! Gates over whole sessions.

use std::time::Duration;

use health::{Flow, Reading, Unknown};
use tokio::time::{Instant, advance};

use crate::gates::Committing;
use crate::port::{Admission, Verdict};
use crate::refusal::Reason;
use crate::stage::{At, Session, Setup, Stage, Who, times};
use crate::stats::Effect;

const READ: &str = "SELECT * FROM t";
const WRITE: &str = "UPDATE t SET a = 1";
const CALL: &str = "CALL p()";
const UNPARSED: &str = "GIBBERISH";
const DDL: &str = "ALTER TABLE t ADD b INT";
const CONTROL: [&str; 4] = ["SELECT 1", "SET @a = 1", "SHOW TABLES", "COMMIT"];

const LAG: &str = "replication_lag replication_lag 5 | | binary";
const THREADS: &str = "threads_running threads_running 40 | | binary";

fn gated(gates: &[&'static str], rules: &[&str]) -> Stage {
    Setup::gated(gates).stage(rules)
}

async fn at_once(session: &mut Session, statements: &[&str]) -> Vec<bool> {
    let mut passed = Vec::new();
    for sql in statements {
        passed.push(session.at(sql).await == At::Once);
    }
    passed
}

#[tokio::test(start_paused = true)]
async fn all_metrics_count_together() {
    let stage = gated(&[LAG, THREADS], &[]);
    for (lag, threads, read, write) in
        [(1.0, 10.0, true, true), (6.0, 10.0, true, false), (1.0, 50.0, false, false), (6.0, 50.0, false, false)]
    {
        let mut session = stage.login("app");
        stage.measure(&[("replication_lag", lag), ("threads_running", threads)]).await;
        let passed = at_once(&mut session, &[READ, WRITE, CALL, UNPARSED, DDL]).await;
        assert_eq!(passed, [read, write, write, write, write], "lag {lag}, threads {threads}");
        assert!(at_once(&mut session, &CONTROL).await.iter().all(|passed| *passed));
    }
}

#[tokio::test(start_paused = true)]
async fn text_and_binary_protocol_stand_before_the_same_gate() {
    let stage = gated(&[LAG], &[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let mut session = stage.login("app");
    for (sql, passes) in [(READ, true), (WRITE, false), ("INSERT INTO t VALUES (1)", false)] {
        let verdict = session.ask_prepared(sql);
        assert_eq!(session.sort(sql, verdict).await == At::Once, passes, "{sql}");
        assert_eq!(session.at(sql).await == At::Once, passes, "{sql}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_goes_when_the_gate_opens() {
    let stage = gated(&[LAG], &[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let mut session = stage.login("app");
    let verdict = session.ask(WRITE);
    let waits = tokio::spawn(async move { session.finish(WRITE, verdict).await });
    stage.measure(&[("replication_lag", 4.5)]).await;
    assert!(!waits.is_finished(), "it opens under four fifths");
    stage.measure(&[("replication_lag", 3.0)]).await;
    waits.await.unwrap().unwrap();
    let counted = stage.counted("app", "app");
    assert_eq!(times(&counted, "replication_lag", Reason::Gate, Effect::Held), 1);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn what_waits_too_long_is_refused_and_told_why() {
    for (gate, waits) in [(LAG, 3000), ("replication_lag replication_lag 5 | | binary reject", 0)] {
        let stage = gated(&[gate], &[]);
        stage.measure(&[("replication_lag", 6.0)]).await;
        let mut session = stage.login("app");
        let start = Instant::now();
        let refusal = session.run(WRITE).await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::from_millis(waits));
        assert!(refusal.message.contains("rule=- reason=gate:replication_lag client=app"), "{}", refusal.message);
        assert_eq!(refusal.code, 1226);
        stage.assert_settled();
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_wrote_finishes_and_one_that_read_does_not_begin_to_write() {
    let stage = gated(&[LAG], &[]);
    stage.measure(&[("replication_lag", 1.0)]).await;
    let (mut wrote, mut read) = (stage.login("wrote"), stage.login("read"));
    for (session, statements) in [(&mut wrote, ["BEGIN", WRITE]), (&mut read, ["BEGIN", READ])] {
        for sql in statements {
            session.run(sql).await.unwrap();
        }
    }
    stage.measure(&[("replication_lag", 6.0)]).await;
    assert_eq!(at_once(&mut wrote, &[WRITE, READ, WRITE, "COMMIT"]).await, [true; 4]);
    assert_eq!(read.at(READ).await, At::Once);
    let start = Instant::now();
    assert!(read.run(WRITE).await.is_err());
    assert_eq!(start.elapsed(), Duration::from_secs(1), "it may hold metadata locks");
    assert_eq!(read.at("ROLLBACK").await, At::Once);
    assert_eq!(wrote.at(WRITE).await, At::Held, "the next transaction is another one");
}

#[tokio::test(start_paused = true)]
async fn a_gate_concerns_whom_it_names_whatever_they_say_of_themselves() {
    let stage = gated(&["lag replication_lag 5 | user=etl | binary"], &[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    for (who, passes) in [("etl", false), ("app", true), ("etl tollgate_client=app", false)] {
        assert_eq!(stage.login(who).at(WRITE).await == At::Once, passes, "{who}");
    }
    let stage = gated(&["lag replication_lag 5 | tag.team=data | binary"], &[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let mut session = stage.login("app");
    assert_eq!(session.at("UPDATE t SET a = 1 /*team='data'*/").await, At::Held);
    assert_eq!(session.at(WRITE).await, At::Once);
}

#[tokio::test(start_paused = true)]
async fn rules_exempt_skip_and_set_thresholds() {
    let stage = gated(
        &[LAG, THREADS],
        &[
            "exempt | user=exempt | exempt",
            "skips | user=skips | skip=replication_lag",
            "strict | user=strict | threshold=replication_lag:2",
            "loose | user=loose | threshold=replication_lag:10",
            "heartbeat | table=heartbeat class=write | exempt unknown=match",
        ],
    );
    let heartbeat = "REPLACE INTO heartbeat VALUES (1)";
    for (lag, threads, exempt, skips, strict, loose, other) in [
        (1.0, 10.0, true, true, true, true, true),
        (3.0, 10.0, true, true, false, true, true),
        (6.0, 10.0, true, true, false, true, false),
        (11.0, 10.0, true, true, false, false, false),
        (1.0, 50.0, true, false, false, false, false),
    ] {
        stage.measure(&[("replication_lag", lag), ("threads_running", threads)]).await;
        for (user, passes) in
            [("exempt", exempt), ("skips", skips), ("strict", strict), ("loose", loose), ("other", other)]
        {
            let mut session = stage.login(user);
            assert_eq!(session.at(WRITE).await == At::Once, passes, "{user} at lag {lag}, threads {threads}");
            assert_eq!(session.at(heartbeat).await, At::Once, "{user}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_makes_no_gate_easier() {
    let rules = ["favoured | tag.team=gold | exempt", "loose | tag.team=silver | threshold=replication_lag:10"];
    for (setup, passes) in [(Setup::gated(&[LAG]), false), (Setup { gates: vec![LAG], ..Setup::trusting("app") }, true)]
    {
        let stage = setup.stage(&rules);
        stage.measure(&[("replication_lag", 6.0)]).await;
        for team in ["gold", "silver"] {
            let sql = format!("UPDATE t SET a = 1 /*team='{team}'*/");
            assert_eq!(stage.login("app").at(&sql).await == At::Once, passes, "{team}");
        }
    }
}

/// As before the gate itself.
#[tokio::test(start_paused = true)]
async fn who_waited_for_a_rules_threshold_does_not_come_all_at_once() {
    let gate = "threads threads_running 60 | | permits delay=600000";
    let stage = gated(&[gate], &["batch | user=batch | threshold=threads:20"]);
    stage.measure(&[("threads_running", 21.0)]).await;
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let mut session = stage.login("batch");
            let verdict = session.ask(READ);
            tokio::spawn(async move {
                let permit = session.admitted(verdict).await.unwrap();
                // Its statement runs on.
                (session, permit)
            })
        })
        .collect();
    assert_eq!(stage.login("app").at(READ).await, At::Once);
    stage.measure(&[("threads_running", 19.0)]).await;
    let running = || waiting.iter().filter(|waiting| waiting.is_finished()).count();
    assert_eq!(running(), 0, "it opens under four fifths");
    let mut steps = Vec::new();
    while running() < 100 {
        let before = running();
        stage.measure(&[("threads_running", 15.0)]).await;
        steps.push(running() - before);
        assert!(steps.len() < 20 && running() - before <= (before / 2).max(1) + 1, "{steps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rules_threshold_is_not_judged_by_what_was_true_before_a_pause() {
    for rule in ["loose | user=app | threshold=replication_lag:10", "strict | user=app | threshold=replication_lag:4"] {
        let stage = gated(&[LAG], &[rule]);
        stage.measure(&[("replication_lag", 3.0)]).await;
        let mut session = stage.login("app");
        assert_eq!(session.at(WRITE).await, At::Once, "{rule}");
        stage.measured_asleep(&[("replication_lag", Reading::Value(3.0))]);
        let verdict = session.ask(WRITE);
        assert!(matches!(verdict, Verdict::Hold(_)), "{rule}: nobody has looked");
        let waits = tokio::spawn(async move { session.finish(WRITE, verdict).await });
        stage.measure(&[("replication_lag", 3.0)]).await;
        waits.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_only_warns_counts_what_it_would_have_done() {
    let stage = gated(&["lag replication_lag 5 | | binary warn"], &["exempt | user=exempt | exempt"]);
    for (lag, warned) in [(1.0, 0), (6.0, 3)] {
        stage.measure(&[("replication_lag", lag)]).await;
        for user in ["app", "exempt"] {
            let mut session = stage.login(user);
            assert_eq!(at_once(&mut session, &[WRITE, WRITE, WRITE, READ]).await, [true; 4]);
        }
        let counted = stage.counted("app", "app");
        assert_eq!(counted.warned, warned);
        assert_eq!(times(&counted, "lag", Reason::Gate, Effect::Warned), warned);
        assert_eq!(stage.counted("exempt", "exempt").warned, 0);
    }
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_is_heard_by_those_who_wait() {
    for gates in [
        vec![],
        vec!["replication_lag replication_lag 60 | | binary"],
        vec!["replication_lag replication_lag 5 | | binary off"],
    ] {
        let stage = gated(&[LAG], &[]);
        stage.measure(&[("replication_lag", 6.0)]).await;
        let mut session = stage.login("app");
        let verdict = session.ask(WRITE);
        let waits = tokio::spawn(async move { session.finish(WRITE, verdict).await });
        tokio::task::yield_now().await;
        let setup = Setup::gated(&gates);
        stage.keeper.apply(setup.policy(9, &[]));
        stage.measure(&[("replication_lag", 6.0)]).await;
        waits.await.unwrap().unwrap();
        stage.assert_settled();
    }
    let stage = gated(&[LAG], &[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let mut session = stage.login("app");
    let verdict = session.ask(WRITE);
    let waits = tokio::spawn(async move { session.finish(WRITE, verdict).await });
    tokio::task::yield_now().await;
    stage.apply(&["free | user=app | exempt"]);
    waits.await.unwrap().unwrap();
}

/// Writers wait at a closed gate; another, which is open, concerns them and everybody's reads.
#[tokio::test(start_paused = true)]
async fn reads_go_by_those_who_wait_for_a_gate_of_theirs() {
    let stage = gated(&[LAG, THREADS], &["few | user=few | concurrency=1"]);
    let bit = |gate: &str| {
        let policy = stage.keeper.policy();
        policy.gates.iter().find(|placed| &**placed.name() == gate).unwrap().slot.bit()
    };
    let (lag, threads) = (bit("replication_lag"), bit("threads_running"));
    stage.measure(&[("replication_lag", 6.0), ("threads_running", 10.0)]).await;
    let mut session = stage.login("app");
    let verdict = session.ask(WRITE);
    let waits = tokio::spawn(async move { session.finish(WRITE, verdict).await });
    stage.measure(&[("replication_lag", 6.0), ("threads_running", 10.0)]).await;
    assert_eq!(stage.keeper.limits.waiting(), 1);
    assert_eq!(stage.keeper.gates().restricting(), lag, "a read asks nobody");
    let mut other = stage.login("app");
    assert_eq!([other.at(READ).await, other.at(WRITE).await], [At::Once, At::Held]);
    stage.measure(&[("replication_lag", 1.0), ("threads_running", 10.0)]).await;
    waits.await.unwrap().unwrap();
    // All gates are open, and somebody waits in a line of theirs for something else: who needs the same must see the line.
    let mut runs = stage.login("few");
    stage.measure(&[("replication_lag", 1.0), ("threads_running", 10.0)]).await;
    assert_eq!(stage.keeper.gates().restricting(), 0);
    assert!(matches!(runs.ask(READ), Verdict::Pass(_)));
    stage.measure(&[("replication_lag", 1.0), ("threads_running", 50.0)]).await;
    let mut second = stage.login("few");
    let verdict = second.ask(READ);
    let waits = tokio::spawn(async move { second.finish(READ, verdict).await });
    // It opens by a step, and then wholly.
    stage.measure(&[("replication_lag", 1.0), ("threads_running", 10.0)]).await;
    stage.measure(&[("replication_lag", 1.0), ("threads_running", 10.0)]).await;
    assert!(stage.keeper.gates().seen().iter().all(|gate| gate.flow == Flow::Open));
    assert_eq!(stage.keeper.limits.waiting(), 1);
    assert_eq!(stage.keeper.gates().restricting(), threads);
    runs.answer(READ, true);
    waits.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_leaves_while_it_waits_is_never_let_go() {
    let stage = gated(&[LAG], &[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let mut session = stage.login("app");
    let Verdict::Hold(hold) = session.ask(WRITE) else { panic!("not held") };
    let waits = tokio::spawn(hold);
    tokio::task::yield_now().await;
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    drop(session);
    stage.assert_settled();
    stage.measure(&[("replication_lag", 1.0)]).await;
    assert_eq!(stage.keeper.gates().in_flight().work().transactions, 0.0);
}

#[tokio::test(start_paused = true)]
async fn before_anybody_has_measured_one_waits_a_moment() {
    for (stale, passes) in [("open", true), ("closed", false)] {
        let gate = match stale {
            "open" => "lag replication_lag 5 | | binary stale=open",
            _ => "lag replication_lag 5 | | binary stale=closed",
        };
        let stage = gated(&[gate], &[]);
        let lost = [("replication_lag", Reading::Unknown(Unknown::Unreachable))];
        stage.measured(&lost);
        let mut session = stage.login("app");
        let verdict = session.ask(WRITE);
        assert!(matches!(verdict, Verdict::Hold(_)));
        let waits = tokio::spawn(async move { session.finish(WRITE, verdict).await });
        tokio::task::yield_now().await;
        advance(Duration::from_millis(900)).await;
        stage.measured(&lost);
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        advance(Duration::from_millis(200)).await;
        stage.measured(&lost);
        assert_eq!(waits.await.unwrap().is_ok(), passes, "{stale}");
    }
}

#[tokio::test(start_paused = true)]
async fn connections_used_stops_logins_and_never_queries() {
    let stage = gated(
        &["connections_used connections_used 0.9 | | binary"],
        &["oncall | user=oncall | exempt", "skips | user=skips | skip=connections_used"],
    );
    let mut early = stage.login("app");
    stage.measured(&[("connections_used", Reading::Unknown(Unknown::NotYet))]);
    assert!(stage.may_connect("app").is_ok(), "nobody has measured yet");
    stage.measure(&[("connections_used", 0.6)]).await;
    assert!(stage.may_connect("app").is_ok(), "a steady share stops nothing");
    stage.measure(&[("connections_used", 0.95)]).await;
    let refusal = stage.may_connect("app").unwrap_err();
    assert_eq!((refusal.code, &refusal.sqlstate), (1040, b"08004"));
    assert!(refusal.message.contains("reason=gate:connections_used"), "{}", refusal.message);
    assert!(stage.may_connect("oncall").is_ok() && stage.may_connect("skips").is_ok());
    assert_eq!(at_once(&mut early, &[READ, WRITE, DDL]).await, [true; 3]);
    let seen = stage.keeper.gates().seen();
    assert_eq!(seen[0].logins_stopped, 1);
}

/// Rules set thresholds at login too; a gate may concern the logins of some only, or be on another metric, or only warn.
#[tokio::test(start_paused = true)]
async fn logins_are_stopped_by_who_they_are() {
    let stage = gated(
        &["used connections_used 0.9 | | binary"],
        &["strict | user=strict | threshold=used:0.5", "loose | user=loose | threshold=used:0.97"],
    );
    for (value, passes) in
        [(0.4, [true, true, true]), (0.6, [true, false, true]), (0.95, [false, false, true]), (0.98, [false; 3])]
    {
        stage.measure(&[("connections_used", value)]).await;
        let seen = ["app", "strict", "loose"].map(|who| stage.may_connect(who).is_ok());
        assert_eq!(seen, passes, "at {value}");
    }

    let stage = gated(&["threads threads_running 40 | user=batch | binary logins"], &[]);
    let mut early = stage.login("batch");
    stage.measure(&[("threads_running", 50.0)]).await;
    assert_eq!(["app", "batch"].map(|who| stage.may_connect(who).is_ok()), [true, false]);
    assert_eq!(at_once(&mut early, &[READ, WRITE, DDL]).await, [true; 3], "it concerns logins alone");

    let stage = gated(&["used connections_used 0.9 | | binary warn"], &[]);
    stage.measure(&[("connections_used", 0.95)]).await;
    assert!(stage.may_connect("app").is_ok());
    assert_eq!(stage.keeper.gates().seen()[0].logins_stopped, 1, "it would have been");
}

/// One that is looser than the gate's own lets nobody wait whom the gate itself would let pass.
#[tokio::test(start_paused = true)]
async fn a_looser_threshold_is_never_stricter() {
    let stage = gated(
        &["threads threads_running 40 | | permits"],
        &["loose | user=loose | threshold=threads:45", "strict | user=strict | threshold=threads:20"],
    );
    for (value, loose, strict) in
        [(46.0, At::Held, At::Held), (41.0, At::Held, At::Held), (39.0, At::Once, At::Held), (15.0, At::Once, At::Once)]
    {
        stage.measure(&[("threads_running", value)]).await;
        let seen = [stage.login("loose").at(READ).await, stage.login("strict").at(READ).await];
        assert_eq!(seen, [loose, strict], "at {value}");
    }
}

/// Another user on the same connection is no further connection.
#[tokio::test(start_paused = true)]
async fn who_changes_its_user_does_not_connect() {
    let stage = gated(&["used connections_used 0.9 | | binary"], &["few | user=app | connections=1"]);
    stage.measure(&[("connections_used", 0.95)]).await;
    let becomes = |who: &str| stage.keeper.may_become(&Who::new(who).client());
    assert!(stage.may_connect("app").is_err() && becomes("app").is_ok());
    let _only = stage.login("app");
    assert!(becomes("app").is_err(), "a rule's own limit counts");
}

/// The delay of commits is that of COMMIT, and of writes that commit by themselves; of what else commits nobody knows what it did besides.
#[tokio::test(start_paused = true)]
async fn what_takes_as_long_as_a_commit() {
    for (before, sql, commits) in [
        (&[][..], WRITE, true),
        (&[], READ, false),
        (&[], CALL, false),
        (&[], UNPARSED, false),
        (&[], DDL, false),
        (&["BEGIN"], WRITE, false),
        (&["SET AUTOCOMMIT = 0"], WRITE, false),
        (&["BEGIN", WRITE], WRITE, false),
        (&["BEGIN", WRITE], "COMMIT", true),
        (&["SET AUTOCOMMIT = 0", WRITE], "COMMIT", true),
        (&["BEGIN", WRITE], "ROLLBACK", false),
    ] {
        let stage = gated(&[], &[]);
        let in_flight = stage.keeper.gates().in_flight();
        let mut session = stage.login("app");
        for sql in before {
            assert_eq!(session.at(sql).await, At::Once);
        }
        let mut look = crate::gates::Look::default();
        look.look(in_flight);
        assert!(matches!(session.ask(sql), Verdict::Pass(_)));
        assert_eq!(in_flight.committing().run, u64::from(commits), "while it runs: {before:?} {sql}");
        advance(Duration::from_millis(300)).await;
        session.answer(sql, true);
        let took = look.look(in_flight).commits().map(|took| took.count);
        assert_eq!((in_flight.committing().run, took), (0, commits.then_some(1)), "{before:?} {sql}");
    }
    // One that fails, or finds nothing to change, has come back all the same.
    let stage = gated(&[], &[]);
    let mut session = stage.login("app");
    for (came_back, succeeds) in [(1, false), (2, true)] {
        assert!(matches!(session.ask(WRITE), Verdict::Pass(_)));
        session.answer_with(succeeds, 0);
        assert_eq!(stage.keeper.gates().in_flight().committing(), Committing { run: 0, came_back });
    }
}

#[tokio::test(start_paused = true)]
async fn permits_are_had_by_what_runs_upstream_and_by_nothing_else() {
    let stage = gated(&["threads threads_running 40 | | permits"], &[]);
    let mut sessions: Vec<Session> = (0..6).map(|_| stage.login("app")).collect();
    stage.measure(&[("threads_running", 10.0)]).await;
    for session in &mut sessions[..2] {
        assert!(matches!(session.ask(READ), Verdict::Pass(_)));
    }
    // Past half: from what is in flight.
    stage.measure(&[("threads_running", 21.0)]).await;
    assert_eq!(sessions[2].at(READ).await, At::Held, "two run, and two may");
    sessions[0].answer(READ, true);
    assert!(matches!(sessions[3].ask(READ), Verdict::Pass(_)), "one has ended");
    assert_eq!(sessions[4].at(READ).await, At::Held);
    sessions[1].permit().blocked_on_client();
    assert!(matches!(sessions[5].ask(READ), Verdict::Pass(_)), "one waits for its client to read");
    sessions[1].permit().resumed();
    sessions[1].permit().resumed();
    assert_eq!(
        stage.keeper.gates().seen()[0].in_flight,
        3.0,
        "its client had only been slow to send, and it runs again"
    );
    sessions[1].permit().blocked_on_client();
    sessions[1].answer(READ, true);
    assert_eq!(sessions[4].at(READ).await, At::Held, "given back once");
    drop(sessions.remove(3));
    assert_eq!(sessions[3].at(READ).await, At::Once, "its session has gone");
}

/// Transactions and rows, as they were counted.
fn committed(stage: &Stage) -> (f64, f64) {
    let work = stage.keeper.gates().in_flight().work();
    (work.transactions, work.rows)
}

#[tokio::test(start_paused = true)]
async fn work_is_what_was_committed() {
    let stage = gated(&[LAG], &[]);
    stage.measure(&[("replication_lag", 1.0)]).await;
    let mut session = stage.login("app");
    let work = || committed(&stage);
    for (statements, transactions, rows) in [
        (&[WRITE][..], 1.0, 1.0),
        (&[READ, "SELECT 1"], 1.0, 1.0),
        (&["BEGIN", WRITE, WRITE, "COMMIT"], 2.0, 3.0),
        (&["BEGIN", WRITE, "ROLLBACK"], 2.0, 3.0),
        (&["BEGIN", READ, "COMMIT"], 2.0, 3.0),
        (&[CALL], 3.0, 4.0),
        // One after the other, without a moment between them.
        (&["BEGIN", WRITE, "COMMIT AND CHAIN", WRITE, "ROLLBACK AND CHAIN", WRITE, "COMMIT"], 5.0, 6.0),
        (&["BEGIN", WRITE, "BEGIN", WRITE, "START TRANSACTION", "ROLLBACK"], 7.0, 8.0),
        // Ended by what is never held.
        (&["SET autocommit = 0", WRITE, WRITE, "SET autocommit = 1", READ], 8.0, 10.0),
        // One text that hides behind its first word, or behind the border of a transaction.
        (&["ROLLBACK; UPDATE t SET a = 1; UPDATE t SET a = 2"], 9.0, 12.0),
        (&["UPDATE t SET a = 1; BEGIN", "ROLLBACK"], 10.0, 13.0),
        (&["BEGIN", WRITE, "COMMIT; BEGIN; SELECT * FROM t", "ROLLBACK"], 11.0, 14.0),
        (&["BEGIN", WRITE, "ROLLBACK TO s; COMMIT"], 12.0, 15.0),
        (&["BEGIN", WRITE, "ROLLBACK WORK"], 12.0, 15.0),
    ] {
        for sql in statements {
            session.run(sql).await.unwrap();
        }
        assert_eq!(work(), (transactions, rows), "{statements:?}");
    }
}

/// A client that ends its statement with an error, or its transaction after a refusal, has committed no less.
#[tokio::test(start_paused = true)]
async fn work_is_what_was_committed_also_when_it_fails() {
    let stage = gated(&[LAG], &[]);
    stage.measure(&[("replication_lag", 1.0)]).await;
    let mut session = stage.login("app");
    let work = || committed(&stage);
    let fails = async |session: &mut Session, sql: &str, rows: u64| {
        let verdict = session.ask(sql);
        let _permit = session.admitted(verdict).await.unwrap();
        session.answer_with(false, rows);
    };
    fails(&mut session, "UPDATE t SET a = 1; SELECT * FROM nope", 5).await;
    assert_eq!(work(), (1.0, 5.0), "the first of the two was committed");
    fails(&mut session, WRITE, 0).await;
    assert_eq!(work(), (1.0, 5.0), "nothing was");
    fails(&mut session, CALL, 0).await;
    assert_eq!(work(), (2.0, 5.0), "it may have written before it failed");
    // A deadlock takes everything with it.
    for sql in [WRITE, CALL] {
        session.run("BEGIN").await.unwrap();
        session.run(WRITE).await.unwrap();
        let verdict = session.ask(sql);
        let _permit = session.admitted(verdict).await.unwrap();
        session.deadlocks();
        assert_eq!(work(), (2.0, 5.0), "{sql}");
    }
    // What failed had ended a transaction before.
    session.run("BEGIN").await.unwrap();
    session.run(WRITE).await.unwrap();
    session.state.in_transaction = false;
    fails(&mut session, "COMMIT; SELECT * FROM nope", 0).await;
    assert_eq!(work(), (3.0, 6.0));
    session.run("BEGIN").await.unwrap();
    session.run(WRITE).await.unwrap();
    fails(&mut session, "DROP TABLE nope", 0).await;
    session.run("ROLLBACK").await.unwrap();
    assert_eq!(work(), (4.0, 7.0));
    // What is refused in the end takes nothing with it.
    session.run("BEGIN").await.unwrap();
    session.run(WRITE).await.unwrap();
    stage.measure(&[("replication_lag", 9.0)]).await;
    session.run(DDL).await.unwrap_err();
    session.run("COMMIT").await.unwrap();
    assert_eq!(work(), (5.0, 8.0));
}

/// Lets those go whose time has come, as the one who measures does.
pub(super) fn releases(stage: &Stage) -> tokio::task::JoinHandle<()> {
    let gates = std::sync::Arc::clone(stage.keeper.gates());
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            gates.release();
        }
    })
}

/// Two users before the same gate, which lets one through each 10 ms: how long each has waited, at the 99th percentile.
async fn waits(heavy: &[&str], light: &[&str]) -> (Duration, Duration) {
    let mut setup = Setup::gated(&["lag replication_lag 5 | | binary trickle=100 delay=600000"]);
    setup.queue.per_identity = 1000;
    let stage = setup.stage(&[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let client = |stage: &Stage, who: &str, count: usize| {
        let mut session = stage.login(who);
        tokio::spawn(async move {
            let mut waited = Vec::new();
            for _ in 0..count {
                let start = Instant::now();
                session.run(WRITE).await.unwrap();
                waited.push(start.elapsed());
            }
            waited
        })
    };
    let heavy: Vec<_> = heavy.iter().map(|who| client(&stage, who, 10)).collect();
    let light: Vec<_> = light.iter().map(|who| client(&stage, who, 10)).collect();
    let releases = releases(&stage);
    let mut figures = Vec::new();
    for clients in [heavy, light] {
        let mut all = Vec::new();
        for client in clients {
            all.extend(client.await.unwrap());
        }
        all.sort_unstable();
        figures.push(all[all.len() * 99 / 100]);
    }
    releases.abort();
    (figures[0], figures[1])
}

#[tokio::test(start_paused = true)]
async fn few_connections_do_not_wait_behind_many() {
    let heavy = ["heavy"; 200];
    let (_, fifo) = waits(&heavy, &["heavy"; 5]).await;
    let (_, fair) = waits(&heavy, &["light"; 5]).await;
    assert!(fair <= fifo / 10, "fair {fair:?}, first come first served {fifo:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_name_for_each_query_gains_nothing() {
    let names: Vec<String> = (0..40).map(|n| format!("heavy tollgate_client=job-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (_, honest) = waits(&["heavy"; 40], &["light"; 5]).await;
    let (_, against) = waits(&names, &["light"; 5]).await;
    assert!(against <= honest + Duration::from_millis(50), "{against:?} instead of {honest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_crowd_that_comes_at_once_is_seen_by_itself() {
    let stage = gated(&["replication_lag replication_lag 5 | | paced"], &[]);
    stage.measure(&[("replication_lag", 0.0)]).await;
    let mut sessions: Vec<Session> = (0..48).map(|_| stage.login("job")).collect();
    let mut reader = stage.login("app");
    // Nobody has answered and nobody has measured when the last of them asks.
    let verdicts: Vec<Verdict> = sessions.iter_mut().map(|session| session.ask(WRITE)).collect();
    let passed = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Pass(_))).count();
    // Twice the 200 a second that any replica bears, for 50 ms; and the one who noticed.
    assert_eq!(passed, 21);
    assert_eq!(reader.at(READ).await, At::Once);
    let told = stage.keeper.gates().glance(Instant::now().into_std());
    assert_eq!(told.iter().map(|turned| turned.state.as_str()).collect::<Vec<_>>(), ["limiting"]);
    assert!(stage.keeper.gates().glance(Instant::now().into_std()).is_empty(), "once");
}

#[tokio::test(start_paused = true)]
async fn no_crowd_no_limit() {
    let stage = gated(&["replication_lag replication_lag 5 | | paced"], &[]);
    stage.measure(&[("replication_lag", 0.0)]).await;
    let mut sessions: Vec<Session> = (0..48).map(|_| stage.login("job")).collect();
    // Ten every quarter of a second, one after the other.
    for _ in 0..20 {
        for session in sessions.iter_mut().take(10) {
            assert_eq!(session.at(WRITE).await, At::Once);
        }
        stage.measure(&[("replication_lag", 0.0)]).await;
    }
}

/// They wait for another gate, and say nothing of what the replicas bear.
#[tokio::test(start_paused = true)]
async fn who_waits_for_another_gate_is_no_crowd_before_this_one() {
    let lag = "replication_lag replication_lag 5 | | paced";
    let stage = gated(&[lag, THREADS], &[]);
    stage.measure(&[("replication_lag", 0.0), ("threads_running", 50.0)]).await;
    let mut sessions: Vec<Session> = (0..48).map(|_| stage.login("job")).collect();
    let _held: Vec<Verdict> = sessions.iter_mut().map(|session| session.ask(WRITE)).collect();
    for _ in 0..40 {
        stage.measure(&[("replication_lag", 0.0), ("threads_running", 50.0)]).await;
        let states: Vec<_> = stage.keeper.gates().seen().iter().map(|gate| gate.state.as_str()).collect();
        assert_eq!(states, ["open", "closed"]);
    }
    let borne = stage.keeper.gates().borne();
    assert!(borne.iter().all(|(_, borne)| *borne <= 200.0), "{borne:?}");
}
