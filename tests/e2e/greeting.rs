//! The greeting through the proxy is the server's own, but for what must differ.

use sandbox::{Options, Server};
use wire::{Capabilities, Greeting};

use crate::harness::{Raw, Tollgate, upstream};

/// What is not offered, whatever the server offers.
const NOT_OFFERED: Capabilities = Capabilities::COMPRESS.union(Capabilities::ZSTD_COMPRESSION);

fn packet(address: std::net::SocketAddr) -> Vec<u8> {
    Raw::dial(address).read().expect("a greeting")
}

fn greeting(packet: &[u8]) -> Greeting {
    Greeting::decode(packet).expect("a greeting")
}

/// Byte for byte what the server sends, with the proxy's own id and scramble and without what it does not do.
fn is_the_servers(server: &Server, client_tls: &str, offers_tls: bool) {
    let listen = format!("listen: {{ address: \"127.0.0.1:0\", tls: {client_tls} }}\n");
    let tollgate = Tollgate::start(&format!("{listen}{}", upstream(server)));
    let (direct, through) = (packet(server.address()), packet(tollgate.address));
    let (servers, ours) = (greeting(&direct), greeting(&through));
    let what = format!("{} with tls: {client_tls}", server.version());

    let mut expected = servers.capabilities - NOT_OFFERED;
    expected.set(Capabilities::SSL, offers_tls);
    assert_eq!(ours.capabilities, expected, "{what}: lost or gained {:?}", ours.capabilities ^ expected);
    let expected =
        Greeting { connection_id: ours.connection_id, scramble: ours.scramble, capabilities: expected, ..servers };
    assert_eq!(expected.encode(), through, "{what}");
    assert_eq!(direct.len(), through.len(), "{what}: nothing is left out");
}

#[test]
fn a_client_is_greeted_as_by_the_server() {
    let mysql = &sandbox::mysql_shared().expect("a MySQL").primary;
    for server in [mysql, sandbox::mariadb_shared().expect("a MariaDB")] {
        is_the_servers(server, "optional", true);
        is_the_servers(server, "required", true);
        is_the_servers(server, "disabled", false);
    }
    let offered = greeting(&packet(mysql.address())).capabilities;
    assert!(offered.contains(NOT_OFFERED), "else nothing was left out: {offered:?}");
}

/// Another character set, no TLS: what is greeted with was seen, not assumed.
#[test]
fn a_greeting_follows_the_servers_settings() {
    let options = Options::mysql().argument("--character-set-server=latin1").argument("--tls-version=");
    let server = Server::start(options).expect("a MySQL");
    let this = greeting(&packet(server.address()));
    let usual = greeting(&packet(sandbox::mysql_shared().expect("a MySQL").primary.address()));
    assert_ne!(this.charset, usual.charset);
    assert!(!this.capabilities.contains(Capabilities::SSL));
    is_the_servers(&server, "optional", true);
    is_the_servers(&server, "disabled", false);
}

/// A guessable scramble would let a recorded proof be used again; some clients read it up to its first NUL.
#[test]
fn every_client_gets_an_id_and_a_scramble_of_its_own() {
    let tollgate = Tollgate::before(&sandbox::mysql_shared().expect("a MySQL").primary);
    let greetings: Vec<_> = (0..50).map(|_| greeting(&packet(tollgate.address))).collect();
    for (nth, one) in greetings.iter().enumerate() {
        assert!(one.connection_id >= 1 << 31, "an id that a server could have given: {}", one.connection_id);
        assert!(one.scramble.iter().all(|byte| (1..128).contains(byte) && *byte != b'$'), "{:?}", one.scramble);
        let others = &greetings[..nth];
        assert!(others.iter().all(|other| other.scramble != one.scramble && other.connection_id != one.connection_id));
    }
}
