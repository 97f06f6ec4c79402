//! The server's own counters of failed logins: what a login adds to them directly, it adds through the proxy.

use std::net::{SocketAddr, TcpStream};

use sandbox::{APP, Login, Options, Server, TOLLGATE};

use crate::harness::{Raw, Tollgate, mysql, process_list, wait_until};

/// MariaDB's counters of connections that ended before they were logged in, the second one before a login was read, and of
/// sessions that ended without COM_QUIT. Waits until no client is connected by TCP.
fn aborted(server: &Server) -> [u64; 3] {
    wait_until("all clients to have left", || {
        let table = process_list(server);
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE USER = 'unauthenticated user' OR HOST LIKE '127.0.0.1%'");
        server.root_sql(&sql).expect("the process list").trim() == "0"
    });
    ["Aborted_connects", "Aborted_connects_preauth", "Aborted_clients"].map(|name| {
        let sql = format!("SELECT VARIABLE_VALUE FROM information_schema.global_status WHERE VARIABLE_NAME = '{name}'");
        server.root_sql(&sql).expect("the counter").trim().parse().expect("a number")
    })
}

/// What `login` adds to the counters.
fn added(server: &Server, login: impl FnOnce()) -> [u64; 3] {
    let before = aborted(server);
    login();
    let after = aborted(server);
    [0, 1, 2].map(|nth| after[nth] - before[nth])
}

fn server() -> Server {
    let server = Server::start(Options::mariadb()).expect("a MariaDB");
    server
        .root_sql(
            "INSTALL SONAME 'auth_ed25519';
             CREATE USER native@'%' IDENTIFIED BY 'p';
             CREATE USER none@'%' IDENTIFIED BY '';
             CREATE USER curve@'%' IDENTIFIED VIA ed25519 USING PASSWORD('p');
             CREATE USER either@'%' IDENTIFIED VIA ed25519 USING PASSWORD('x') \
               OR mysql_native_password USING PASSWORD('p');
             CREATE USER peer@'%' IDENTIFIED VIA unix_socket;
             CREATE USER locked@'%' IDENTIFIED BY 'p' ACCOUNT LOCK;
             CREATE USER expired@'%' IDENTIFIED BY 'p' PASSWORD EXPIRE",
        )
        .expect("users");
    server
}

#[test]
fn failed_logins_count_as_they_do_directly() {
    let server = server();
    for (tls, leg) in [("disabled", "--ssl"), ("required", "--skip-ssl")] {
        let tollgate = Tollgate::start(&format!("upstream: {{ address: \"{}\", tls: {tls} }}\n", server.address()));
        wait_until("its first look", || tollgate.log().contains("the upstream answers"));
        for (user, password, database) in [
            ("native", "p", "information_schema"),
            ("native", "wrong", "information_schema"),
            ("native", "", "information_schema"),
            ("native", "p", "no_such_database"),
            ("none", "", "information_schema"),
            ("none", "wrong", "information_schema"),
            ("curve", "p", "information_schema"),
            ("curve", "wrong", "information_schema"),
            ("either", "p", "information_schema"),
            ("either", "wrong", "information_schema"),
            ("peer", "p", "information_schema"),
            ("locked", "p", "information_schema"),
            ("expired", "p", "information_schema"),
            ("nobody_at_all", "wrong", "information_schema"),
            ("nobody_at_all", "", "information_schema"),
        ] {
            let database = format!("--database={database}");
            let log_in = |address: SocketAddr| {
                let mut answer = Ok(String::new());
                let login = Login { user, password };
                let added = added(&server, || answer = mysql(&server, address, login, &[leg, &database], "SELECT 1"));
                (added, answer)
            };
            let (direct, through) = (log_in(server.address()), log_in(tollgate.address));
            assert_eq!(direct, through, "{user} {password} {database} {leg} {tls}");
        }
    }
}

/// The proxy greets clients itself, so the server does not see who leaves after the greeting.
#[test]
fn clients_that_leave_at_the_greeting_are_not_counted() {
    let server = server();
    let tollgate = Tollgate::before(&server);
    wait_until("its first look", || tollgate.log().contains("the upstream answers"));
    let leave = |address| drop(TcpStream::connect(address).expect("a connection"));
    let before = aborted(&server);
    leave(server.address());
    wait_until("the server to count it", || aborted(&server) == [before[0] + 1, before[1] + 1, before[2]]);
    let before = aborted(&server);
    leave(tollgate.address);
    tollgate.await_counter("clients_left_before_login", 1);
    assert_eq!(aborted(&server), before);
}

/// A look at the greeting is a denied login: one at the start, and none for a lost session if a client comes again.
#[test]
fn greeting_check_is_counted_once_while_clients_come() {
    let server = server();
    let started = added(&server, || {
        let tollgate = Tollgate::before(&server);
        wait_until("its first look", || tollgate.log().contains("the upstream answers"));
    });
    assert_eq!(started, [1, 0, 0]);

    let tollgate = Tollgate::before(&server);
    wait_until("its first look", || tollgate.log().contains("the upstream answers"));
    let killed = added(&server, || {
        let mut raw = Raw::login(tollgate.address, APP);
        let id = raw.value("SELECT CONNECTION_ID()").expect("an id");
        server.root_sql(&format!("KILL {id}")).expect("killing it");
        assert!(raw.is_closed());
        let mut again = Raw::login(tollgate.address, APP);
        wait_until("the doubt to be resolved", || tollgate.log().contains("has been reached since"));
        again.command(1, b"");
        assert!(again.is_closed());
    });
    // MariaDB counts a killed session as aborted.
    assert_eq!(killed, [0, 0, 1]);
}

/// MariaDB counts each connection that it refuses with 1040. The proxy looks every five seconds then, and the client that
/// gets in first makes another look needless.
#[test]
fn full_server_is_not_looked_at_when_a_client_gets_in_first() {
    let server = Server::start(Options::mariadb().argument("--max-connections=10")).expect("a MariaDB");
    let tollgate = Tollgate::before(&server);
    wait_until("its first look", || tollgate.log().contains("the upstream answers"));
    let full = added(&server, || {
        let mut crowd = Vec::new();
        while let Ok(raw) = Raw::try_login(server.address(), APP) {
            crowd.push(raw);
        }
        assert!(Raw::try_login(tollgate.address, APP).expect_err("it is full").starts_with("1040"));
        wait_until("a look", || tollgate.log().contains("the upstream does not answer"));
        for mut raw in crowd {
            raw.command(1, b"");
            assert!(raw.is_closed());
        }
        let mut first = Raw::login(tollgate.address, APP);
        wait_until("the watch to notice", || tollgate.log().contains("the upstream answers a client"));
        first.command(1, b"");
        assert!(first.is_closed());
    });
    // The test's own refusal, the client's through the proxy, and a look.
    assert_eq!(full, [3, 0, 0]);
}

/// The probe user is called `tollgate` in all examples, and the proxy's looks must not lock it.
#[test]
fn greeting_check_does_not_lock_the_probe_user() {
    let server = Server::start(Options::mysql()).expect("a MySQL");
    server.root_sql("ALTER USER tollgate FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME UNBOUNDED").expect("the account");
    let tollgate = Tollgate::before(&server);
    wait_until("its first look", || tollgate.log().contains("the upstream answers"));
    wait_until("the look to be over", || {
        let sql = "SELECT COUNT(*) FROM performance_schema.processlist WHERE USER = 'unauthenticated user'";
        server.root_sql(sql).expect("the process list").trim() == "0"
    });
    assert_eq!(mysql(&server, server.address(), TOLLGATE, &[], "SELECT 1").as_deref(), Ok("1"));
}
