//! Before a login: what is not one is told so, counted, and closed.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use sandbox::APP;
use wire::packet::Header;
use wire::{Capabilities, LoginRequest};

use super::Watched;
use crate::harness::{Raw, RawOptions};

/// A login request of APP's, whose attributes fill it up to `length` bytes.
fn request_of(length: usize) -> Vec<u8> {
    let request = |attributes: &[u8]| {
        LoginRequest {
            capabilities: RawOptions::default().capabilities | Capabilities::CONNECT_ATTRS,
            max_packet: 1 << 24,
            charset: 45,
            filler: [0; 23],
            user: APP.user.as_bytes(),
            auth_response: b"",
            database: None,
            auth_plugin: Some(b"a_plugin_that_nobody_has"),
            attributes: Some(attributes),
            compression_level: None,
        }
        .encode()
    };
    let attribute = |length| {
        let mut block = Vec::new();
        wire::put_lenenc_bytes(&mut block, b"filling");
        wire::put_lenenc_bytes(&mut block, &vec![b'x'; length]);
        block
    };
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = (low + high) / 2;
        if request(&attribute(middle)).len() < length { low = middle + 1 } else { high = middle }
    }
    let request = request(&attribute(low));
    assert_eq!(request.len(), length);
    request
}

fn packet(length: usize, sequence: u8, payload: &[u8]) -> Vec<u8> {
    [&Header { length, sequence }.bytes()[..], payload].concat()
}

#[test]
fn what_is_no_login_gets_an_error_a_counter_and_a_close() {
    let mut watched = Watched::before_mysql("");
    let good = request_of(200);
    let mut lying_proof = good.clone();
    lying_proof[32 + APP.user.len() + 1] = 250;
    let mut lying_attributes = good.clone();
    let at = lying_attributes.windows(8).position(|window| window == b"\x07filling").expect("the attributes") - 1;
    lying_attributes[at] = 250;
    let mut old = good.clone();
    old[1] &= !2;
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03 and the rest of a hello";
    let http = b"GET / HTTP/1.1\r\nHost: db\r\n\r\n";
    let v2 = relay::proxy_protocol::encode_v2("192.0.2.1:5".parse().unwrap(), "192.0.2.2:6".parse().unwrap());
    let cases: [(&str, Vec<u8>, &str); 14] = [
        ("no payload", packet(0, 1, b""), "logins_malformed"),
        ("cut in its fixed part", packet(20, 1, &good[..20]), "logins_malformed"),
        ("cut in the user's name", packet(34, 1, &good[..34]), "logins_malformed"),
        ("a proof longer than the packet", packet(200, 1, &lying_proof), "logins_malformed"),
        ("attributes longer than the packet", packet(200, 1, &lying_attributes), "logins_malformed"),
        ("from before protocol 4.1", packet(200, 1, &old), "logins_malformed"),
        ("out of sequence", packet(200, 5, &good), "logins_malformed"),
        ("a command in its place", packet(9, 0, b"\x03SELECT 1"), "logins_malformed"),
        ("a length of 16 MiB", packet(0xFF_FFFF, 1, &good), "logins_too_large"),
        ("a TLS hello", hello.to_vec(), "tls_hello_before_greeting"),
        ("HTTP", http.to_vec(), "logins_too_large"),
        ("a PROXY header from a peer that is not listed", v2, "logins_too_large"),
        ("the same as text", b"PROXY TCP4 192.0.2.1 192.0.2.2 5 6\r\n".to_vec(), "logins_too_large"),
        ("1 MiB of garbage", vec![0xAA; 1 << 20], "logins_too_large"),
    ];
    for (what, bytes, counter) in cases {
        let before = watched.tollgate.counter(counter);
        let mut client = Raw::greeted(watched.tollgate.address);
        // The other side may close before all of it is written.
        let _ = client.stream.write_all(&bytes);
        let (code, state, message) = client.err();
        assert_eq!((code, state.as_str()), (1043, "08S01"), "{what}: {message}");
        assert!(client.is_closed(), "{what}");
        assert_eq!(watched.tollgate.counter(counter), before + 1, "{what}");
        watched.is_healthy();
    }
    watched.ends_undisturbed();
}

#[test]
fn a_login_that_is_broken_off_is_counted() {
    let watched = Watched::before_mysql("");
    let half = packet(200, 1, &request_of(200)[..100]);
    for (bytes, left) in [(&b""[..], 1), (&half, 2)] {
        let mut client = Raw::greeted(watched.tollgate.address);
        client.stream.write_all(bytes).expect("writing");
        client.stream.shutdown(Shutdown::Both).expect("leaving");
        watched.tollgate.await_counter("clients_left_before_login", left);
    }
    watched.ends_undisturbed();
}

#[test]
fn tls_that_is_asked_for_and_then_not_spoken_is_closed() {
    let watched = Watched::before_mysql("");
    let mut client = Raw::greeted(watched.tollgate.address);
    let mut request = request_of(200)[..32].to_vec();
    request[1] |= 8;
    client.write(1, &request);
    client.stream.write_all(&[0xAA; 500]).expect("writing");
    watched.tollgate.await_counter("tls_handshakes_failed", 1);
    watched.ends_undisturbed();
}

#[test]
fn a_login_may_be_as_large_as_the_limit_and_no_larger() {
    let watched = Watched::before_mysql("limits: { login_size: 4KiB }\n");
    let login = |length: usize| {
        let mut client = Raw::greeted(watched.tollgate.address);
        client.write(1, &request_of(length));
        client.answer(APP).map(|_| client.value("SELECT 1"))
    };
    assert_eq!(login(4096), Ok(Some("1".to_owned())));
    let (code, ..) = crate::harness::read_err(&login(4097).expect_err("too large"));
    assert_eq!(code, 1043);
    watched.tollgate.await_counter("logins_too_large", 1);
    // The header of this one begins as a TLS hello does.
    assert_eq!(login(0x316), Ok(Some("1".to_owned())));
    watched.ends_undisturbed();
}

#[test]
fn a_client_that_sends_nothing_or_little_is_waited_for_so_long() {
    let watched = Watched::before_mysql("limits: { login_time: 1s }\n");
    let mut silent = Raw::greeted(watched.tollgate.address);
    let mut dripping = Raw::greeted(watched.tollgate.address);
    let mut unproven = Raw::greeted(watched.tollgate.address);
    unproven.write(1, &request_of(200));
    assert_eq!(unproven.read().expect("a question").first(), Some(&0xFE));

    let bytes = packet(200, 1, &request_of(200));
    let mut writer = dripping.stream.try_clone().expect("the socket");
    let drip = std::thread::spawn(move || {
        // A hundred seconds' worth: it is ended by the proxy, not by running dry.
        bytes.chunks(1).cycle().take(1000).all(|byte| {
            std::thread::sleep(Duration::from_millis(100));
            writer.write_all(byte).is_ok()
        })
    });
    for client in [&mut silent, &mut dripping, &mut unproven] {
        let (code, state, _) = client.err();
        assert_eq!((code, state.as_str()), (1159, "08S01"));
        assert!(client.is_closed());
    }
    drop(dripping);
    assert!(!drip.join().expect("the writer"), "it was never told to stop");
    assert_eq!(watched.tollgate.counter("login_timeouts"), 3);
    assert_eq!(watched.tollgate.counter("logins_finished_for_clients"), 1);
    watched.ends_undisturbed();
}

#[test]
fn a_peer_that_is_listed_must_send_a_proxy_header() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let listen = "listen: [{ address: \"127.0.0.1:0\", proxy_protocol_from: [127.0.0.0/8] }]\n";
    let tollgate = crate::harness::Tollgate::start(&format!("{}{listen}", crate::harness::upstream(&mysql.primary)));
    for (at, bytes) in
        [&packet(200, 1, &request_of(200))[..], b"GET / HTTP/1.1\r\n", b"PROXY TCP4 1 2 3 4\r\n"].iter().enumerate()
    {
        let mut client = Raw::dial(tollgate.address);
        client.stream.write_all(bytes).expect("writing");
        assert_eq!(client.err().0, 1043);
        assert!(client.is_closed());
        tollgate.await_counter("proxy_headers_bad", at as u64 + 1);
    }
    let mut client = Raw::dial(tollgate.address);
    client.stream.write_all(b"PROXY TCP4 192.0.2.1 192.0.2.2 5 6\r\n").expect("writing");
    assert_eq!(client.read().expect("a greeting").first(), Some(&10));
}

#[test]
fn nonsense_for_a_proof_is_the_servers_to_refuse() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let mut watched = Watched::before_mysql("");
    let attempt = |address, answer: &[u8]| {
        let mut client = Raw::greeted(address);
        client.write(1, &request_of(200));
        client.read().expect("a question");
        client.write(client.sequence.wrapping_add(1), answer);
        let mut told = client.read().expect("an answer");
        // The full authentication is asked for next, or it is refused at once.
        if told == [1, 4] {
            client.write(client.sequence.wrapping_add(1), answer);
            told = client.read().expect("an answer");
        }
        told
    };
    for answer in [&[0x5A; 32][..], &[0; 20], &[1, 2, 3], &[0xFF; 300]] {
        assert_eq!(attempt(watched.tollgate.address, answer), attempt(mysql.primary.address(), answer), "{answer:?}");
        watched.is_healthy();
    }
    watched.ends_undisturbed();
}
