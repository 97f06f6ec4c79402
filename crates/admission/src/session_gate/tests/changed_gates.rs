//! Gates that a new policy brings, renames or turns from warning to enforcing; and one that must not see itself.

use std::time::Duration;

use tokio::time::advance;

use crate::stage::{At, Setup, Stage};

const READ: &str = "SELECT * FROM t";
const WRITE: &str = "UPDATE t SET a = 1";

/// A new policy with these gates.
fn with_gates(stage: &Stage, gates: &[&'static str]) {
    let generation = stage.keeper.policy().generation + 1;
    stage.keeper.apply(Setup::gated(gates).policy(generation, &[]));
}

/// Nobody slips through between the old gate and the first look of the new one.
#[tokio::test(start_paused = true)]
async fn a_closed_gate_that_is_renamed_lets_nobody_out() {
    let stage = Setup::gated(&["lag replication_lag 5 | | binary delay=60000"]).stage(&[]);
    stage.measure(&[("replication_lag", 9.0)]).await;
    let mut waits = stage.login("app");
    let verdict = waits.ask(WRITE);
    let waits = tokio::spawn(async move { waits.finish(WRITE, verdict).await });
    advance(Duration::from_millis(10)).await;
    with_gates(&stage, &["late replication_lag 5 | | binary delay=60000"]);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.keeper.waiting(), 1);
    assert_eq!(stage.login("other").at(WRITE).await, At::Held);
    assert_eq!(stage.login("other").at(READ).await, At::Once);
    stage.measure(&[("replication_lag", 1.0)]).await;
    waits.await.unwrap().unwrap();
    assert_eq!(stage.login("other").at(WRITE).await, At::Once);
}

/// What it knows, it acts on at once: a metric may be asked only once a minute.
#[tokio::test(start_paused = true)]
async fn a_gate_that_only_warned_enforces_from_the_reload_on() {
    let stage = Setup::gated(&["lag replication_lag 5 | | binary warn"]).stage(&[]);
    stage.measure(&[("replication_lag", 9.0)]).await;
    assert_eq!(stage.login("app").at(WRITE).await, At::Once);
    with_gates(&stage, &["lag replication_lag 5 | | binary"]);
    assert_eq!(stage.login("app").at(WRITE).await, At::Held);
    with_gates(&stage, &["lag replication_lag 5 | | binary warn"]);
    assert_eq!(stage.login("app").at(WRITE).await, At::Once);
}

/// Else it could never become shorter, as long as anybody comes.
#[tokio::test(start_paused = true)]
async fn who_waits_because_the_queue_is_long_is_not_counted_in_its_length() {
    let gates = ["lag replication_lag 5 | | binary delay=60000", "queue queue_length 1 | | binary delay=60000"];
    let stage = Setup::gated(&gates).stage(&[]);
    let wait = |sql: &'static str| {
        let mut session = stage.login("app");
        let verdict = session.ask(sql);
        tokio::spawn(async move { session.finish(sql, verdict).await })
    };
    stage.measure(&[("replication_lag", 9.0), ("queue_length", 0.0)]).await;
    let at_lag = [wait(WRITE), wait(WRITE)];
    advance(Duration::from_millis(10)).await;
    assert_eq!((stage.keeper.waiting(), stage.keeper.queue_length()), (2, 2));
    stage.measure(&[("replication_lag", 9.0), ("queue_length", 2.0)]).await;
    let at_queue = [wait(READ), wait(READ), wait(READ)];
    advance(Duration::from_millis(10)).await;
    assert_eq!((stage.keeper.waiting(), stage.keeper.queue_length()), (5, 2));
    stage.measure(&[("replication_lag", 1.0), ("queue_length", 0.0)]).await;
    for waits in at_lag.into_iter().chain(at_queue) {
        stage.measure(&[("replication_lag", 1.0), ("queue_length", 0.0)]).await;
        waits.await.unwrap().unwrap();
    }
    assert_eq!((stage.keeper.waiting(), stage.keeper.queue_length()), (0, 0));
}

/// Who waits for its turn at a pace waits, also in the moment in which the next turn comes.
#[tokio::test(start_paused = true)]
async fn who_waits_for_a_turn_is_counted_when_the_turn_has_come() {
    let gates = ["lag replication_lag 5 | | binary trickle=100 delay=60000", "queue queue_length 9 | | binary"];
    let stage = Setup::gated(&gates).stage(&[]);
    stage.measure(&[("replication_lag", 9.0), ("queue_length", 0.0)]).await;
    let waits = (0..6).map(|_| {
        let mut session = stage.login("app");
        let verdict = session.ask(WRITE);
        tokio::spawn(async move { session.finish(WRITE, verdict).await })
    });
    let waits = waits.collect::<Vec<_>>();
    advance(Duration::from_millis(50)).await;
    assert!(stage.keeper.queue_length() >= 4, "{}", stage.keeper.queue_length());
    waits.iter().for_each(tokio::task::JoinHandle::abort);
}
