//! A dump passes events one way, acknowledgements the other, and nothing else.

use wire::{Capabilities, Command};

use super::pair::{Bench, OK, packet};

const DUMP: &[u8] = b"\x12\x04\0\0\0\0\0\x92\x10\0\0binlog.000001";
const EVENT: &[u8] = b"\0an event of the binlog";
const ACKNOWLEDGEMENT: &[u8] = b"\xEF\x04\0\0\0\0\0\0\0binlog.000001";

#[tokio::test(start_paused = true)]
async fn acknowledgements_pass_and_commands_wait() {
    let bench = Bench::new();
    for byte_by_byte in [false, true] {
        let mut pair = bench.session(Capabilities::empty());
        pair.exchange(&packet(0, DUMP), &packet(1, EVENT)).await;
        let acknowledgements = [packet(0, ACKNOWLEDGEMENT), packet(0, ACKNOWLEDGEMENT)].concat();
        let ahead = [acknowledgements.clone(), packet(0, b"\x03SELECT 1"), packet(0, ACKNOWLEDGEMENT)].concat();
        for part in ahead.chunks(if byte_by_byte { 1 } else { ahead.len() }) {
            pair.client_sends(part).await;
            tokio::task::yield_now().await;
        }
        pair.upstream_gets(&acknowledgements).await;
        pair.nothing_more().await;
        pair.upstream_sends(&packet(2, EVENT)).await;
        pair.client_gets(&packet(2, EVENT)).await;
        pair.nothing_more().await;
        assert_eq!(bench.gate.asked(), [Command::BinlogDump]);
        // The end of a dump that does not wait for more. The upstream may not have read the acknowledgements, and take
        // them for commands now, whose answers nobody could tell from others: the session ends.
        let end = packet(3, &[0xFE, 0, 0, 2, 0]);
        pair.upstream_sends(&end).await;
        pair.client_gets(&end).await;
        pair.ends().await;
        assert_eq!(bench.gate.asked(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn behind_the_end_of_a_dump_a_command_has_its_turn() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    pair.exchange(&packet(0, DUMP), &packet(1, EVENT)).await;
    pair.client_sends(&packet(0, b"\x03SELECT 1")).await;
    pair.nothing_more().await;
    let end = packet(2, &[0xFE, 0, 0, 2, 0]);
    pair.upstream_sends(&end).await;
    pair.client_gets(&end).await;
    pair.upstream_gets(&packet(0, b"\x03SELECT 1")).await;
    assert_eq!(bench.gate.asked(), [Command::BinlogDump, Command::Query]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_dump_lets_nothing_pass_unasked() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    let err = packet(1, b"\xFF\xCB\x04#42000Access denied");
    let query = packet(0, b"\x03DO 1");
    // An acknowledgement of nothing would be a command to the upstream, and answered as one.
    pair.client_sends(&[packet(0, DUMP), packet(0, ACKNOWLEDGEMENT), query.clone()].concat()).await;
    pair.upstream_gets(&packet(0, DUMP)).await;
    pair.nothing_more().await;
    pair.upstream_sends(&err).await;
    pair.client_gets(&err).await;
    pair.client_gets_err(1, 1047).await;
    pair.upstream_gets(&query).await;
    pair.upstream_sends(&packet(1, OK)).await;
    pair.client_gets(&packet(1, OK)).await;
    assert_eq!(bench.gate.asked(), [Command::BinlogDump, Command::Query]);
    pair.is_in_sync().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_behind_a_refused_dump_may_be_refused_itself() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    bench.gate.refuse(Command::Query);
    pair.client_sends(&[packet(0, DUMP), packet(0, b"\x03DO 1")].concat()).await;
    pair.upstream_gets(&packet(0, DUMP)).await;
    let err = packet(1, b"\xFF\xCB\x04#42000Access denied");
    pair.upstream_sends(&err).await;
    pair.client_gets(&err).await;
    pair.client_gets_err(1, 1226).await;
    pair.is_in_sync().await;
}
