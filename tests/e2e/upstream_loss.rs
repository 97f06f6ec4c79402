//! The server goes: the client's connection is closed at once, as without a proxy, and never waits.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use sandbox::{APP, Options, Server};

use crate::harness::{Raw, RawOptions, Tollgate, read_err, wait_until};

/// What is left of a reply after it was cut has nothing of ours in it.
fn is_without_an_err(mut bytes: &[u8]) -> bool {
    while let [a, b, c, _, rest @ ..] = bytes {
        let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        let Some((packet, behind)) = rest.split_at_checked(length) else { return true };
        if packet.first() == Some(&0xFF) {
            return false;
        }
        bytes = behind;
    }
    true
}

#[test]
fn a_crash_ends_every_session_at_once() {
    let server = Server::start(Options::mysql()).expect("a MySQL");
    let tollgate = Tollgate::before(&server);
    let [mut idle, mut running, mut reading, mut open] = [(); 4].map(|()| Raw::login(tollgate.address, APP));
    open.query("BEGIN");
    open.ok();
    reading.query("SELECT REPEAT('x', 1000000) FROM information_schema.columns");
    assert_eq!(reading.read().expect("a beginning"), [1]);
    running.query("DO SLEEP(600)");
    let count = "SELECT COUNT(*) FROM performance_schema.processlist WHERE state = 'User sleep'";
    wait_until("it runs", || server.root_sql(count).expect("the processlist").trim() == "1");
    server.kill().expect("a crash");

    assert_eq!(idle.rest(), b"", "between commands nothing is said, as direct");
    assert_eq!(open.rest(), b"");
    assert_eq!(running.rest(), b"", "an ERR with a library's own code would be malformed to libmariadb");
    assert!(is_without_an_err(&reading.rest()));
    tollgate.await_counter("upstream_lost", 4);
    wait_until("all are gone", || tollgate.sessions() == 0);
}

#[test]
fn what_a_server_says_to_idle_clients_is_passed_on_as_it_is() {
    let server = Server::start(Options::mysql()).expect("a MySQL");
    let tollgate = Tollgate::before(&server);
    let both = [server.address(), tollgate.address];
    let after_timeout = both.map(|address| {
        let mut client = Raw::login(address, APP);
        client.query("SET wait_timeout = 1");
        client.ok();
        client.rest()
    });
    assert_eq!(after_timeout[0][3..7], [0, 0xFF, 0xBF, 0x0F], "4031, as number 0");
    assert_eq!(after_timeout[1], after_timeout[0]);

    let mut idle = both.map(|address| Raw::login(address, APP));
    server.stop().expect("an orderly shutdown");
    let told = idle.each_mut().map(Raw::rest);
    assert_eq!(told[1], told[0]);
    assert_eq!(told[0], b"", "what our own drain does, too");
}

/// A server that goes away in the middle of a login: greets with a real greeting, reads a request, and closes.
fn goes_during_login(real: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let _ = greet_and_go(client, real);
        }
    });
    address
}

fn greet_and_go(mut client: TcpStream, real: SocketAddr) -> std::io::Result<()> {
    let mut server = TcpStream::connect(real)?;
    let mut greeting = [0; 512];
    let length = server.read(&mut greeting)?;
    // Without TLS, so that the login request comes next.
    let plain = wire::Greeting::decode(&greeting[4..length]).map(|mut greeting| {
        greeting.capabilities.remove(wire::Capabilities::SSL);
        greeting.encode()
    });
    let mut packet = Vec::new();
    wire::packet::put_packet(&mut packet, 0, &plain.expect("a greeting"));
    client.write_all(&packet)?;
    client.read(&mut greeting).map(drop)
}

#[test]
fn a_server_that_goes_during_a_login() {
    let real = sandbox::mysql_shared().expect("a MySQL").primary.address();
    let address = goes_during_login(real);
    let tollgate = Tollgate::start(&format!("upstream: {{ address: \"{address}\" }}\n"));
    let refused = Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect_err("an ERR");
    let (code, state, message) = read_err(&refused);
    assert_eq!((code, state.as_str()), (1429, "HY000"), "{message}");
    assert!(message.contains("during login"), "{message}");
}
