//! Garbage from the other side: the client gets an ERR where one fits, or a close, and never waits in vain.

use std::io::{Read, Write};
use std::net::Shutdown;

use sandbox::Login;
use wire::packet::put_packet;
use wire::{Capabilities, ErrPacket};

use crate::harness::{Hostile, HostileLeg, Raw, RawOptions, Tollgate, read_err, wait_until};

const ANYBODY: Login = Login { user: "anybody", password: "pw" };

const COLUMN: &[u8] = b"\x03def\0\0\0\x01x\0\x0C\x3F\0\x01\0\0\0\x08\x81\0\0\0\0";
const EOF: &[u8] = &[0xFE, 0, 0, 2, 0];
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// The first packet a client gets, greeting or ERR, and what it gets for a login request.
fn first_error(tollgate: &Tollgate) -> (u16, String, String) {
    let mut client = Raw::dial(tollgate.address);
    let first = client.read().expect("a packet");
    if first.first() == Some(&0xFF) {
        assert!(client.is_closed());
        return read_err(&first);
    }
    drop(client);
    let answer = Raw::login_with(tollgate.address, ANYBODY, &RawOptions::default()).expect_err("an ERR");
    read_err(&answer)
}

#[test]
fn what_is_no_greeting_becomes_an_error() {
    let full = ErrPacket::encode(1040, b"08004", "Too many connections", Capabilities::empty());
    let mut cut = HostileLeg::greeting();
    cut.truncate(20);
    let mut old = HostileLeg::greeting();
    old[0] = 9;
    let framed = |payload: &[u8]| {
        let mut bytes = Vec::new();
        put_packet(&mut bytes, 0, payload);
        bytes
    };
    let cases: [(&str, Vec<u8>, u16, &str); 8] = [
        ("the server's own error", framed(&full), 1040, "upstream_refused"),
        ("a greeting that is cut", framed(&cut), 1429, "upstream_malformed"),
        ("a greeting of another protocol", framed(&old), 1429, "upstream_malformed"),
        ("an empty packet", framed(b""), 1429, "upstream_malformed"),
        ("text", b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), 1429, "upstream_malformed"),
        ("a greeting out of sequence", [&[20, 0, 0, 7][..], &[10; 20]].concat(), 1429, "upstream_malformed"),
        ("a close", Vec::new(), 1429, "upstream_malformed"),
        ("a packet that ends early", framed(&HostileLeg::greeting())[..30].to_vec(), 1429, "upstream_malformed"),
    ];
    for (what, bytes, code, counter) in cases {
        let upstream = Hostile::start(move |mut leg| {
            leg.stream.write_all(&bytes)?;
            leg.stream.shutdown(Shutdown::Write)?;
            leg.until_closed()
        });
        let tollgate = Tollgate::start(&upstream.upstream());
        let (got, _, message) = first_error(&tollgate);
        assert_eq!(got, code, "{what}: {message}");
        assert!(tollgate.counter(counter) >= 1, "{what}");
        wait_until("no session is left", || tollgate.sessions() == 0);
        let (status, body) = tollgate.get("/readyz");
        assert_eq!(status, 503, "{what}: {body}");
    }
}

#[test]
fn an_upstream_that_says_nothing_is_waited_for_so_long() {
    let upstream = Hostile::start(HostileLeg::until_closed);
    let tollgate = Tollgate::start(&upstream.upstream());
    let (code, _, message) = first_error(&tollgate);
    assert_eq!(code, 1429, "{message}");
    assert!(message.contains("no answer within 1s"), "{message}");
    assert!(tollgate.counter("upstream_unreachable") >= 1);
    wait_until("no session is left", || tollgate.sessions() == 0);
}

/// A login that the upstream ends in an odd way.
fn odd_login(script: impl Fn(HostileLeg) -> std::io::Result<()> + Send + Sync + 'static) -> (Tollgate, u16) {
    let upstream = Hostile::start(script);
    let tollgate = Tollgate::start(&format!("{}limits: {{ login_time: 2s }}\n", upstream.upstream()));
    let answer = Raw::login_with(tollgate.address, ANYBODY, &RawOptions::default()).expect_err("an ERR");
    wait_until("no session is left", || tollgate.sessions() == 0);
    (tollgate, read_err(&answer).0)
}

#[test]
fn a_greeting_and_then_a_close_is_an_error() {
    let (tollgate, code) = odd_login(|mut leg| leg.write(0, &HostileLeg::greeting()));
    assert_eq!(code, 1429);
    assert!(tollgate.counter("upstream_lost") + tollgate.counter("upstream_unreachable") >= 1);
}

#[test]
fn a_greeting_and_then_silence_is_an_error() {
    let (tollgate, code) = odd_login(|mut leg| {
        leg.write(0, &HostileLeg::greeting())?;
        leg.until_closed()
    });
    assert_eq!(code, 1159);
    assert_eq!(tollgate.counter("login_timeouts"), 1);
}

#[test]
fn a_login_that_the_upstream_breaks_off_is_an_error() {
    let odd: [(&str, &[u8]); 4] = [
        ("an OK out of sequence", b"\x07\0\0\x09\0\0\0\x02\0\0\0"),
        ("half a packet", b"\x2C\0\0\x02\xFEcaching"),
        ("a packet of 16 MiB", b"\xFF\xFF\xFF\x02\xFE"),
        ("a close", b""),
    ];
    for (what, bytes) in odd {
        let (tollgate, code) = odd_login(move |mut leg| {
            leg.write(0, &HostileLeg::greeting())?;
            leg.read()?;
            leg.stream.write_all(bytes)
        });
        assert_eq!(code, 1429, "{what}");
        assert!(tollgate.counter("upstream_lost") >= 1, "{what}");
    }
}

/// How a session goes on after a reply that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The client gets an ERR of the proxy's, and a close.
    Err(u16),
    /// The bytes were passed on as far as they made sense, and then a close.
    Closed,
}

/// Packets as they are written, numbered from 1.
fn reply(payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sequence = 1;
    for payload in payloads {
        sequence = put_packet(&mut bytes, sequence, payload);
    }
    bytes
}

#[test]
fn replies_out_of_sync_end_the_session_and_no_other() {
    let cut = |payloads: &[&[u8]], less: usize| {
        let mut bytes = reply(payloads);
        bytes.truncate(bytes.len() - less);
        bytes
    };
    let endless = b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
    // What is sent for a query, and whether the upstream then closes.
    let cases: Vec<(&str, Vec<u8>, Then)> = vec![
        ("a close before the reply", Vec::new(), Then::Closed),
        ("an empty packet", reply(&[b""]), Then::Err(1835)),
        ("an EOF for a reply", reply(&[EOF]), Then::Err(1835)),
        ("half an OK", cut(&[OK], 3), Then::Closed),
        ("an OK that is cut", reply(&[&OK[..2]]), Then::Err(1835)),
        ("an ERR that is cut", reply(&[&[0xFF, 1]]), Then::Err(1835)),
        ("an OK where columns are due", reply(&[&[2], COLUMN, OK]), Then::Err(1835)),
        ("an EOF where columns are due", reply(&[&[2], COLUMN, EOF]), Then::Err(1835)),
        ("a row in place of the EOF behind the columns", reply(&[&[1], COLUMN, b"\x01y"]), Then::Err(1835)),
        ("no rest of the columns", reply(&[&[2], COLUMN]), Then::Closed),
        ("a row that stops in the middle", cut(&[&[1], COLUMN, EOF, b"\x05abcde"], 3), Then::Closed),
        ("rows without an end", reply(&[&[1], COLUMN, EOF, b"\x01y"]), Then::Closed),
        ("columns without an end", reply(&[endless, COLUMN, COLUMN, EOF]), Then::Err(1835)),
        ("a header that is cut", cut(&[&[1], COLUMN, EOF, b"\x01y"], 4), Then::Closed),
    ];
    for (what, bytes, then) in cases {
        let upstream = Hostile::logged_in(move |mut leg, command| {
            // The healthy session's commands begin otherwise.
            if command.ends_with(b"odd") {
                leg.stream.write_all(&bytes)?;
                leg.stream.shutdown(Shutdown::Write)?;
                return leg.until_closed();
            }
            leg.write(1, OK)?;
            while leg.read().is_ok() {
                leg.write(1, OK)?;
            }
            Ok(())
        });
        let tollgate = Tollgate::start(&upstream.upstream());
        let mut healthy = Raw::login(tollgate.address, ANYBODY);
        let mut client = Raw::login(tollgate.address, ANYBODY);
        client.query("odd");
        let mut packets = Vec::new();
        while let Ok(packet) = client.read() {
            packets.push(packet);
        }
        let last = packets.last().filter(|packet| packet.first() == Some(&0xFF));
        match then {
            Then::Err(code) => assert_eq!(last.map(|packet| read_err(packet).0), Some(code), "{what}: {packets:?}"),
            Then::Closed => assert_eq!(last, None, "{what}: {packets:?}"),
        }
        let counted = tollgate.counter("upstream_lost") + tollgate.counter("upstream_malformed");
        assert_eq!(counted, 1, "{what}");
        healthy.query("DO 1");
        healthy.ok();
        wait_until("only the healthy session is left", || tollgate.sessions() == 1);
    }
}

#[test]
fn a_prepared_statements_reply_out_of_sync_ends_the_session() {
    let cases: [(&str, Vec<u8>); 3] = [
        ("an EOF", reply(&[EOF])),
        ("a cut reply", reply(&[&[0, 1, 0, 0]])),
        ("an empty packet among the definitions", reply(&[&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], COLUMN, b""])),
    ];
    for (what, bytes) in cases {
        let upstream = Hostile::logged_in(move |mut leg, _| {
            leg.stream.write_all(&bytes)?;
            leg.until_closed()
        });
        let tollgate = Tollgate::start(&upstream.upstream());
        let mut client = Raw::login(tollgate.address, ANYBODY);
        client.command(0x16, b"SELECT ?");
        let mut last = Vec::new();
        while let Ok(packet) = client.read() {
            last = packet;
        }
        assert!(last.first() == Some(&0xFF), "{what}: {last:?}");
        tollgate.await_counter("upstream_malformed", 1);
        wait_until("no session is left", || tollgate.sessions() == 0);
    }
}

#[test]
fn a_packet_that_nobody_asked_for_ends_the_session_unless_it_says_why() {
    // Behind a reply, in one write with it.
    let upstream = Hostile::logged_in(|mut leg, _| {
        leg.stream.write_all(&[reply(&[OK]), reply(&[&[1], COLUMN])].concat())?;
        leg.until_closed()
    });
    let tollgate = Tollgate::start(&upstream.upstream());
    let mut client = Raw::login(tollgate.address, ANYBODY);
    client.query("DO 1");
    client.ok();
    client.query("DO 2");
    assert!(client.is_closed(), "what nobody asked for was taken for a reply");
    tollgate.await_counter("upstream_malformed", 1);

    // Later, while the session is idle: an ERR is the server's farewell, anything else is not.
    let farewell = ErrPacket::encode(4031, b"HY000", "inactivity", Capabilities::PROTOCOL_41);
    for (payload, expected) in [(OK.to_vec(), None), (farewell, Some(4031))] {
        let upstream = Hostile::logged_in(move |mut leg, _| {
            leg.write(1, OK)?;
            // Not in one segment with the reply.
            std::thread::sleep(std::time::Duration::from_millis(100));
            leg.write(0, &payload)?;
            leg.stream.shutdown(Shutdown::Write)?;
            leg.until_closed()
        });
        let tollgate = Tollgate::start(&upstream.upstream());
        let mut client = Raw::login(tollgate.address, ANYBODY);
        client.query("DO 1");
        client.ok();
        assert_eq!(client.read().ok().map(|packet| read_err(&packet).0), expected);
        let counter = if expected.is_some() { "upstream_lost" } else { "upstream_malformed" };
        tollgate.await_counter(counter, 1);
        wait_until("no session is left", || tollgate.sessions() == 0);
    }
}

/// A reply that begins with another number than the one behind the command's may be the reply to something else. An error
/// is passed on, as a server that breaks off says so with the number it has come to; but it is the last either way.
#[test]
fn a_reply_out_of_step_ends_the_session() {
    let broken_off = ErrPacket::encode(1153, b"08S01", "too large", Capabilities::PROTOCOL_41);
    let cases = [(OK.to_vec(), 1, 1835, "upstream_malformed"), (broken_off, 9, 1153, "upstream_lost")];
    for (payload, sequence, code, counter) in cases {
        let upstream = Hostile::logged_in(move |mut leg, _| {
            leg.write(9, &payload)?;
            leg.until_closed()
        });
        let tollgate = Tollgate::start(&upstream.upstream());
        let mut client = Raw::login(tollgate.address, ANYBODY);
        client.query("DO 1");
        assert_eq!((client.err().0, client.sequence), (code, sequence));
        assert!(client.is_closed());
        tollgate.await_counter(counter, 1);
        wait_until("no session is left", || tollgate.sessions() == 0);
    }
}

#[test]
fn a_redirect_in_the_middle_of_a_reply_does_not_hide_the_rest() {
    // OK with more results to come, its state with redirect_url, and behind it, in one write, the last OK.
    let mut state = Vec::new();
    wire::put_lenenc_bytes(&mut state, b"redirect_url");
    wire::put_lenenc_bytes(&mut state, b"mysql://elsewhere:3306");
    let mut entry = vec![0];
    wire::put_lenenc_bytes(&mut entry, &state);
    let mut redirect = vec![0, 0, 0, 0x0A, 0x40, 0, 0, 0];
    wire::put_lenenc_bytes(&mut redirect, &entry);
    let bytes = reply(&[&redirect, OK]);
    let upstream = Hostile::logged_in(move |mut leg, _| {
        leg.stream.write_all(&bytes)?;
        leg.until_closed()
    });
    let tollgate = Tollgate::start(&upstream.upstream());
    let capabilities = RawOptions::default().capabilities | Capabilities::SESSION_TRACK;
    let options = RawOptions { capabilities, ..RawOptions::default() };
    let mut client = Raw::login_with(tollgate.address, ANYBODY, &options).expect("a login");
    client.query("DO 1; DO 2");
    let first = client.read().expect("an OK");
    assert!(!first.windows(8).any(|window| window == b"redirect"), "{first:?}");
    client.ok();
    assert_eq!(tollgate.counter("redirects_stripped"), 1);
}

#[test]
fn an_upstream_that_refuses_a_long_command_in_the_middle_is_heard_once() {
    // As MySQL does with one over max_allowed_packet.
    let upstream = Hostile::start(|mut leg| {
        if leg.log_in()? {
            let mut start = [0; 100_000];
            leg.stream.read_exact(&mut start)?;
            leg.write(1, &ErrPacket::encode(1153, b"08S01", "too large", Capabilities::PROTOCOL_41))?;
            leg.stream.shutdown(Shutdown::Both)?;
        }
        Ok(())
    });
    // What is longer than is inspected goes on before all of it is there.
    let tollgate = Tollgate::start(&format!("{}limits: {{ inspect: 64KiB }}\n", upstream.upstream()));
    let mut client = Raw::login(tollgate.address, ANYBODY);
    // Its rest would be read as commands that nobody knows, wherever the reading began.
    let rest = [1, 0, 0, 0, 0x99].repeat(60_000);
    let _ = client.stream.write_all(&[&[0xFF, 0xFF, 0xFF, 0, 3][..], &rest].concat());
    assert_eq!(client.err().0, 1153);
    let _ = client.stream.write_all(&rest);
    assert!(client.is_closed(), "the rest of the command was taken for another");
    tollgate.await_counter("upstream_lost", 1);
    assert_eq!(tollgate.counter("commands_unknown"), 0);
}
