//! What an upstream says unasked or out of step is the last thing that is believed of it: if the session went on, one
//! command's reply could be taken for another's.

use wire::Capabilities;

use super::pair::{Bench, OK, packet};
use crate::counters::Counter;

const QUERY: &[u8] = b"\x03DO 1";
const TIMED_OUT: &[u8] = b"\xFF\xBF\x0F#HY000The client was disconnected by the server";

#[tokio::test(start_paused = true)]
async fn an_error_that_nobody_asked_for_is_passed_on_and_the_last() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    pair.is_in_sync().await;
    pair.upstream_sends(&packet(0, TIMED_OUT)).await;
    pair.client_gets(&packet(0, TIMED_OUT)).await;
    pair.ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_crosses_a_farewell_is_not_sent() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    // A reply with the farewell right behind it, and the next command there already.
    pair.client_sends(&[packet(0, QUERY), packet(0, QUERY)].concat()).await;
    pair.upstream_gets(&packet(0, QUERY)).await;
    pair.upstream_sends(&[packet(1, OK), packet(0, TIMED_OUT)].concat()).await;
    pair.client_gets(&[packet(1, OK), packet(0, TIMED_OUT)].concat()).await;
    pair.ends().await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_out_of_step_is_none() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    pair.client_sends(&packet(0, QUERY)).await;
    pair.upstream_gets(&packet(0, QUERY)).await;
    pair.upstream_sends(&packet(2, OK)).await;
    pair.client_gets_err(1, 1835).await;
    pair.ends().await;
    assert_eq!(bench.count(Counter::UpstreamMalformed), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_out_of_step_is_passed_on_and_the_last() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    let err = packet(7, b"\xFF\x81\x04#08S01Got a packet bigger than 'max_allowed_packet' bytes");
    pair.client_sends(&packet(0, QUERY)).await;
    pair.upstream_gets(&packet(0, QUERY)).await;
    pair.upstream_sends(&err).await;
    pair.client_gets(&err).await;
    pair.ends().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_with_the_code_of_a_progress_report_is_an_error() {
    // SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 65535: any client can have it.
    let bench = Bench::new();
    for capabilities in [Capabilities::empty(), Capabilities::MARIADB_PROGRESS] {
        let mut pair = bench.session(capabilities);
        pair.exchange(&packet(0, QUERY), &packet(1, b"\xFF\xFF\xFF#45000by SIGNAL")).await;
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_user_that_never_comes_whole_ends_with_its_upstream() {
    let bench = Bench::inspecting(64);
    let mut pair = bench.session(Capabilities::empty());
    let mut payload = vec![b'u'; 10_000];
    payload[0] = 0x11;
    pair.client_sends(&packet(0, &payload)[..5_000]).await;
    pair.closes_upstream();
    pair.ends().await;
}

/// An ERR with the code that a library gives itself (2013) is a malformed packet to libmariadb, which says 2027 and keeps
/// the connection; a close is to every library what it is without a proxy.
#[tokio::test(start_paused = true)]
async fn an_upstream_that_closes_in_the_middle_is_lost_by_a_close() {
    let column = [packet(1, &[1]), packet(2, b"\x03def")].concat();
    let row = [&column[..], &packet(3, &[0xFE, 0, 0, 2, 0]), &packet(4, b"\x011")].concat();
    for (name, came, passed_on) in [
        ("before the reply", Vec::new(), 0),
        ("in the first packet", packet(1, OK)[..6].to_vec(), 0),
        ("between columns and rows", column.clone(), column.len()),
        ("between rows", row.clone(), row.len()),
        ("in a row", [&row[..], b"\x05\0\0\x05\x04ab"].concat(), row.len() + 7),
    ] {
        let bench = Bench::new();
        let mut pair = bench.session(Capabilities::empty());
        name.clone_into(&mut pair.name);
        pair.client_sends(&packet(0, QUERY)).await;
        pair.upstream_gets(&packet(0, QUERY)).await;
        pair.upstream_sends(&came).await;
        pair.client_gets(&came[..passed_on]).await;
        pair.closes_upstream();
        pair.ends().await;
        assert_eq!(bench.count(Counter::UpstreamLost), 1, "{name}");
    }
}
