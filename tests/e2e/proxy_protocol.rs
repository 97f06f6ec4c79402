//! The PROXY protocol: who the client is when a load balancer stands before us, and telling the server when we do.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use sandbox::{APP, Options, Server};

use crate::harness::{Raw, RawOptions, Tollgate, upstream};

fn behind(networks: &str) -> Tollgate {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    Tollgate::start(&format!(
        "listen: {{ address: \"127.0.0.1:0\", proxy_protocol_from: [\"{networks}\"] }}\n{}limits: {{ login_time: 1s }}\n",
        upstream(server)
    ))
}

fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    header.extend_from_slice(&[0x20 | command, family, 0, body.len() as u8]);
    header.extend_from_slice(body);
    header
}

/// What the server is told of a client whose connection begins with `header`.
fn address_after(tollgate: &Tollgate, header: &[u8]) -> Option<String> {
    let mut raw = Raw::dial(tollgate.address);
    raw.stream.write_all(header).expect("a header");
    let greeting = raw.read().expect("a greeting");
    assert_eq!(greeting[0], 10, "{}", String::from_utf8_lossy(&greeting));
    raw.request_login(APP, &RawOptions::default());
    raw.answer(APP).expect("a login");
    raw.value(
        "SELECT GROUP_CONCAT(ATTR_VALUE ORDER BY ORDINAL_POSITION) FROM performance_schema.session_connect_attrs \
         WHERE PROCESSLIST_ID = CONNECTION_ID() \
         AND ATTR_NAME IN ('_tollgate_client_address', '_tollgate_client_port')",
    )
}

#[test]
fn a_listed_peer_says_who_the_client_is() {
    let tollgate = behind("127.0.0.0/8");
    let body = [192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x34, 0x0C, 0xEA];
    let mut v6 = [0u8; 36];
    (v6[0], v6[1], v6[15], v6[16], v6[31]) = (0x20, 0x01, 0x42, 0x20, 1);
    v6[33] = 99;
    let mut with_tlv = body.to_vec();
    with_tlv.extend_from_slice(&[0x04, 0, 3, 1, 2, 3]);
    for (header, expected) in [
        (b"PROXY TCP4 192.0.2.9 10.0.0.1 5000 3306\r\n".to_vec(), "192.0.2.9,5000"),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 5001 3306\r\n".to_vec(), "2001:db8::7,5001"),
        (v2(1, 0x11, &body), "192.0.2.7,4660"),
        (v2(1, 0x11, &with_tlv), "192.0.2.7,4660"),
        (v2(1, 0x21, &v6), "2001::42,99"),
    ] {
        assert_eq!(address_after(&tollgate, &header).as_deref(), Some(expected));
    }
    // A load balancer's own look, and one that does not know: the peer itself.
    for header in [v2(0, 0, &[]), v2(0, 0x11, &body), b"PROXY UNKNOWN\r\n".to_vec()] {
        let seen = address_after(&tollgate, &header).expect("an address");
        assert!(seen.starts_with("127.0.0.1,"), "{seen}");
    }
    assert_eq!(tollgate.counter("proxy_headers_bad"), 0);
}

#[test]
fn a_listed_peer_must_send_it() {
    let tollgate = behind("127.0.0.1");
    // Not a word: no greeting either, and an end when the time for a login is over.
    let mut silent = Raw::dial(tollgate.address);
    let (code, _, _) = silent.err();
    assert_eq!(code, 1159);
    // A login without it, and headers that are none.
    for bytes in [&b"\x20\0\0\x01\x85\xa6"[..], b"PROXY TCP4 not an address\r\n", b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0"] {
        let mut raw = Raw::dial(tollgate.address);
        raw.stream.write_all(bytes).expect("bytes");
        let (code, _, message) = raw.err();
        assert!(code == 1043 && message.contains("PROXY"), "{code} {message}");
        assert!(raw.is_closed());
    }
    tollgate.await_counter("proxy_headers_bad", 3);
    assert_eq!(tollgate.counter("logins_succeeded"), 0);
}

/// Whoever may send it may claim any address.
#[test]
fn from_others_it_is_no_login() {
    let tollgate = behind("10.0.0.0/8");
    for header in [b"PROXY TCP4 10.0.0.9 10.0.0.1 5000 3306\r\n".to_vec(), v2(1, 0x11, &[10; 12])] {
        let mut raw = Raw::greeted(tollgate.address);
        raw.stream.write_all(&header).expect("a header");
        assert_eq!(raw.err().0, 1043);
        assert!(raw.is_closed());
    }
    tollgate.await_counter("logins_too_large", 2);
    Raw::login(tollgate.address, APP);
}

/// MariaDB takes it, and its process list then shows the client and not the proxy.
#[test]
fn the_server_is_told_who_the_client_is() {
    let options = Options::mariadb().argument("--proxy-protocol-networks=127.0.0.1");
    let server = Server::start(options).expect("a MariaDB");
    let tollgate = Tollgate::start(&format!(
        "listen: {{ address: \"127.0.0.1:0\", proxy_protocol_from: [127.0.0.9] }}\n\
         upstream: {{ address: \"{}\", proxy_protocol: v2 }}\n",
        server.address()
    ));
    let sql = "SELECT HOST FROM information_schema.processlist WHERE ID = CONNECTION_ID()";
    let from = |address: [u8; 4]| {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from((Ipv4Addr::from(address), 0)).into()).expect("an address");
        socket.connect(&tollgate.address.into()).expect("a connection");
        Raw::over(socket.into())
    };
    let mut raw = from([127, 0, 0, 42]);
    raw.read().expect("a greeting");
    raw.request_login(APP, &RawOptions::default());
    raw.answer(APP).expect("a login");
    let port = raw.stream.local_addr().expect("an address").port();
    assert_eq!(raw.value(sql), Some(format!("127.0.0.42:{port}")));

    // What a load balancer said is passed on.
    let mut raw = from([127, 0, 0, 9]);
    raw.stream.write_all(b"PROXY TCP4 192.0.2.9 10.0.0.1 5000 3306\r\n").expect("a header");
    raw.read().expect("a greeting");
    raw.request_login(APP, &RawOptions::default());
    raw.answer(APP).expect("a login");
    assert_eq!(raw.value(sql).as_deref(), Some("192.0.2.9:5000"));
}
