//! What a client sends ahead waits its turn, and is asked for like anything else.

use wire::{Capabilities, Command};

use super::pair::{Bench, OK, packet};

#[tokio::test(start_paused = true)]
async fn commands_sent_ahead_are_answered_in_order_one_at_a_time() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    let commands = [
        packet(0, b"\x03DO 1"),
        packet(0, b"\x18\x01\0\0\0\0\0long data"),
        packet(0, b"\x0E"),
        packet(0, b"\x19\x01\0\0\0"),
        packet(0, b"\x03DO 2"),
    ];
    pair.client_sends(&commands.concat()).await;
    for (number, command) in commands.iter().enumerate() {
        pair.name = format!("command {number}");
        pair.upstream_gets(command).await;
        if matches!(command[4], 0x18 | 0x19) {
            continue;
        }
        pair.nothing_more().await;
        let reply = packet(1, &[0, number as u8, 0, 2, 0, 0, 0]);
        pair.upstream_sends(&reply).await;
        pair.client_gets(&reply).await;
    }
    pair.is_in_sync().await;
    let asked = [Command::Query, Command::Ping, Command::Query, Command::Ping];
    assert_eq!(bench.gate.asked(), asked);
}

#[tokio::test(start_paused = true)]
async fn commands_may_come_byte_by_byte() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    let commands = [packet(0, b"\x03SELECT 1"), packet(0, b"\x0E")].concat();
    for byte in &commands {
        pair.client_sends(&[*byte]).await;
        tokio::task::yield_now().await;
    }
    pair.upstream_gets(&packet(0, b"\x03SELECT 1")).await;
    pair.upstream_sends(&packet(1, OK)).await;
    pair.client_gets(&packet(1, OK)).await;
    pair.upstream_gets(&packet(0, b"\x0E")).await;
    pair.upstream_sends(&packet(1, OK)).await;
    pair.client_gets(&packet(1, OK)).await;
    pair.is_in_sync().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_command_does_not_take_the_next_with_it() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    bench.gate.refuse(Command::Query);
    pair.client_sends(&[packet(0, b"\x03DO 1"), packet(0, b"\x03DO 2")].concat()).await;
    pair.client_gets_err(1, 1226).await;
    pair.upstream_gets(&packet(0, b"\x03DO 2")).await;
    pair.upstream_sends(&packet(1, OK)).await;
    pair.client_gets(&packet(1, OK)).await;
    pair.is_in_sync().await;
}
