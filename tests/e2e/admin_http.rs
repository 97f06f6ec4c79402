//! `admin.http` before clients that mean no good: held connections, and names that point here.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::harness::{PATIENCE, Tollgate, wait_until};

const NOWHERE: &str = "upstream: { address: \"127.0.0.1:1\" }\n";

fn connect_from(source: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((source, 0)).into()).expect("an address of the loopback network");
    socket.connect(&to.into()).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    socket.into()
}

/// The connections that the proxy has open on its HTTP port, by the descriptors beyond those at the start.
fn descriptors(tollgate: &Tollgate) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", tollgate.pid())).expect("its descriptors").count()
}

/// What comes until the other side closes, be it by a reset.
fn rest(mut stream: TcpStream) -> String {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    String::from_utf8_lossy(&rest).into_owned()
}

#[test]
fn held_connections_are_bounded_and_readiness_answers() {
    let tollgate = Tollgate::start(NOWHERE);
    let before = descriptors(&tollgate);
    let mut held = Vec::new();
    for round in 0..100 {
        for source in [1, 2, 3, 4, 5, 6] {
            let mut stream = connect_from([127, 0, 0, source], tollgate.http);
            stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").expect("half a head");
            held.push(stream);
        }
        if round % 10 == 0 {
            assert_eq!(tollgate.get("/livez").0, 200);
            assert_eq!(tollgate.get("/readyz").0, 503);
        }
    }
    // Those that were replaced are closed by the same thread that now answers.
    wait_until("no more than 256 are open", || {
        let _ = tollgate.get("/livez");
        descriptors(&tollgate) <= before + 257
    });
    assert!(tollgate.get("/metrics").1.contains("tollgate_sessions"));
}

#[test]
fn connections_of_one_address_are_bounded() {
    let tollgate = Tollgate::start(NOWHERE);
    let before = descriptors(&tollgate);
    let _held: Vec<_> = (0..200).map(|_| connect_from([127, 0, 0, 2], tollgate.http)).collect();
    wait_until("no more than 64 are open", || {
        assert_eq!(tollgate.get("/livez").0, 200);
        descriptors(&tollgate) <= before + 65
    });
}

/// One that sends half a head, one that sends nothing, and one that was answered and stays: the proxy closes each.
#[test]
fn slow_and_idle_connections_are_closed() {
    let tollgate = Tollgate::start(NOWHERE);
    let connections = ["GET /livez HTTP/1.1\r\nHost: ", "", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"];
    let connections = connections.map(|sent| {
        let mut stream = connect_from([127, 0, 0, 1], tollgate.http);
        stream.write_all(sent.as_bytes()).expect("sending");
        stream
    });
    let [half, _, answered] = connections.map(|mut stream| {
        let mut read = Vec::new();
        // A time-out would be an error: the connection was still open.
        stream.read_to_end(&mut read).expect("it is closed");
        String::from_utf8_lossy(&read).into_owned()
    });
    assert!(!half.contains("live\n"), "{half}");
    assert!(answered.ends_with("live\n"), "{answered}");
}

#[test]
fn unknown_host_names_are_refused_on_every_path() {
    let tollgate =
        Tollgate::start(&format!("{NOWHERE}admin: {{ http: 127.0.0.1:0, host_names: [proxy-1.internal] }}\n"));
    let status = |path: &str, head: &str| {
        let mut stream = connect_from([127, 0, 0, 1], tollgate.http);
        write!(stream, "GET {path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n").expect("asking");
        let answer = rest(stream);
        (answer.split(' ').nth(1).map(str::to_owned).unwrap_or_default(), answer)
    };
    for path in ["/metrics", "/livez", "/readyz", "/rules", "/clients", "/nothing"] {
        let (code, answer) = status(path, "Host: rebound.example:6034\r\n");
        assert!(code == "421" && answer.contains("not a name of this proxy"), "{path}: {answer}");
        assert!(answer.contains("admin.host_names"), "the remedy: {answer}");
    }
    for host in ["localhost:6034", "127.0.0.1", "[::1]:1", "10.1.2.3:6034", "proxy-1.internal:6034"] {
        assert_eq!(status("/metrics", &format!("Host: {host}\r\n")).0, "200", "{host}");
    }
}
