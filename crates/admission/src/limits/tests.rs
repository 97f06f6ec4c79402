use std::time::Duration;

use tokio::time::timeout;

use super::*;

fn need(rule: &str, limit: u32) -> Need {
    Need::rule(rule.into(), limit, 1)
}

fn waiter(user: &str) -> Waiter {
    Waiter { user: user.as_bytes().into(), name: user.into(), weight: 1.0 }
}

async fn waits(waiting: &mut Waiting) -> bool {
    timeout(Duration::from_secs(3600), waiting.taken()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn places_are_given_back_when_dropped() {
    let limits: Arc<Limits> = Arc::default();
    let first = limits.take(&[need("a", 2)]).unwrap();
    let second = limits.take(&[need("a", 2)]).unwrap();
    assert!(limits.take(&[need("a", 2)]).is_none());
    assert_eq!(limits.used("a"), 2);
    drop(first);
    assert!(limits.take(&[need("a", 2)]).is_some());
    drop(second);
    assert_eq!(limits.used("a"), 0);
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_the_next_place() {
    let limits: Arc<Limits> = Arc::default();
    let running = limits.take(&[need("a", 1)]).unwrap();
    let mut first = limits.wait(&[need("a", 1)], waiter("x"));
    let mut second = limits.wait(&[need("a", 1)], waiter("y"));
    assert!(waits(&mut first).await && waits(&mut second).await);
    drop(running);
    assert!(limits.take(&[need("a", 1)]).is_none(), "a newcomer overtakes nobody");
    let places = first.taken().await;
    assert!(waits(&mut second).await);
    drop((first, places));
    let places = second.taken().await;
    assert_eq!((limits.used("a"), limits.waiting()), (1, 0));
    drop(places);
    assert_eq!(limits.used("a"), 0);
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_while_it_waits_leaves_nothing() {
    let limits: Arc<Limits> = Arc::default();
    let running = limits.take(&[need("a", 1)]).unwrap();
    let mut leaver = limits.wait(&[need("a", 1)], waiter("x"));
    // Polled once, and dropped in the middle, as when its client goes.
    assert!(waits(&mut leaver).await);
    let mut other = limits.wait(&[need("a", 1)], waiter("x"));
    drop(leaver);
    assert_eq!(limits.waiting(), 1);
    drop(running);
    drop(other.taken().await);
    assert_eq!((limits.used("a"), limits.waiting()), (0, 0));
    assert!(limits.lock().callers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_just_when_it_is_called_gives_its_places_on() {
    let limits: Arc<Limits> = Arc::default();
    let running = limits.take(&[need("a", 1)]).unwrap();
    let leaver = limits.wait(&[need("a", 1)], waiter("x"));
    let mut next = limits.wait(&[need("a", 1)], waiter("y"));
    // The places are in the channel now; nobody has taken them out.
    drop(running);
    assert_eq!((limits.used("a"), limits.waiting()), (1, 1));
    drop(leaver);
    let places = next.taken().await;
    assert_eq!((limits.used("a"), limits.waiting()), (1, 0));
    drop((next, places));
    assert_eq!(limits.used("a"), 0);
    assert!(limits.lock().callers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_raised_limit_lets_those_in_who_wait() {
    let limits: Arc<Limits> = Arc::default();
    let _running = limits.take(&[need("a", 1)]).unwrap();
    let mut waiting: Vec<Waiting> = (0..3).map(|_| limits.wait(&[need("a", 1)], waiter("x"))).collect();
    limits.learn(&[Need { generation: 2, ..need("a", 3) }]);
    let places = (waiting[0].taken().await, waiting[1].taken().await);
    assert!(waits(&mut waiting[2]).await);
    // What an older policy said does not count any more.
    limits.learn(&[Need { generation: 1, ..need("a", 9) }]);
    assert!(waits(&mut waiting[2]).await);
    assert_eq!(limits.full(&[need("a", 3), need("b", 1)]), [need("a", 3).thing]);
    drop(places);
    drop(waiting[2].taken().await);
}

/// Many tasks on several threads: no more than the limit at once, and nothing is left at the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads() {
    const LIMIT: u32 = 3;
    let limits: Arc<Limits> = Arc::default();
    let running = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let tasks: Vec<_> = (0..200_u64)
        .map(|task| {
            let (limits, running) = (Arc::clone(&limits), Arc::clone(&running));
            tokio::spawn(async move {
                let needs = [need("a", LIMIT)];
                let places = match limits.take(&needs) {
                    Some(places) => places,
                    None => {
                        let mut waiting = limits.wait(&needs, waiter(&format!("{}", task % 7)));
                        if task % 5 == 0 {
                            tokio::task::yield_now().await;
                            return;
                        }
                        waiting.taken().await
                    }
                };
                let now = running.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
                assert!(now <= LIMIT, "{now} at once");
                tokio::task::yield_now().await;
                running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                drop(places);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!((limits.used("a"), limits.waiting()), (0, 0));
    assert!(limits.lock().callers.is_empty());
}

/// A transaction that is asked for the gate's leave again and again is one transaction all the same.
#[tokio::test(start_paused = true)]
async fn a_unit_is_charged_once_by_a_gate() {
    let limits: Arc<Limits> = Arc::default();
    let slot = Slot(0);
    let price = health::appliers::Price { transaction: 0.01, row: 0.01 };
    limits.set_flow(slot, Flow::Paced(health::control::paced::Pace { budget: 1.0, price }), None);
    tokio::time::advance(Duration::from_secs(1)).await;
    let mut charges: Vec<Charges> = Vec::new();
    // The burst is 50 ms of budget; each time as much is waited for as was charged.
    for _ in 0..20 {
        let mut charged = limits.take(&[Need::gate(slot)]).expect("the pace allows it").charges.expect("a charge");
        charged.but_for(&charges);
        charges.push(charged);
        tokio::time::advance(Duration::from_millis(20)).await;
    }
    for charged in charges {
        charged.settle(health::Work { transactions: 1.0, rows: 20.0 });
    }
    // 0.21 s of the replica's time, less what had been saved up; twenty times that would be four seconds.
    tokio::time::advance(Duration::from_millis(220)).await;
    assert!(limits.take(&[Need::gate(slot)]).is_some());
}
