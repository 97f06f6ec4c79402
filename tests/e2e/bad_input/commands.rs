//! After a login: commands that are none, or not whole, or too many at once.

use std::io::Write;
use std::net::SocketAddr;

use sandbox::{APP, Login, MONITOR};
use wire::packet::{HEADER_LENGTH, Header, MAX_PAYLOAD, put_packet};
use wire::{Capabilities, Command};

use super::Watched;
use crate::harness::{Raw, RawOptions, wait_until};

const PING: u8 = 0x0E;

/// What comes back for these packets and a PING behind them, up to the PING's OK or the end.
fn replies(address: SocketAddr, login: Login, options: &RawOptions, packets: &[u8]) -> Vec<Vec<u8>> {
    let mut client = Raw::login_with(address, login, options).expect("a login");
    let mut bytes = packets.to_vec();
    put_packet(&mut bytes, 0, &[PING]);
    client.stream.write_all(&bytes).expect("writing");
    let mut replies = Vec::new();
    while let Ok(reply) = client.read() {
        let is_pong = reply.first() == Some(&0) && client.sequence == 1;
        replies.push(reply);
        if is_pong {
            break;
        }
    }
    replies
}

fn command(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    put_packet(&mut packet, sequence, payload);
    packet
}

#[test]
fn an_unknown_command_is_refused_and_the_session_goes_on() {
    let watched = Watched::before_mysql("");
    // Without privileges: some of the known ones would end the server.
    let mut client = Raw::login(watched.tollgate.address, MONITOR);
    let unknown: Vec<u8> = (0..=255).filter(|&byte| Command::from_byte(byte).is_none()).collect();
    assert_eq!(unknown.len(), 230);
    for &byte in &unknown {
        client.command(byte, b"anything");
        let (code, state, message) = client.err();
        assert_eq!((code, state.as_str(), message.as_str()), (1047, "08S01", "Unknown command"), "{byte:#x}");
        assert_eq!(client.sequence, 1);
        client.command(PING, b"");
        client.ok();
    }
    // One that is too large to be looked at whole, or to fit into a packet, is read to its end.
    for length in [2_000_000, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
        client.write(0, &vec![0x99; length]);
        assert_eq!(client.err().0, 1047);
    }
    client.write(0, b"");
    assert_eq!(client.err().0, 1047);
    assert_eq!(client.value("SELECT 1").as_deref(), Some("1"));
    assert_eq!(watched.tollgate.counter("commands_unknown"), 230 + 4);
    drop(client);
    watched.ends_undisturbed();
}

#[test]
fn commands_that_are_cut_or_out_of_sequence_get_what_the_server_says() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let mut watched = Watched::before_mysql("");
    let direct = mysql.primary.address();
    let mut cases: Vec<(String, Vec<u8>)> = (0..=255u8)
        .filter(|&byte| Command::from_byte(byte).is_some())
        // Its text has the time in it; and 8.0 still answers the other, with whoever is connected.
        .filter(|&byte| ![Command::Statistics as u8, Command::ProcessInfo as u8].contains(&byte))
        .map(|byte| (format!("{byte:#x} alone"), command(0, &[byte])))
        .collect();
    for (what, bytes) in [
        ("an empty command", command(0, b"")),
        ("a query out of sequence", command(5, b"\x03SELECT 1")),
        ("EXECUTE of no statement", command(0, b"\x17\x63\0\0\0\0\x01\0\0\0")),
        ("EXECUTE of the last of none", command(0, b"\x17\xFF\xFF\xFF\xFF\0\x01\0\0\0")),
        ("EXECUTE with half an id", command(0, b"\x17\x01\0")),
        ("EXECUTE without its count", command(0, b"\x17\x01\0\0\0\0\x01")),
        ("CLOSE with half an id", command(0, b"\x19\x01\0")),
        ("CLOSE of no statement", command(0, b"\x19\x63\0\0\0")),
        ("LONG_DATA without a parameter", command(0, b"\x18\x01\0\0\0\0")),
        ("LONG_DATA of no statement", command(0, b"\x18\x63\0\0\0\0\0data")),
        ("KILL with half an id", command(0, b"\x0C\x01\0")),
        ("KILL of nobody", command(0, b"\x0C\xFE\xFF\xFF\x7F")),
        ("RESET with half an id", command(0, b"\x1A\x01")),
        ("FETCH with half a number", command(0, b"\x1C\x01\0\0\0\x01")),
        ("SET_OPTION with half a number", command(0, b"\x1B\x01")),
        ("SET_OPTION of no option", command(0, b"\x1B\x63\0")),
        ("no SQL", command(0, b"\x03")),
        ("SQL of NULs", command(0, b"\x03\0\0\0")),
        ("PREPARE of nothing", command(0, b"\x16")),
    ] {
        cases.push((what.to_owned(), bytes));
    }
    for (what, bytes) in cases {
        let options = RawOptions::default();
        let expected = replies(direct, MONITOR, &options, &bytes);
        let through = replies(watched.tollgate.address, MONITOR, &options, &bytes);
        let readable = |replies: &[Vec<u8>]| -> Vec<_> {
            replies.iter().map(|reply| String::from_utf8_lossy(&reply[..reply.len().min(60)]).into_owned()).collect()
        };
        assert_eq!(codes(&through), codes(&expected), "{what}: {:?} {:?}", readable(&through), readable(&expected));
        watched.is_healthy();
    }
    watched.ends_undisturbed();
}

/// The codes of ERRs, OKs without their warnings (the server still has one of an ERR that was the proxy's own), and the
/// other replies as they are.
fn codes(replies: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let known = |reply: &Vec<u8>| match reply[0] {
        0xFF => reply[..3].to_vec(),
        0x00 if reply.len() == 7 => reply[..5].to_vec(),
        _ => reply.clone(),
    };
    replies.iter().map(known).collect()
}

#[test]
fn query_attributes_that_cannot_be_read_are_refused() {
    let watched = Watched::before_mysql("");
    let capabilities = RawOptions::default().capabilities | Capabilities::QUERY_ATTRIBUTES;
    let options = RawOptions { capabilities, ..RawOptions::default() };
    let mut client = Raw::login_with(watched.tollgate.address, APP, &options).expect("a login");
    let bad: [&[u8]; 6] = [
        b"",
        b"\x00\x02SELECT 1",
        b"\x01\x01",
        b"\x01\x01\x00\x00\xFE\x00\x01aSELECT 1",
        b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01SELECT 1",
        b"\x01\x01\x00\x01\xFE\x00\x01a\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFSELECT 1",
    ];
    for (at, body) in bad.iter().enumerate() {
        client.command(0x03, body);
        assert_eq!(client.err().0, 1835, "{body:?}");
        assert_eq!(watched.tollgate.counter("client_malformed"), at as u64 + 1);
        client.command(0x03, b"\x00\x01DO 1");
        client.ok();
    }
    drop(client);
    watched.ends_undisturbed();
}

#[test]
fn a_command_that_is_never_completed_leaves_nothing_behind() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let probe = "probe: { user: tollgate, password: tollgate-pw }\n";
    let watched = Watched::before_mysql(probe);
    // Less than is looked at stays with the proxy; more is on its way to the server already.
    for sent in [10, 60_000, 300_000] {
        let mut client = Raw::login(watched.tollgate.address, APP);
        // Else the server would give up by itself.
        assert_eq!(client.value("SET SESSION net_read_timeout = 600"), None);
        let id = client.value("SELECT CONNECTION_ID()").expect("an id");
        let header = Header { length: 4_000_000, sequence: 0 };
        let begun = [&header.bytes()[..], b"\x03", &vec![b' '; sent]].concat();
        client.stream.write_all(&begun).expect("writing");
        drop(client);
        wait_until("the proxy has given it up", || watched.tollgate.sessions() == 1);
        wait_until("the server's thread has ended", || {
            let count = format!("SELECT COUNT(*) FROM performance_schema.processlist WHERE id = {id}");
            mysql.primary.root_sql(&count).expect("the process list").trim() == "0"
        });
    }
    assert_eq!(watched.tollgate.counter("queries_killed"), 0, "nothing ran");
    watched.ends_undisturbed();
}

#[test]
fn losing_the_upstream_ends_a_session_in_the_middle_of_a_command() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let watched = Watched::before_mysql("");
    // One that is being discarded, one that is streamed, one of which nothing is answered, one that is being read.
    for (byte, sent) in [(0x99, 2_000_000), (0x03, 2_000_000), (0x18, 2_000_000), (0x03, 10)] {
        let mut client = Raw::login(watched.tollgate.address, APP);
        let id = client.value("SELECT CONNECTION_ID()").expect("an id");
        let header = Header { length: 4_000_000, sequence: 0 };
        client.stream.write_all(&[&header.bytes()[..], &[byte], &vec![b' '; sent]].concat()).expect("writing");
        mysql.primary.root_sql(&format!("KILL {id}")).expect("a KILL");
        while let Ok(packet) = client.read() {
            assert_eq!(packet.first(), Some(&0xFF), "{byte:#x}");
        }
        wait_until("the session has ended", || watched.tollgate.sessions() == 1);
    }
    watched.ends_undisturbed();
}

#[test]
fn ten_thousand_commands_in_one_write_are_answered_in_order() {
    const COUNT: usize = 10_000;
    let mut watched = Watched::before_mysql("");
    let client = Raw::login(watched.tollgate.address, APP);
    let mut writer = client.stream.try_clone().expect("the socket");
    let writing = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        for number in 0..COUNT {
            put_packet(&mut bytes, 0, format!("\x03SELECT {number}").as_bytes());
        }
        writer.write_all(&bytes)
    });
    let mut client = client;
    for number in 0..COUNT {
        let packets: Vec<_> = (0..5).map(|_| client.read().expect("a packet")).collect();
        let text = number.to_string();
        assert_eq!(packets[3], [&[text.len() as u8], text.as_bytes()].concat());
        assert_eq!(client.sequence, 5);
    }
    writing.join().expect("the writer").expect("writing");
    watched.is_healthy();
    drop(client);
    watched.ends_undisturbed();
}

#[test]
fn commands_at_the_size_of_a_packet() {
    let watched = Watched::before_mysql("");
    let mut client = Raw::login(watched.tollgate.address, APP);
    for length in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, MAX_PAYLOAD + HEADER_LENGTH] {
        let (start, end) = ("SELECT LENGTH('", "')");
        let letters = length - 1 - start.len() - end.len();
        let sql = format!("{start}{}{end}", "x".repeat(letters));
        assert_eq!(client.value(&sql), Some(letters.to_string()));
    }
    drop(client);
    watched.ends_undisturbed();
}
