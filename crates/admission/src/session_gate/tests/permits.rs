//! A permit, or a hold, that is dropped at any point of a session leaves nothing behind: no place, nobody in a queue, nothing that
//! counts as running.

use std::task::{Context, Waker};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::advance;

use crate::limits::Slot;
use crate::port::Verdict;
use crate::stage::{Session, Setup, Stage};

const SESSIONS: u64 = 4_000;
const STATEMENTS: [&str; 8] = [
    "BEGIN",
    "COMMIT",
    "SELECT * FROM t",
    "UPDATE t SET a = 1",
    "CALL p()",
    "CREATE VIEW v AS SELECT 1",
    "ALTER TABLE t ADD b INT",
    "SELECT 1",
];
const RULES: [&str; 5] = [
    "limit | class=write,read | concurrency=2 delay=2000",
    "shadow | class=write | concurrency=1 warn",
    "dice | class=read | ratio=0.3",
    "ddl | class=ddl user=app | hold",
    "free | user=ops | exempt",
];
const GATES: [&str; 2] = ["threads threads_running 10 | | permits", "lag replication_lag 5 | class=write | paced"];

/// When it is dropped.
#[derive(Debug, Clone, Copy)]
enum Point {
    /// Before anybody has waited for it.
    Verdict,
    /// After some waiting.
    Hold,
    /// While it runs.
    Running,
    /// While the client does not read.
    Blocked,
    /// When the client has sent the rest.
    Resumed,
}

const POINTS: [Point; 5] = [Point::Verdict, Point::Hold, Point::Running, Point::Blocked, Point::Resumed];

fn stage() -> Stage {
    Setup::gated(&GATES).stage(&RULES)
}

fn assert_nothing_is_left(stage: &Stage, when: &str) {
    let keeper = &stage.keeper;
    assert_eq!((keeper.limits.waiting(), keeper.waiting()), (0, 0), "{when}: somebody waits");
    for rule in ["limit", "shadow"] {
        assert_eq!((keeper.limits.used(rule), keeper.shadows.used(rule)), (0, 0), "{when}: places under {rule}");
    }
    for slot in [Slot(0), Slot(1)] {
        assert_eq!(keeper.gates().in_flight().of(slot), 0, "{when}: it counts as running at {slot:?}");
    }
    assert_eq!(keeper.gates().in_flight().committing().run, 0, "{when}: it counts as a commit");
}

/// One statement, dropped at this point if it comes so far. Whether it was.
async fn drop_at(session: &mut Session, sql: &str, point: Point) -> bool {
    let verdict = session.ask(sql);
    match (verdict, point) {
        (verdict, Point::Verdict) => {
            drop(verdict);
            session.drop_permit();
            return true;
        }
        (Verdict::Refuse(_), _) => return false,
        (Verdict::Hold(mut hold), Point::Hold) => {
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..3 {
                if hold.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                advance(Duration::from_millis(70)).await;
            }
            return true;
        }
        (Verdict::Hold(hold), _) => match hold.await {
            Ok(permit) => drop(session.keep(permit)),
            Err(_) => return false,
        },
        (Verdict::Pass(_), _) => {}
    }
    match point {
        Point::Verdict | Point::Hold | Point::Running => {}
        Point::Blocked => session.permit().blocked_on_client(),
        Point::Resumed => {
            session.permit().blocked_on_client();
            session.permit().resumed();
        }
    }
    session.drop_permit();
    true
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_point_it_leaves_nothing_behind() {
    let mut dropped = [0; POINTS.len()];
    for seed in 0..SESSIONS {
        let mut dice = SmallRng::seed_from_u64(seed);
        let stage = stage();
        let load = if dice.random_bool(0.5) { 3.0 } else { 9.0 };
        stage.measure(&[("threads_running", load), ("replication_lag", dice.random_range(0.0..8.0))]).await;
        let user = ["app", "etl", "ops"][dice.random_range(0..3)];
        let mut session = stage.login(user);
        let point = POINTS[dice.random_range(0..POINTS.len())];
        for _ in 0..dice.random_range(0..5) {
            let sql = STATEMENTS[dice.random_range(0..STATEMENTS.len())];
            let _ = session.run(sql).await;
        }
        let sql = STATEMENTS[dice.random_range(0..STATEMENTS.len())];
        if drop_at(&mut session, sql, point).await {
            dropped[point as usize] += 1;
        }
        if !session.state.in_transaction && seed % 2 == 0 {
            // Not even while the session lives on.
            assert_nothing_is_left(&stage, &format!("seed {seed}, {point:?}, {sql}, before it ends"));
        }
        drop(session);
        assert_nothing_is_left(&stage, &format!("seed {seed}, {point:?}, {sql}"));
    }
    assert!(dropped.iter().all(|count| *count > 100), "{dropped:?}");
}
