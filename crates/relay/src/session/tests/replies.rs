//! Every command with every reply to it that the servers gave, with and without DEPRECATE_EOF.

use wire::Capabilities;

use super::pair::{Bench, OK, packet};

const CHANGE_USER: u8 = 0x11;

struct Recorded {
    title: String,
    command: u8,
    capabilities: Capabilities,
    /// With `None` where the client sends a file, or an answer of a login.
    packets: Vec<Option<Vec<u8>>>,
}

/// The same replies that the tracker is tested with.
fn replies() -> impl Iterator<Item = Recorded> {
    recorded().into_iter().filter(|recorded| recorded.command != CHANGE_USER)
}

/// And the exchanges of COM_CHANGE_USER.
fn recorded() -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for line in include_str!("../../../../wire/src/fixtures/replies.txt").lines().filter(|line| !line.starts_with('#'))
    {
        if let Some(title) = line.strip_prefix("@ ") {
            let (mode, rest) = title.split_once(' ').unwrap();
            let (_, command) = rest.split_once(' ').unwrap();
            all.push(Recorded {
                title: title.to_owned(),
                command: u8::from_str_radix(command, 16).unwrap(),
                capabilities: capabilities(mode),
                packets: Vec::new(),
            });
            continue;
        }
        let bytes =
            || (0..line.len()).step_by(2).map(|at| u8::from_str_radix(&line[at..at + 2], 16).unwrap()).collect();
        all.last_mut().unwrap().packets.push((line != "turn").then(bytes));
    }
    all
}

fn capabilities(mode: &str) -> Capabilities {
    mode.split('-').skip(1).fold(Capabilities::empty(), |all, part| {
        all | match part {
            "ok" => Capabilities::DEPRECATE_EOF,
            "track" => Capabilities::SESSION_TRACK,
            "optional" => Capabilities::OPTIONAL_RESULTSET_METADATA | Capabilities::QUERY_ATTRIBUTES,
            "bare" => Capabilities::OPTIONAL_RESULTSET_METADATA,
            _ => Capabilities::MARIADB_PROGRESS | Capabilities::MARIADB_CACHE_METADATA,
        }
    })
}

/// A command of this kind, as a client would send it.
fn command(recorded: &Recorded) -> Vec<u8> {
    let cursor = u8::from(recorded.title.contains("cursor"));
    let attributes = recorded.capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
    let body: &[u8] = match recorded.command {
        0x03 if attributes => b"\0\x01SELECT 1",
        0x17 => &[1, 0, 0, 0, cursor, 1, 0, 0, 0],
        0xFA => &[1, 0, 0, 0, 128, 0, 3, 0, 0, 7, 0, 0, 0],
        0x0C | 0x1A => &[1, 0, 0, 0],
        0x1C => &[1, 0, 0, 0, 9, 0, 0, 0],
        0x09 | 0x0A | 0x0D | 0x0E | 0x1F => b"",
        _ => b"SELECT 1",
    };
    packet(0, &[&[recorded.command], body].concat())
}

#[tokio::test(start_paused = true)]
async fn every_command_with_every_reply_passes_unchanged() {
    let bench = Bench::new();
    for recorded in replies() {
        let mut pair = bench.session(recorded.capabilities);
        pair.name = recorded.title.clone();
        let command = command(&recorded);
        pair.client_sends(&command).await;
        pair.upstream_gets(&command).await;
        let parts: Vec<_> = recorded.packets.split(Option::is_none).collect();
        for (n, part) in parts.iter().enumerate() {
            let bytes: Vec<u8> = part.iter().flatten().flatten().copied().collect();
            pair.upstream_sends(&bytes).await;
            pair.client_gets(&bytes).await;
            if recorded.packets.contains(&None) && bytes.get(4) == Some(&0xFB) {
                // The reply goes on behind the file's last packet.
                let number = parts.get(n + 1).and_then(|rest| rest.first()).and_then(|first| first.as_ref());
                let last = number.map_or(2, |first| first[3].wrapping_sub(1));
                let file: Vec<u8> =
                    (2..last).flat_map(|number| packet(number, b"1\n")).chain(packet(last, b"")).collect();
                pair.client_sends(&file).await;
                pair.upstream_gets(&file).await;
            }
        }
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_may_come_byte_by_byte() {
    let bench = Bench::new();
    for recorded in replies() {
        if recorded.packets.contains(&None) || recorded.packets.len() > 16 {
            continue;
        }
        let mut pair = bench.session(recorded.capabilities);
        pair.name = recorded.title.clone();
        let command = command(&recorded);
        pair.client_sends(&command).await;
        pair.upstream_gets(&command).await;
        let reply: Vec<u8> = recorded.packets.iter().flatten().flatten().copied().collect();
        for byte in &reply {
            pair.upstream_sends(&[*byte]).await;
            tokio::task::yield_now().await;
        }
        pair.client_gets(&reply).await;
        pair.is_in_sync().await;
    }
}

/// The command is rewritten, see `change_user.rs`; the exchange behind it is the two ends' own.
#[tokio::test(start_paused = true)]
async fn the_exchange_of_every_change_of_user_passes_unchanged() {
    let bench = Bench::new();
    let mut seen = 0;
    for recorded in recorded().into_iter().filter(|recorded| recorded.command == CHANGE_USER) {
        let mut pair = bench.session(recorded.capabilities);
        pair.name = recorded.title.clone();
        pair.client_sends(&packet(0, b"\x11etl\0\0\0\x2D\0a_plugin\0")).await;
        let forwarded = pair.upstream_packet().await;
        assert_eq!(forwarded.get(..5), Some(&b"\x11etl\0"[..]), "{}", recorded.title);
        for part in recorded.packets.split(Option::is_none) {
            let bytes: Vec<u8> = part.iter().flatten().flatten().copied().collect();
            pair.upstream_sends(&bytes).await;
            pair.client_gets(&bytes).await;
            let last = part.iter().flatten().next_back().expect("a packet");
            if !matches!(last[4], 0 | 0xFF) {
                // Whatever it is that the client answers.
                let answer = packet(last[3].wrapping_add(1), b"\x02the client's answer");
                pair.client_sends(&answer).await;
                pair.upstream_gets(&answer).await;
            }
        }
        pair.is_in_sync().await;
        seen += 1;
    }
    assert!(seen >= 8, "both outcomes, on both servers, in both modes");
}

#[tokio::test(start_paused = true)]
async fn commands_without_a_reply_leave_the_session_in_sync() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    for payload in [&b"\x18\x01\0\0\0\0\0data"[..], b"\x18\x01\0\0\0\0\0", b"\x19\x01\0\0\0"] {
        let command = packet(0, payload);
        pair.client_sends(&command).await;
        pair.upstream_gets(&command).await;
        pair.is_in_sync().await;
    }
}

/// MySQL answers these, which would be taken for the reply to the next command.
#[tokio::test(start_paused = true)]
async fn commands_without_a_reply_that_are_cut_go_nowhere() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    for payload in [&b"\x18\x01\0\0\0\0"[..], b"\x18", b"\x19\x01\0\0", b"\x19"] {
        pair.client_sends(&packet(0, payload)).await;
        pair.client_gets_err(1, 1835).await;
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_commands_get_the_servers_error_and_go_nowhere() {
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    for payload in
        [&b""[..], b"\0", b"\x0B", b"\x0F", b"\x10", b"\x13t", b"\x14", b"\x1D", b"\x20", b"\x42any", b"\xFE"]
    {
        pair.name = format!("{payload:02x?}");
        pair.client_sends(&packet(0, payload)).await;
        pair.client_gets_err(1, 1047).await;
        pair.is_in_sync().await;
    }
}

#[tokio::test(start_paused = true)]
async fn quit_goes_upstream_and_both_ends_close() {
    use tokio::io::AsyncReadExt;
    let bench = Bench::new();
    let mut pair = bench.session(Capabilities::empty());
    pair.exchange(&packet(0, b"\x03DO 1"), &packet(1, OK)).await;
    pair.client_sends(&packet(0, b"\x01")).await;
    pair.upstream_gets(&packet(0, b"\x01")).await;
    pair.session.await.unwrap();
    let mut rest = Vec::new();
    assert_eq!(pair.upstream.read_to_end(&mut rest).await.unwrap(), 0);
    assert_eq!(pair.client.read_to_end(&mut rest).await.unwrap(), 0);
}
