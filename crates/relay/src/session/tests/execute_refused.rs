//! A refused EXECUTE leaves its statement whole: the types that came with it go into the next one, and long data that
//! the upstream already has is taken back.

use wire::packet::MAX_PAYLOAD;
use wire::{Capabilities, Command, put_lenenc_bytes};

use super::pair::{Bench, OK, Pair, packet};

const LONG: [u8; 2] = [3, 0];
const BLOB: [u8; 2] = [0xFC, 0];

/// EXECUTE of statement 1 with two parameters; the second is a value of so many bytes.
fn execute(types: bool, length: usize, named: bool) -> Vec<u8> {
    let mut payload = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
    if named {
        payload.push(2);
    }
    payload.extend_from_slice(&[0, types.into()]);
    if types {
        for kind in [LONG, BLOB] {
            payload.extend_from_slice(&kind);
            if named {
                payload.push(0);
            }
        }
    }
    payload.extend_from_slice(&7u32.to_le_bytes());
    put_lenenc_bytes(&mut payload, &vec![b'v'; length]);
    payload
}

async fn refused(bench: &Bench, pair: &mut Pair, command: &[u8], sequence: u8) {
    bench.gate.refuse(Command::StmtExecute);
    pair.client_sends(command).await;
    pair.client_gets_err(sequence, 1226).await;
}

#[tokio::test(start_paused = true)]
async fn the_types_go_into_the_next() {
    let bench = Bench::new();
    for (capabilities, named) in [(Capabilities::empty(), false), (Capabilities::QUERY_ATTRIBUTES, true)] {
        let mut pair = bench.session(capabilities);
        pair.prepare(2).await;
        refused(&bench, &mut pair, &packet(0, &execute(true, 3, named)), 1).await;
        pair.is_in_sync().await;
        // Refused again, now without types: they are still kept.
        refused(&bench, &mut pair, &packet(0, &execute(false, 3, named)), 1).await;
        pair.client_sends(&packet(0, &execute(false, 5, named))).await;
        pair.upstream_gets(&packet(0, &execute(true, 5, named))).await;
        pair.upstream_sends(&packet(1, OK)).await;
        pair.client_gets(&packet(1, OK)).await;
        // Now the upstream has them, and the next goes as it is.
        pair.exchange(&packet(0, &execute(false, 5, named)), &packet(1, OK)).await;
        // One that has its own is not touched either.
        refused(&bench, &mut pair, &packet(0, &execute(true, 3, named)), 1).await;
        pair.exchange(&packet(0, &execute(true, 4, named)), &packet(1, OK)).await;
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn mariadbs_last_statement_is_the_same_statement() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    pair.prepare(2).await;
    let last = |types| {
        let mut payload = execute(types, 3, false);
        payload[1..5].fill(0xFF);
        packet(0, &payload)
    };
    refused(&bench, &mut pair, &last(true), 1).await;
    pair.client_sends(&last(false)).await;
    pair.upstream_gets(&last(true)).await;
    pair.upstream_sends(&packet(1, OK)).await;
    pair.client_gets(&packet(1, OK)).await;
    pair.is_in_sync().await;
}

#[tokio::test(start_paused = true)]
async fn long_data_is_taken_back_and_its_reply_swallowed() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    pair.prepare(2).await;
    let data = packet(0, b"\x18\x01\0\0\0\x01\0long data");
    let reset = packet(0, b"\x1A\x01\0\0\0");
    for (name, reply) in [("an OK", OK), ("an ERR", &b"\xFF\xDB\x04#HY000no such statement"[..])] {
        pair.name = name.to_owned();
        pair.client_sends(&data).await;
        pair.upstream_gets(&data).await;
        bench.gate.refuse(Command::StmtExecute);
        pair.client_sends(&packet(0, &execute(true, 0, false))).await;
        pair.upstream_gets(&reset).await;
        pair.upstream_sends(&packet(1, reply)).await;
        pair.client_gets_err(1, 1226).await;
        pair.is_in_sync().await;
    }
    // The client sends it again, and the retry has types and data.
    pair.client_sends(&data).await;
    pair.upstream_gets(&data).await;
    pair.client_sends(&packet(0, &execute(false, 0, false))).await;
    pair.upstream_gets(&packet(0, &execute(true, 0, false))).await;
    pair.upstream_sends(&packet(1, OK)).await;
    pair.client_gets(&packet(1, OK)).await;
    // Without new long data there is nothing to take back.
    refused(&bench, &mut pair, &packet(0, &execute(false, 1, false)), 1).await;
    pair.is_in_sync().await;
}

#[tokio::test(start_paused = true)]
async fn a_swallowed_reply_may_come_byte_by_byte() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::SESSION_TRACK);
    pair.prepare(2).await;
    let data = packet(0, b"\x18\x01\0\0\0\x01\0long data");
    pair.client_sends(&data).await;
    pair.upstream_gets(&data).await;
    bench.gate.refuse(Command::StmtExecute);
    pair.client_sends(&packet(0, &execute(true, 0, false))).await;
    pair.upstream_gets(&packet(0, b"\x1A\x01\0\0\0")).await;
    // With session state in it.
    let ok = packet(1, b"\0\0\0\x02\x40\0\0\0\x0C\x00\x0A\x04name\x04size");
    for byte in &ok {
        pair.upstream_sends(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    pair.client_gets_err(1, 1226).await;
    pair.is_in_sync().await;
}

/// Around every place where the retry's packets could be cut otherwise than the client's.
#[tokio::test(start_paused = true)]
async fn a_retry_larger_than_what_is_looked_at_or_than_a_packet() {
    let bench = Bench::inspecting(64);
    let types = LONG.len() + BLOB.len();
    let head = execute(false, MAX_PAYLOAD + 1, false).len() - (MAX_PAYLOAD + 1);
    let small = execute(false, 1 << 16, false).len() - (1 << 16);
    let mut lengths: Vec<(usize, usize)> = vec![(100, 0), (1000, 0), (70_000, 0)];
    for packets in 1..=2 {
        for around in 0..=2 * types {
            // The payload's length, from so many bytes before a boundary to as many behind it.
            lengths.push((0, packets * MAX_PAYLOAD - types - 2 + around));
        }
    }
    for (value, payload) in lengths {
        let value = match payload {
            0 => value,
            // A length of 16 MiB takes more bytes.
            _ if payload - small < 1 << 24 => payload - small,
            _ => payload - head,
        };
        let (bare, full) = (execute(false, value, false), execute(true, value, false));
        let mut pair = bench.session(Capabilities::empty());
        pair.name = format!("a retry of {} bytes that becomes {}", bare.len(), full.len());
        pair.prepare(2).await;
        refused(&bench, &mut pair, &packet(0, &execute(true, 3, false)), 1).await;
        pair.client_sends(&packet(0, &bare)).await;
        pair.upstream_gets(&packet(0, &full)).await;
        // The upstream counts on from what it got, the client from what it sent.
        let rows = |start: u8| {
            let payloads: [&[u8]; 6] =
                [&[1], b"\x03def", &[0xFE, 0, 0, 2, 0], b"\0\0\x01", b"\0\0\x02", &[0xFE, 0, 0, 2, 0]];
            payloads.iter().zip(start..).flat_map(|(payload, number)| packet(number, payload)).collect::<Vec<u8>>()
        };
        let packets = |length: usize| (length / MAX_PAYLOAD) as u8 + 1;
        pair.upstream_sends(&rows(packets(full.len()))).await;
        pair.client_gets(&rows(packets(bare.len()))).await;
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_execute_that_is_refused_keeps_its_types() {
    let bench = Bench::inspecting(64);
    let mut pair = bench.session(Capabilities::empty());
    pair.prepare(2).await;
    for (length, sequence) in [(1000, 1), (MAX_PAYLOAD + 50, 2)] {
        refused(&bench, &mut pair, &packet(0, &execute(true, length, false)), sequence).await;
        pair.client_sends(&packet(0, &execute(false, 3, false))).await;
        pair.upstream_gets(&packet(0, &execute(true, 3, false))).await;
        pair.upstream_sends(&packet(1, OK)).await;
        pair.client_gets(&packet(1, OK)).await;
    }
    pair.is_in_sync().await;
}

#[tokio::test(start_paused = true)]
async fn a_bulk_execution_keeps_its_types_too() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::MARIADB_STMT_BULK_OPERATIONS);
    pair.prepare(1).await;
    let bulk = |types: &[u8]| packet(0, &[&[0xFA, 1, 0, 0, 0][..], types, &[0, 7, 0, 0, 0, 0, 8, 0, 0, 0]].concat());
    let (full, bare) = (bulk(&[128, 0, 3, 0]), bulk(&[0, 0]));
    bench.gate.refuse(Command::StmtBulkExecute);
    pair.client_sends(&full).await;
    pair.client_gets_err(1, 1226).await;
    pair.client_sends(&bare).await;
    pair.upstream_gets(&full).await;
    pair.upstream_sends(&packet(1, OK)).await;
    pair.client_gets(&packet(1, OK)).await;
    pair.exchange(&bare, &packet(1, OK)).await;
    pair.is_in_sync().await;
}
