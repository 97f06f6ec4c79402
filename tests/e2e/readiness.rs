//! `/readyz` and the upstream that is not there.

use std::net::TcpListener;

use sandbox::{APP, Options, Server};

use crate::harness::{Raw, RawOptions, Tollgate, read_err, upstream, wait_until};

#[test]
fn an_upstream_that_comes_goes_and_comes_back() {
    let server = Server::start(Options::mysql()).expect("a MySQL");
    server.stop().expect("its end");
    let tollgate = Tollgate::before(&server);
    wait_until("it knows", || tollgate.get("/readyz").1.contains("refused"));
    let (status, why) = tollgate.get("/readyz");
    assert_eq!(status, 503, "{why}");
    let first_packet = Raw::dial(tollgate.address).read().expect("an ERR");
    let (code, state, message) = read_err(&first_packet);
    assert_eq!((code, state.as_str()), (1429, ""), "{message}");
    assert!(message.contains(&server.address().to_string()), "{message}");

    server.restart().expect("its start");
    wait_until("it is ready, and no client has come", || tollgate.get("/readyz").0 == 200);
    assert_eq!(tollgate.counter("connections_accepted"), 1);
    let mut idle = Raw::login(tollgate.address, APP);

    server.kill().expect("a crash");
    assert_eq!(idle.rest(), b"", "closed, and nothing said");
    wait_until("it is not ready, and no client has come", || tollgate.get("/readyz").0 == 503);
    let (code, state, message) =
        read_err(&Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect_err("an ERR"));
    assert_eq!((code, state.as_str()), (1429, "HY000"), "{message}");

    server.restart().expect("its start");
    wait_until("it is ready again", || tollgate.get("/readyz").0 == 200);
    assert_eq!(Raw::login(tollgate.address, APP).value("SELECT 1").as_deref(), Some("1"));
}

#[test]
fn a_full_upstream_says_so_itself() {
    let server = Server::start(Options::mysql().argument("--max-connections=2")).expect("a MySQL");
    let tollgate = Tollgate::before(&server);
    wait_until("it is ready", || tollgate.get("/readyz").0 == 200);
    // One more than the limit may come in, if it may administer: app may.
    let mut crowd = Vec::new();
    wait_until("it is full", || match Raw::login_with(server.address(), APP, &RawOptions::default()) {
        Ok(raw) => {
            crowd.push(raw);
            false
        }
        Err(packet) => read_err(&packet).0 == 1040,
    });
    assert_eq!(Raw::dial(server.address()).rest(), b"\x17\0\0\0\xFF\x10\x04Too many connections");
    let refused = Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect_err("an ERR");
    assert_eq!(read_err(&refused), (1040, "08004".into(), "Too many connections".into()));
    assert_eq!(tollgate.get("/readyz").0, 503);
    drop(crowd);
    wait_until("it is ready again", || tollgate.get("/readyz").0 == 200);
    wait_until("clients get in", || Raw::login_with(tollgate.address, APP, &RawOptions::default()).is_ok());
}

#[test]
fn an_upstream_that_accepts_and_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("its address");
    let tollgate = Tollgate::start(&format!("upstream: {{ address: \"{address}\", dial_timeout: 200ms }}\n"));
    let (code, _, message) = read_err(&Raw::dial(tollgate.address).read().expect("an ERR"));
    assert_eq!(code, 1429);
    assert!(message.contains("no answer within 200ms"), "{message}");
    assert_eq!(tollgate.get("/readyz").0, 503);
}

#[test]
fn one_lost_session_is_no_reason_not_to_be_ready() {
    let primary = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = Tollgate::start(&upstream(primary));
    let mut client = Raw::login(tollgate.address, APP);
    let id = client.value("SELECT CONNECTION_ID()").expect("an id");
    primary.root_sql(&format!("KILL {id}")).expect("killing it");
    assert!(client.is_closed());
    tollgate.await_counter("upstream_lost", 1);
    assert_eq!(tollgate.get("/readyz"), (200, "ready\n".to_owned()));
}
