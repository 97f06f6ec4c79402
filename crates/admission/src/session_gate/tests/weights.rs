//! How often each gets its turn at a gate, by the weight that a rule gives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::stage::Setup;

use super::gates::releases;

const WRITE: &str = "UPDATE t SET a = 1";

/// Ten connections of each before a gate that lets one through each 10 ms, for ten seconds: how often each user went.
async fn turns(rules: &[&str], users: [&str; 2]) -> [usize; 2] {
    let setup = Setup::gated(&["lag replication_lag 5 | | binary trickle=100 delay=600000"]);
    let stage = setup.stage(rules);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let mut clients = Vec::new();
    let went = users.map(|user| {
        let went = Arc::new(AtomicUsize::new(0));
        clients.extend((0..10).map(|_| {
            let (mut session, went) = (stage.login(user), Arc::clone(&went));
            tokio::spawn(async move {
                loop {
                    session.run(WRITE).await.unwrap();
                    went.fetch_add(1, Ordering::Relaxed);
                }
            })
        }));
        went
    });
    let releases = releases(&stage);
    tokio::time::sleep(Duration::from_secs(10)).await;
    releases.abort();
    clients.iter().for_each(|client| client.abort());
    went.map(|went| went.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn turns_are_taken_by_weight() {
    let rules = ["heavy | user=heavy | weight=4", "tenth | user=tenth | weight=0.1"];
    for (users, due) in [(["app", "etl"], 1.0), (["heavy", "app"], 4.0), (["app", "tenth"], 10.0)] {
        let [one, other] = turns(&rules, users).await;
        assert!(one + other > 900, "{users:?}: {one} and {other}");
        let ratio = one as f64 / other as f64;
        assert!((ratio / due - 1.0).abs() < 0.1, "{users:?}: {one} and {other}, not {due} to 1");
    }
}
