//! How many there may be, and that every place is given back.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use admission::port::{Ask, Permit, Verdict};
use sandbox::{APP, ETL, Login, Server};
use socket2::{Domain, Socket, Type};

use crate::harness::{Decides, InProcess, Raw, RawOptions, Tollgate, read_err, upstream, wait_until};

const WRONG: Login = Login { user: "app", password: "not it" };

fn primary() -> &'static Server {
    &sandbox::mysql_shared().expect("a MySQL").primary
}

fn with_limits(limits: &str) -> Tollgate {
    Tollgate::start(&format!("{}limits: {{ {limits} }}\n", upstream(primary())))
}

fn log_in(address: SocketAddr, login: Login) -> Result<Raw, (u16, String, String)> {
    Raw::login_with(address, login, &RawOptions::default()).map_err(|packet| read_err(&packet))
}

/// Sessions until one is refused, which must be by a limit.
fn as_many_as_fit(address: SocketAddr, login: Login) -> Vec<Raw> {
    let mut sessions = Vec::new();
    loop {
        match log_in(address, login) {
            Ok(session) => sessions.push(session),
            Err((code, ..)) => {
                assert_eq!(code, 1040);
                return sessions;
            }
        }
    }
}

fn one_that_fits(address: SocketAddr) -> Raw {
    let mut session = None;
    wait_until("a place", || {
        session = log_in(address, APP).ok();
        session.is_some()
    });
    session.expect("a session")
}

/// Places come back a moment after their clients have gone.
fn fits(address: SocketAddr, login: Login, count: usize) {
    wait_until(&format!("{count} sessions fit"), || as_many_as_fit(address, login).len() == count);
}

#[test]
fn the_limit_of_all_is_told_in_place_of_the_greeting_as_servers_do() {
    let tollgate = with_limits("connections: 2");
    let _two = [Raw::login(tollgate.address, APP), Raw::login(tollgate.address, APP)];
    // What MySQL 9.7 sends: number 0, and no SQLSTATE before capabilities are agreed on.
    assert_eq!(Raw::dial(tollgate.address).rest(), b"\x17\0\0\0\xFF\x10\x04Too many connections");
    assert_eq!(tollgate.counter("limit_connections_hit"), 1);
}

#[test]
fn place_before_login_is_free_before_the_client_knows_that_it_is_logged_in() {
    let tollgate = with_limits("unauthenticated: 1");
    let sessions: Vec<Raw> = (0..50).map(|_| Raw::login(tollgate.address, APP)).collect();
    assert_eq!((sessions.len(), tollgate.counter("limit_unauthenticated_hit")), (50, 0));
}

#[test]
fn a_place_comes_back_however_a_session_ends() {
    let tollgate = with_limits("connections: 3, per_user: 3, per_address: 3");
    fits(tollgate.address, APP, 3);
    for _ in 0..3 {
        let mut quits = one_that_fits(tollgate.address);
        quits.command(1, b"");
        assert!(quits.is_closed());
    }
    fits(tollgate.address, APP, 3);
    for _ in 0..3 {
        wait_until("a place", || !matches!(log_in(tollgate.address, WRONG), Err((1040, ..))));
    }
    fits(tollgate.address, APP, 3);
    for _ in 0..3 {
        let mut lost = one_that_fits(tollgate.address);
        let id = lost.value("SELECT CONNECTION_ID()").expect("an id");
        primary().root_sql(&format!("KILL {id}")).expect("killing it");
        assert!(lost.is_closed());
    }
    fits(tollgate.address, APP, 3);
}

#[test]
fn a_client_that_is_killed_gives_its_place_back() {
    let tollgate = with_limits("connections: 1");
    let mut client = primary().client_to("mysql", APP, tollgate.address).expect("the client");
    let mut client = client.args(["-e", "SELECT SLEEP(617)"]).stdout(std::process::Stdio::null()).spawn().expect("it");
    let find = "SELECT id FROM performance_schema.processlist WHERE info = 'SELECT SLEEP(617)'";
    wait_until("it runs", || !primary().root_sql(find).expect("the processlist").is_empty());
    client.kill().expect("killing it");
    let _ = client.wait();
    // Its statement still runs, and it is the statement that the place stands for.
    tollgate.await_counter("clients_left_during_reply", 1);
    let id = primary().root_sql(find).expect("the statement");
    primary().root_sql(&format!("KILL QUERY {}", id.trim())).expect("ending it");
    fits(tollgate.address, APP, 1);
}

#[test]
fn a_thousand_that_come_and_go_leave_nothing_behind() {
    let tollgate = with_limits("connections: 8, per_address: 8, unauthenticated: 4, per_user: 8");
    for number in 0..1000 {
        let mut client = Raw::dial(tollgate.address);
        if number % 4 == 0 {
            let _ = client.read();
        }
        if number % 100 == 0 {
            let _ = log_in(tollgate.address, WRONG);
        }
    }
    fits(tollgate.address, APP, 8);
    drop(Raw::dial(tollgate.address));
    wait_until("all are gone", || tollgate.sessions() == 0);
}

#[test]
fn users_are_limited_each_by_itself() {
    let tollgate = with_limits("per_user: 2");
    let _two = as_many_as_fit(tollgate.address, APP);
    let (code, state, message) = log_in(tollgate.address, APP).expect_err("a third");
    assert_eq!((code, state.as_str()), (1040, "08004"), "{message}");
    assert!(message.contains("user 'app'"), "{message}");
    assert_eq!(as_many_as_fit(tollgate.address, ETL).len(), 2);
    assert_eq!(tollgate.counter("limit_per_user_hit"), 3);
}

#[test]
fn addresses_are_limited_by_the_client_behind_a_proxy_header() {
    let yaml = format!(
        "listen: [{{ address: 127.0.0.1:0, proxy_protocol_from: [127.0.0.1] }}]\n{}limits: {{ per_address: 1 }}\n",
        upstream(primary())
    );
    let tollgate = Tollgate::start(&yaml);
    let from = |address: &str| {
        let mut raw = Raw::dial(tollgate.address);
        write!(raw.stream, "PROXY TCP4 {address} 127.0.0.1 4000 3306\r\n").expect("a header");
        raw.log_in(APP, &RawOptions::default()).map_err(|packet| read_err(&packet))
    };
    let first = from("192.0.2.1").expect("the first");
    let (code, state, message) = from("192.0.2.1").expect_err("a second");
    assert_eq!((code, state.as_str()), (1040, ""), "{message}");
    assert_eq!(tollgate.counter("limit_per_address_hit"), 1);
    let _other = from("192.0.2.2").expect("another address");
    drop(first);
    wait_until("its place is given back", || from("192.0.2.1").is_ok());
}

#[test]
fn those_not_logged_in_are_limited_and_others_go_on() {
    let tollgate = with_limits("unauthenticated: 3, unauthenticated_per_address: 0");
    let mut session = Raw::login(tollgate.address, APP);
    wait_until("the login's place is given back", || {
        let waiting: Vec<_> = (0..3).map(|_| Raw::dial(tollgate.address)).map(|mut raw| raw.read()).collect();
        waiting.iter().all(|packet| packet.as_ref().is_ok_and(|packet| packet[0] == 10))
    });
    let mut waiting = Vec::new();
    wait_until("three wait", || {
        waiting.push(Raw::dial(tollgate.address));
        waiting.last_mut().expect("one").read().expect("a packet")[0] == 0xFF
    });
    let hit = tollgate.counter("limit_unauthenticated_hit");
    assert!(hit >= 1, "the last of those who wait");
    let (code, state, message) = log_in(tollgate.address, APP).expect_err("a fourth");
    assert_eq!((code, state.as_str()), (1040, ""), "{message}");
    assert!(message.contains("not logged in"), "{message}");
    assert_eq!(tollgate.counter("limit_unauthenticated_hit"), hit + 1);
    assert_eq!(session.value("SELECT 1").as_deref(), Some("1"));
    drop(waiting);
    wait_until("places are given back", || log_in(tollgate.address, APP).is_ok());
}

/// Connects from another address of this machine.
fn dial_from(source: [u8; 4], to: SocketAddr) -> Raw {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((source, 0)).into()).expect("an address of the loopback network");
    socket.connect(&to.into()).expect("a connection");
    Raw::over(socket.into())
}

/// Half-open connections, until one is refused.
fn half_open(mut dial: impl FnMut() -> Raw) -> (Vec<Raw>, String) {
    let mut waiting = Vec::new();
    loop {
        let mut raw = dial();
        let first = raw.read().expect("a packet");
        if first[0] == 0xFF {
            return (waiting, read_err(&first).2);
        }
        waiting.push(raw);
    }
}

#[test]
fn half_open_connections_of_one_address_leave_places_to_others() {
    let tollgate = with_limits("unauthenticated: 9");
    let (waiting, message) = half_open(|| Raw::dial(tollgate.address));
    assert_eq!(waiting.len(), 5, "half of them: {message}");
    assert!(message.contains("not logged in from this address"), "{message}");
    assert_eq!(tollgate.counter("limit_unauthenticated_per_address_hit"), 1);
    let mut other = dial_from([127, 0, 0, 2], tollgate.address).log_in(APP, &RawOptions::default()).expect("a login");
    assert_eq!(other.value("SELECT 1").as_deref(), Some("1"));
    drop(waiting);
    wait_until("its places are given back", || log_in(tollgate.address, APP).is_ok());
}

#[test]
fn half_open_connections_behind_a_proxy_header_count_by_network() {
    let yaml = format!(
        "listen: [{{ address: 127.0.0.1:0, proxy_protocol_from: [127.0.0.1] }}]\n{}\
         limits: {{ unauthenticated: 8, unauthenticated_per_address: 2 }}\n",
        upstream(primary())
    );
    let tollgate = Tollgate::start(&yaml);
    let from = |address: &str| {
        let mut raw = Raw::dial(tollgate.address);
        write!(raw.stream, "PROXY TCP6 {address} ::1 4000 3306\r\n").expect("a header");
        raw
    };
    let mut host = 0;
    let (waiting, message) = half_open(|| {
        host += 1;
        from(&format!("2001:db8::{host}"))
    });
    assert_eq!(waiting.len(), 2, "{message}");
    assert!(message.contains("not logged in from this address"), "{message}");
    from("2001:db8:0:1::1").log_in(APP, &RawOptions::default()).expect("another network");
    // A client that is logged in takes no share any more.
    let users: Vec<Raw> = (0..3)
        .map(|_| from("2001:db8:0:2::1").log_in(APP, &RawOptions::default()).expect("one after the other"))
        .collect();
    drop((users, waiting));
}

/// Becomes the command with few descriptors.
const FEW: [&str; 3] = ["sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\""];

#[test]
fn running_out_of_descriptors_hurts_newcomers_only_and_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let tollgate = Tollgate::start_under(folder, &FEW, &upstream(primary()));
    assert!(tollgate.log().contains("too few file descriptors"), "{}", tollgate.log());
    assert!(tollgate.log().contains("ulimit -n"), "the remedy");
    let mut session = Raw::login(tollgate.address, APP);
    let crowd: Vec<_> = (0..100).map(|_| Raw::dial(tollgate.address)).collect();
    wait_until("it has run out", || tollgate.log().contains("cannot accept connections"));
    let before = tollgate.processor_ticks();
    assert_eq!(session.value("SELECT SLEEP(1)").as_deref(), Some("0"), "who is there goes on");
    let spent = tollgate.processor_ticks() - before;
    assert!(spent < 50, "{spent} ticks of processor time in a second in which it can do nothing");
    drop(crowd);
    wait_until("it lets clients in again", || log_in(tollgate.address, APP).is_ok());
}

#[test]
fn too_few_ports_are_told_at_the_start() {
    let tollgate = with_limits("connections: 70000");
    assert!(tollgate.log().contains("too few local ports"), "{}", tollgate.log());
    assert!(tollgate.log().contains("ip_local_port_range"), "the remedy");
}

struct Panics;

impl Decides for Panics {
    fn ask(&self, ask: &Ask<'_>) -> Verdict {
        assert!(!ask.sql.is_some_and(|(sql, _)| sql.ends_with(b"panic")), "asked for");
        Verdict::Pass(Permit::without_reply())
    }
}

#[test]
fn a_panic_ends_one_session_and_gives_its_places_back() {
    let yaml = format!("{}limits: {{ connections: 2, per_user: 2 }}\nworkers: 1\n", upstream(primary()));
    let proxy = InProcess::start(&yaml, Arc::new(Panics));
    let mut other = Raw::login(proxy.address, APP);
    for _ in 0..3 {
        let mut victim = one_that_fits(proxy.address);
        victim.query("panic");
        assert!(victim.is_closed());
        assert_eq!(other.value("SELECT 1").as_deref(), Some("1"));
    }
}
