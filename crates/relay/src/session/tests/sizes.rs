//! Commands and replies larger than what is looked at, and around the size of one packet.

use wire::packet::MAX_PAYLOAD;
use wire::{Capabilities, Command};

use super::pair::{Bench, packet};

#[tokio::test(start_paused = true)]
async fn commands_larger_than_what_is_looked_at_pass_unchanged() {
    let bench = Bench::inspecting(64);
    let mut pair = bench.session(Capabilities::empty());
    for length in [63, 64, 65, 1000, 100_000, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD] {
        for command in [0x03, 0x16, 0x18] {
            let mut payload = vec![b' '; length];
            payload[0] = command;
            pair.name = format!("{command:#x} of {length} bytes");
            let command = packet(0, &payload);
            pair.client_sends(&command).await;
            pair.upstream_gets(&command).await;
            if payload[0] != 0x18 {
                let err = packet(command[3] + 1 + (length / MAX_PAYLOAD) as u8, b"\xFF\x28\x04#42000no");
                pair.upstream_sends(&err).await;
                pair.client_gets(&err).await;
            }
        }
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_command_of_many_packets_is_answered_behind_its_last() {
    let bench = Bench::inspecting(64);
    let mut pair = bench.session(Capabilities::empty());
    for (length, sequence) in [(100, 1), (MAX_PAYLOAD - 1, 1), (MAX_PAYLOAD, 2), (2 * MAX_PAYLOAD + 5, 3)] {
        pair.name = format!("{length} bytes");
        bench.gate.refuse(Command::Query);
        let mut payload = vec![b' '; length];
        payload[0] = 0x03;
        pair.client_sends(&packet(0, &payload)).await;
        pair.client_gets_err(sequence, 1226).await;
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_closes_while_a_refused_command_is_discarded_ends_the_session() {
    let bench = Bench::inspecting(64);
    let mut pair = bench.session(Capabilities::empty());
    bench.gate.refuse(Command::Query);
    let mut payload = vec![b' '; 1000];
    payload[0] = 0x03;
    let command = packet(0, &payload);
    pair.client_sends(&command[..500]).await;
    tokio::task::yield_now().await;
    drop(pair.upstream);
    // The client stays, and is told.
    pair.session.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn rows_of_many_packets_pass_unchanged() {
    let bench = Bench::new();
    for (capabilities, middle, end) in [
        (Capabilities::empty(), packet(3, &[0xFE, 0, 0, 2, 0]), packet(9, &[0xFE, 0, 0, 2, 0])),
        (Capabilities::DEPRECATE_EOF, Vec::new(), packet(9, &[0xFE, 0, 0, 2, 0, 0, 0])),
    ] {
        let mut pair = bench.session(capabilities);
        for length in [MAX_PAYLOAD - 10, MAX_PAYLOAD - 9, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
            pair.name = format!("a value of {length} bytes");
            let mut row = Vec::new();
            wire::put_lenenc_bytes(&mut row, &vec![b'x'; length]);
            let reply = [packet(1, &[1]), packet(2, b"\x03def"), middle.clone(), packet(4, &row), end.clone()].concat();
            pair.exchange(&packet(0, b"\x03SELECT 1"), &reply).await;
        }
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_a_large_command_may_come_before_its_end() {
    // Too large a packet: the server says so and closes, and the client must hear it.
    let bench = Bench::inspecting(64);
    let mut pair = bench.session(Capabilities::empty());
    let mut payload = vec![b' '; 100_000];
    payload[0] = 0x03;
    let command = packet(0, &payload);
    pair.client_sends(&command[..50_000]).await;
    pair.upstream_gets(&command[..50_000]).await;
    let err = packet(1, b"\xFF\x81\x04#08S01Got a packet bigger than 'max_allowed_packet' bytes");
    pair.upstream_sends(&err).await;
    drop(pair.upstream);
    let mut got = vec![0; err.len()];
    tokio::io::AsyncReadExt::read_exact(&mut pair.client, &mut got).await.unwrap();
    assert_eq!(got, err);
    drop(pair.client);
    pair.session.await.unwrap();
}
