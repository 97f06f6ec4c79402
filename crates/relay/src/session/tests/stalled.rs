//! An end that takes nothing of what it is sent is given up after ten minutes, and counted apart from one that left.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout};
use wire::Capabilities;

use super::pair::{Bench, Pair, packet};
use crate::counters::Counter;

const PATIENCE: Duration = Duration::from_secs(600);
const ROOM: usize = 1000;

/// More than one end takes; the rest waits in the session and before it.
const LONG: [u8; 5 * ROOM / 2] = [b'x'; 5 * ROOM / 2];

/// The session ends, after its patience and not before.
async fn is_given_up(pair: &mut Pair, since: Instant) {
    assert!(timeout(PATIENCE - Duration::from_secs(1), &mut pair.session).await.is_err(), "given up too early");
    pair.session_ends().await;
    assert!(since.elapsed() < PATIENCE + Duration::from_secs(10), "{:?}", since.elapsed());
}

/// A session in the middle of a reply that is more than a client takes unread, and that reply.
async fn long_reply() -> (Bench, Pair, Vec<u8>) {
    let bench = Bench::new();
    let mut pair = bench.narrow_session(Capabilities::empty(), ROOM);
    let command = packet(0, b"\x09");
    pair.client_sends(&command).await;
    pair.upstream_gets(&command).await;
    let long = packet(1, &LONG);
    pair.upstream_sends(&long).await;
    (bench, pair, long)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing() {
    let (bench, mut pair, _) = long_reply().await;
    let since = Instant::now();
    is_given_up(&mut pair, since).await;
    assert_eq!((bench.count(Counter::ClientStalled), bench.count(Counter::LeftDuringReply)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_takes_no_command() {
    let bench = Bench::new();
    let mut pair = bench.narrow_session(Capabilities::empty(), ROOM);
    let since = Instant::now();
    pair.client_sends(&packet(0, &[b"\x03SELECT '", &LONG[..], b"'"].concat())).await;
    is_given_up(&mut pair, since).await;
    let mut told = Vec::new();
    pair.client.read_to_end(&mut told).await.unwrap();
    assert_eq!(told, b"", "the close says it");
    assert_eq!((bench.count(Counter::UpstreamStalled), bench.count(Counter::UpstreamLost)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_takes_no_file() {
    let bench = Bench::new();
    let mut pair = bench.narrow_session(Capabilities::empty(), ROOM);
    let request = packet(1, b"\xFBfile");
    pair.exchange(&packet(0, b"\x03LOAD DATA LOCAL INFILE 'file' INTO TABLE t"), &request).await;
    let since = Instant::now();
    pair.client_sends(&packet(2, &LONG)).await;
    is_given_up(&mut pair, since).await;
    assert_eq!((bench.count(Counter::UpstreamStalled), bench.count(Counter::UpstreamLost)), (1, 0));
}

/// As long as it takes something now and then, it may be as slow as it likes.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_waited_for() {
    let (bench, mut pair, long) = long_reply().await;
    for part in long.chunks(ROOM / 2) {
        tokio::time::sleep(PATIENCE - Duration::from_secs(1)).await;
        pair.client_gets(part).await;
    }
    pair.is_in_sync().await;
    assert_eq!(bench.count(Counter::ClientStalled), 0);
}

/// What it runs upstream at the client's pace should count as running no more. A moment is no reason to say so.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_told_of_after_a_second() {
    for (reads_after, told) in [(999, 0), (1001, 1), (60_000, 1)] {
        let (bench, mut pair, long) = long_reply().await;
        tokio::time::sleep(Duration::from_millis(reads_after)).await;
        assert_eq!((bench.gate.blocked(), bench.gate.settled()), (told, 0), "after {reads_after} ms");
        pair.client_gets(&long).await;
        pair.is_in_sync().await;
        assert_eq!(bench.gate.blocked(), told, "it has read all of it");
    }
}

/// Moments add up.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_a_little_at_a_time_is_told_of_too() {
    for (each, told) in [(100, 0), (600, 1)] {
        let (bench, mut pair, long) = long_reply().await;
        for part in long.chunks(ROOM / 2) {
            tokio::time::sleep(Duration::from_millis(each)).await;
            pair.client_gets(part).await;
        }
        pair.is_in_sync().await;
        assert_eq!(bench.gate.blocked(), told, "{each} ms each");
    }
}

/// One that sends a file, or a long command, at its leisure keeps nobody else from running meanwhile.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_send_is_told_of_after_a_second() {
    let (file, end) = (packet(2, b"1\n"), packet(3, b""));
    let command = packet(0, &[b"\x03SELECT '", &LONG[..], b"'"].concat());
    for (sends_after, told) in [([999, 0], 0), ([1001, 0], 1), ([600, 600], 1), ([30_000, 30_000], 1)] {
        let [first, second] = sends_after.map(Duration::from_millis);
        let bench = Bench::new();
        let mut pair = bench.session(Capabilities::empty());
        pair.exchange(&packet(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t"), &packet(1, b"\xFBf")).await;
        tokio::time::sleep(first).await;
        pair.client_sends(&file).await;
        pair.upstream_gets(&file).await;
        tokio::time::sleep(second).await;
        assert_eq!((bench.gate.blocked(), bench.gate.settled()), (told, 0), "a file, after {sends_after:?} ms");
        assert_eq!(bench.gate.resumed(), 0);
        pair.client_sends(&end).await;
        pair.upstream_gets(&end).await;
        // Or a client would get rid of its permit by a rest before what takes long.
        assert_eq!(bench.gate.resumed(), told, "the server has it all");
        let ok = packet(4, &[0, 1, 0, 2, 0, 0, 0]);
        pair.upstream_sends(&ok).await;
        pair.client_gets(&ok).await;
        pair.is_in_sync().await;

        let bench = Bench::inspecting(ROOM);
        let mut pair = bench.session(Capabilities::empty());
        let parts = [&command[..3 * ROOM / 2], &command[3 * ROOM / 2..2 * ROOM], &command[2 * ROOM..]];
        for (part, wait) in parts.into_iter().zip([first, second, Duration::ZERO]) {
            pair.client_sends(part).await;
            pair.upstream_gets(part).await;
            tokio::time::sleep(wait).await;
        }
        let seen = (bench.gate.blocked(), bench.gate.resumed());
        assert_eq!(seen, (told, told), "a command, after {sends_after:?} ms");
    }
}
