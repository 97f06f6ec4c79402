//! A command that is held has gone nowhere, and either end may leave meanwhile.

use tokio::io::AsyncReadExt;
use wire::{Capabilities, Command};

use super::pair::{Bench, packet};
use crate::counters::Counter;

#[tokio::test(start_paused = true)]
async fn an_upstream_that_says_why_and_closes_ends_the_hold() {
    let bench = Bench::new();
    bench.gate.hold(Command::Query);
    let mut pair = bench.session(Capabilities::empty());
    pair.client_sends(&packet(0, b"\x03DO 1")).await;
    pair.nothing_more().await;
    // In two steps: the words wake the session first.
    pair.upstream_sends(&packet(0, b"\xFF\xBF\x0F#HY000The client was disconnected by the server")).await;
    pair.nothing_more().await;
    pair.closes_upstream();
    pair.ends().await;
    assert_eq!(bench.count(Counter::UpstreamLost), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_takes_its_command_along() {
    let bench = Bench::new();
    bench.gate.hold(Command::Query);
    let mut pair = bench.session(Capabilities::empty());
    pair.client_sends(&packet(0, b"\x03DO 1")).await;
    pair.nothing_more().await;
    drop(pair.client);
    pair.session.await.unwrap();
    let mut rest = Vec::new();
    assert_eq!(pair.upstream.read_to_end(&mut rest).await.unwrap(), 0);
    assert_eq!(bench.count(Counter::LeftDuringHold), 1);
}
