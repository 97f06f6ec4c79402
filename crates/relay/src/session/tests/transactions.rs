//! Whether a transaction is open is told by status flags, which an ERR does not have.

use wire::Capabilities;

use super::pair::{Bench, Pair, packet};
use crate::registry::Signal;

const QUERY: &[u8] = b"\x03DO 1";
const IDLE: &[u8] = b"\0\0\0\x02\0\0\0";
/// SERVER_STATUS_IN_TRANS, and the same of one that only reads.
const OPEN: &[u8] = b"\0\0\0\x03\0\0\0";
const OPEN_READ_ONLY: &[u8] = b"\0\0\0\x03\x20\0\0";

const DEADLOCK: &[u8] = b"\xFF\xBD\x04#40001Deadlock found when trying to get lock; try restarting transaction";
const LOCK_WAIT: &[u8] = b"\xFF\xB5\x04#HY000Lock wait timeout exceeded; try restarting transaction";
const SYNTAX: &[u8] = b"\xFF\x28\x04#42000You have an error in your SQL syntax";

/// Sends a command, and says whether it was thought to be in a transaction.
async fn asks(bench: &Bench, pair: &mut Pair, reply: &[u8]) -> bool {
    pair.exchange(&packet(0, QUERY), &packet(1, reply)).await;
    bench.gate.in_transaction()
}

#[tokio::test(start_paused = true)]
async fn of_all_errors_a_deadlock_alone_ends_a_transaction() {
    for open in [OPEN, OPEN_READ_ONLY] {
        for (error, goes_on) in [(DEADLOCK, false), (LOCK_WAIT, true), (SYNTAX, true)] {
            let bench = Bench::new();
            let mut pair = bench.session(Capabilities::empty());
            assert!(!asks(&bench, &mut pair, open).await);
            assert!(asks(&bench, &mut pair, error).await, "it has begun");
            assert_eq!(asks(&bench, &mut pair, error).await, goes_on, "{}", String::from_utf8_lossy(error));
            // What the server says next is believed, whatever the error was.
            for (next, expected) in [(open, goes_on), (IDLE, true), (IDLE, false)] {
                assert_eq!(asks(&bench, &mut pair, next).await, expected);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_a_transaction_and_not_after_a_deadlock() {
    let bench = Bench::new();
    let [mut failed, mut ended] = [(); 2].map(|()| bench.session(Capabilities::empty()));
    for (pair, error) in [(&mut failed, LOCK_WAIT), (&mut ended, DEADLOCK)] {
        asks(&bench, pair, OPEN).await;
        asks(&bench, pair, error).await;
    }
    bench.shared.registry.raise(Signal::Drain);
    ended.ends().await;
    failed.nothing_more().await;
    asks(&bench, &mut failed, IDLE).await;
    failed.ends().await;
}
