//! What a paced gate charges a transaction for.

use std::time::Duration;

use health::Flow;
use health::appliers::Price;
use health::control::paced::Pace;
use tokio::time::advance;

use crate::limits::Slot;
use crate::stage::{At, Session, Setup, Stage};

const WRITE: &str = "UPDATE t SET a = 1";

/// Before a gate that lets a second of the replica's time through each second, of which a transaction of one row takes 20 ms.
async fn paced(setup: Setup) -> Stage {
    let stage = setup.stage(&[]);
    stage.measure(&[("replication_lag", 0.0)]).await;
    // A crowd: from then on the gate is asked for its leave.
    let mut crowd: Vec<Session> = (0..48).map(|_| stage.login("crowd")).collect();
    crowd.iter_mut().for_each(|session| drop(session.ask(WRITE)));
    drop(crowd);
    let price = Price { transaction: 0.01, row: 0.01 };
    stage.keeper.limits.set_flow(Slot(0), Flow::Paced(Pace { budget: 1.0, price }), None);
    advance(Duration::from_secs(1)).await;
    stage
}

/// Past its grace a transaction that holds locks asks with every statement. It is one transaction all the same, of so many rows.
#[tokio::test(start_paused = true)]
async fn a_transaction_that_asks_again_and_again_is_charged_once() {
    let mut setup = Setup::gated(&["replication_lag replication_lag 5 | | paced"]);
    setup.defaults.graces.lock_statements = 0;
    let stage = paced(setup).await;
    let mut session = stage.login("app");
    session.run("BEGIN").await.unwrap();
    for _ in 0..20 {
        assert_eq!(session.at(WRITE).await, At::Once);
        advance(Duration::from_millis(20)).await;
    }
    session.run("COMMIT").await.unwrap();
    // 210 ms of the replica's time, of which up to 50 had been saved up.
    let mut other = stage.login("other");
    assert_eq!(other.at(WRITE).await, At::Held);
    advance(Duration::from_millis(220)).await;
    assert_eq!(other.at(WRITE).await, At::Once, "twenty times as much would be four seconds");
}
