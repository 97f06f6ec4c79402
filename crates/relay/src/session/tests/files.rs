//! LOAD DATA LOCAL: the client's turn in the middle of a reply.

use wire::Capabilities;
use wire::packet::MAX_PAYLOAD;

use super::pair::{Bench, packet};

#[tokio::test(start_paused = true)]
async fn a_file_passes_up_to_its_empty_packet() {
    let bench = Bench::new();
    let full = vec![b'x'; MAX_PAYLOAD];
    for (name, parts) in [
        ("empty", &[][..]),
        ("one packet", &[&b"1\n2\n"[..]]),
        ("several", &[b"1\n", b"2", b"\n"]),
        // Its empty continuation is not the end of the file.
        ("a full packet", &[&full]),
        ("a full packet, and more", &[b"1\n", &full, b"2\n"]),
    ] {
        let mut pair = bench.session(Capabilities::empty());
        pair.name = name.to_owned();
        let mut file = Vec::new();
        let mut sequence = 2;
        for part in parts.iter().copied().chain([&b""[..]]) {
            sequence = wire::packet::put_packet(&mut file, sequence, part);
        }
        let command = packet(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t");
        pair.exchange(&command, &packet(1, b"\xFBf")).await;
        pair.client_sends(&file).await;
        pair.upstream_gets(&file).await;
        // More results may follow, and another file.
        let more = [packet(sequence, &[0, 2, 0, 10, 0, 0, 0]), packet(sequence.wrapping_add(1), b"\xFBg")].concat();
        pair.upstream_sends(&more).await;
        pair.client_gets(&more).await;
        let second = packet(sequence.wrapping_add(2), b"");
        pair.client_sends(&second).await;
        pair.upstream_gets(&second).await;
        let ok = packet(sequence.wrapping_add(3), &[0, 0, 0, 2, 0, 0, 0]);
        pair.upstream_sends(&ok).await;
        pair.client_gets(&ok).await;
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_sent_ahead_with_the_next_command() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    let command = packet(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE t");
    let file = [packet(2, b"1\n"), packet(3, b"")].concat();
    pair.client_sends(&[command.clone(), file.clone(), packet(0, b"\x0E")].concat()).await;
    pair.upstream_gets(&command).await;
    pair.nothing_more().await;
    // Even an answer that is there before the file was taken waits for it.
    let (ask, ok) = (packet(1, b"\xFBf"), packet(4, &[0, 1, 0, 2, 0, 0, 0]));
    pair.upstream_sends(&[ask.clone(), ok.clone()].concat()).await;
    pair.upstream_gets(&file).await;
    pair.client_gets(&[ask, ok].concat()).await;
    pair.upstream_gets(&packet(0, b"\x0E")).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_file_ends_with_the_servers_error() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    let err = packet(1, b"\xFF\x7A\x04#42S02no such table");
    pair.exchange(&packet(0, b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE nothing"), &err).await;
    pair.is_in_sync().await;
}
