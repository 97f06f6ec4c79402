//! Transactions are refused or complete, whatever the client makes of errors.

use std::time::Duration;

use tokio::time::{Instant, advance};

use crate::port::Verdict;
use crate::refusal::Reason;
use crate::stage::{At, Session, Setup, Stage, times};
use crate::stats::Effect;

const WRITE: &str = "UPDATE t SET a = 1";
const READ: &str = "SELECT * FROM t";

/// Ten data statements between a beginning and an end.
struct Kind {
    name: &'static str,
    begin: &'static [&'static str],
    data: [&'static str; 10],
}

const KINDS: [Kind; 4] = [
    Kind { name: "writes first", begin: &["BEGIN"], data: [WRITE; 10] },
    Kind {
        name: "reads, then writes",
        begin: &["BEGIN"],
        data: [READ, READ, READ, READ, WRITE, WRITE, READ, WRITE, WRITE, WRITE],
    },
    Kind { name: "autocommit=0, writes", begin: &["SET autocommit = 0"], data: [WRITE; 10] },
    Kind {
        name: "autocommit=0, reads first",
        begin: &["SET autocommit = 0"],
        data: [READ, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE],
    },
];

/// How many data statements went upstream before the COMMIT of a client that ignores every error.
async fn transaction(session: &mut Session, kind: &Kind) -> usize {
    for sql in kind.begin {
        session.run(sql).await.expect("control passes");
    }
    let mut done = 0;
    for (number, sql) in kind.data.iter().enumerate() {
        let passed = match number % 2 {
            0 => session.run(sql).await.is_ok(),
            _ => {
                let verdict = session.ask_prepared(sql);
                session.finish(sql, verdict).await.is_ok()
            }
        };
        done += usize::from(passed);
    }
    session.run("COMMIT").await.expect("COMMIT passes");
    done
}

/// A write in a transaction is decided even where reads are not.
#[tokio::test(start_paused = true)]
async fn none_is_committed_in_part() {
    for rules in [&["r | scope=* | ratio=0.9 reject"][..], &["r | class=write | ratio=0.9 delay=250"]] {
        let stage = Stage::new(rules);
        for kind in &KINDS {
            let mut session = stage.login("app");
            let (mut complete, mut writes) = (0, 0);
            for _ in 0..1000 {
                let done = transaction(&mut session, kind).await;
                let reads = kind.data.iter().take_while(|sql| **sql == READ).count();
                assert!(done == 10 || done <= reads, "{}: {done} statements of ten", kind.name);
                complete += usize::from(done == 10);
                writes += done;
            }
            assert!(complete > 0 && complete < 600, "{}, {rules:?}: {complete} of 1000, {writes}", kind.name);
        }
        stage.assert_settled();
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_sticks_until_the_transaction_ends() {
    let stage = Stage::new(&["r | class=write | ratio=1 reject"]);
    let mut session = stage.login("app");
    session.run("BEGIN").await.unwrap();
    session.run(READ).await.unwrap();
    let first = session.run(WRITE).await.unwrap_err();
    // The rule is gone; what was refused stays so.
    stage.apply(&[]);
    for sql in [READ, WRITE, "SELECT * FROM u"] {
        assert_eq!(session.run(sql).await.unwrap_err(), first, "{sql}");
    }
    session.run("SELECT 1").await.unwrap();
    session.run("ROLLBACK").await.unwrap();
    session.run(WRITE).await.unwrap();
    let counted = stage.counted("app", "app");
    assert_eq!(counted.rejected, 4);
    assert_eq!(times(&counted, "r", Reason::Ratio, Effect::Rejected), 1);
    assert_eq!(times(&counted, "-", Reason::Transaction, Effect::Rejected), 3);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn sticky_refusals_pause_too() {
    let mut setup = Setup::default();
    setup.defaults.reject_pause = Duration::from_millis(150);
    let stage = setup.stage(&["r | class=write | ratio=1 reject"]);
    let mut session = stage.login("app");
    session.run("BEGIN").await.unwrap();
    for _ in 0..3 {
        let start = Instant::now();
        session.run(WRITE).await.unwrap_err();
        assert!(start.elapsed() >= Duration::from_millis(50), "{:?}", start.elapsed());
    }
}

/// No query that waits longer than a second holds metadata locks, and none longer than 250 ms row locks.
#[tokio::test(start_paused = true)]
async fn what_holds_something_is_not_held_long() {
    let mut setup = Setup::default();
    setup.defaults.max_delay = Duration::from_secs(3600);
    setup.defaults.graces.lock_statements = 2;
    let stage = setup.stage(&["r | class=write,ddl | hold"]);
    let mut session = stage.login("app");
    session.run("BEGIN").await.unwrap();
    session.run(READ).await.unwrap();
    let start = Instant::now();
    let refusal = session.run(WRITE).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    assert!(refusal.message.contains("reason=hold"), "{}", refusal.message);
    session.run("ROLLBACK").await.unwrap();

    stage.apply(&[]);
    session.run("BEGIN").await.unwrap();
    session.run(WRITE).await.unwrap();
    stage.apply(&["r | class=write,ddl | hold"]);
    let waits = async |session: &mut Session, sql: &str| {
        let start = Instant::now();
        let ran = session.run(sql).await;
        (start.elapsed().as_millis(), ran.is_ok())
    };
    assert_eq!(waits(&mut session, WRITE).await, (0, true));
    assert_eq!(waits(&mut session, READ).await, (0, true));
    // Its grace is over.
    assert_eq!(waits(&mut session, WRITE).await, (250, true));
    assert_eq!(waits(&mut session, "COMMIT; BEGIN; UPDATE t SET a = 1").await, (1000, false));
    assert_eq!(waits(&mut session, "COMMIT").await, (0, true));
    stage.assert_settled();
}

/// Where it was chosen so, what has only read waits for longer; what may hold row locks does not.
#[tokio::test(start_paused = true)]
async fn what_has_only_read_is_held_as_long_as_was_chosen() {
    let lag = "lag replication_lag 5 | | binary delay=3600000 after_reads=30000";
    let mut setup = Setup::gated(&[lag]);
    setup.defaults.max_delay = Duration::from_secs(3600);
    setup.defaults.max_delay_after_reads = Duration::from_secs(20);
    let waits = async |session: &mut Session, sql: &str| {
        let start = Instant::now();
        let ran = session.run(sql).await;
        (start.elapsed().as_secs(), ran.is_ok())
    };
    let stage = setup.stage(&[]);
    for begin in ["BEGIN", "SET autocommit = 0"] {
        for (rules, lag, expected) in [(&[][..], 6.0, 30), (&["r | class=write,ddl | hold"], 1.0, 20)] {
            stage.apply(&[]);
            stage.measure(&[("replication_lag", 1.0)]).await;
            let [mut read, mut wrote] = [stage.login("app"), stage.login("app")];
            for (session, first) in [(&mut read, READ), (&mut wrote, WRITE)] {
                session.run(begin).await.unwrap();
                session.run(first).await.unwrap();
            }
            stage.measure(&[("replication_lag", lag)]).await;
            stage.apply(rules);
            assert_eq!(waits(&mut read, WRITE).await, (expected, false), "{begin}, {rules:?}");
            assert_eq!(waits(&mut read, WRITE).await, (0, false), "and it is refused until its end");
            assert_eq!(waits(&mut read, "COMMIT").await, (0, true));
            assert_eq!(waits(&mut wrote, WRITE).await, (0, true), "what holds locks must finish");
            assert_eq!(waits(&mut wrote, "COMMIT; BEGIN; UPDATE t SET a = 1").await, (1, false), "{begin}, {rules:?}");
        }
    }
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn a_rule_may_say_otherwise_of_what_has_written() {
    for (words, expected) in [
        ("in_transaction=pass", (0, true)),
        ("in_transaction=delay", (250, true)),
        ("in_transaction=reject", (0, false)),
    ] {
        let stage = Stage::new(&[]);
        let mut session = stage.login("app");
        session.run("BEGIN").await.unwrap();
        session.run(WRITE).await.unwrap();
        stage.apply(&[&format!("r | scope=* | ratio=1 delay=60000 {words}")]);
        let start = Instant::now();
        let ran = session.run(WRITE).await.is_ok();
        assert_eq!((start.elapsed().as_millis(), ran), expected, "{words}");
        session.run("COMMIT").await.unwrap();
        stage.assert_settled();
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_commits_is_judged_again() {
    let stage = Stage::new(&[]);
    let mut session = stage.login("app");
    session.run("BEGIN").await.unwrap();
    session.run(READ).await.unwrap();
    stage.apply(&["r | scope=* | ratio=1 reject"]);
    assert_eq!(session.at(READ).await, At::Once);
    advance(Duration::from_secs(30)).await;
    assert_eq!(session.at(READ).await, At::Refused);
}

#[tokio::test(start_paused = true)]
async fn a_lock_holder_is_free_for_its_grace_and_never_refused() {
    let stage = Stage::new(&["r | class=read | ratio=1 reject"]);
    let mut session = stage.login("app");
    session.run("LOCK TABLES t READ").await.unwrap();
    session.state.holds_locks = true;
    assert_eq!(session.at(READ).await, At::Once);
    advance(Duration::from_secs(31)).await;
    let start = Instant::now();
    session.run(READ).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(250));
    session.state.holds_locks = false;
    assert_eq!(session.at(READ).await, At::Refused);
}

/// KILL QUERY while it is held: nothing was refused, and nothing sticks.
#[tokio::test(start_paused = true)]
async fn a_killed_hold_leaves_the_transaction_as_it_was() {
    let stage = Stage::new(&["r | class=write | hold"]);
    let mut session = stage.login("app");
    session.run("BEGIN").await.unwrap();
    session.run(READ).await.unwrap();
    let Verdict::Hold(hold) = session.ask(WRITE) else { panic!("held") };
    drop(hold);
    session.run(READ).await.unwrap();
    assert_eq!(stage.counted("app", "app").left, 1);
    stage.assert_settled();
}

/// The pause before a refusal is a wait too, for those behind what the transaction has locked.
#[tokio::test(start_paused = true)]
async fn the_pause_before_a_refusal_makes_no_wait_longer_than_a_second() {
    let mut setup = Setup::default();
    setup.defaults.max_delay = Duration::from_secs(3600);
    setup.defaults.reject_pause = Duration::from_secs(10);
    let stage = setup.stage(&[]);
    for (before, rule, sql) in [
        (READ, "r | class=write,ddl | hold", WRITE),
        (WRITE, "r | class=write,ddl | hold", "ALTER TABLE t ADD b INT"),
        (WRITE, "r | class=write,ddl | hold", "COMMIT; BEGIN; UPDATE t SET a = 1"),
        (READ, "r | class=write,ddl | ratio=1 reject", WRITE),
        (WRITE, "r | class=write,ddl | ratio=1 reject", "ALTER TABLE t ADD b INT"),
    ] {
        stage.apply(&[]);
        let mut session = stage.login("app");
        session.run("BEGIN").await.unwrap();
        session.run(before).await.unwrap();
        stage.apply(&[rule]);
        // The second is refused because the first was.
        for sql in [sql, WRITE] {
            let start = Instant::now();
            session.run(sql).await.unwrap_err();
            assert!(start.elapsed() <= Duration::from_secs(1), "{before}, {sql}: {:?}", start.elapsed());
        }
        session.run("ROLLBACK").await.unwrap();
        let start = Instant::now();
        session.run(WRITE).await.unwrap_err();
        assert!(start.elapsed() > Duration::from_secs(1), "it holds nothing now: {:?}", start.elapsed());
    }
}
