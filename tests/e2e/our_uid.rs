//! Servers that tell an account by the user of their peer's process: through a proxy that would be the proxy's.

use std::process::Command;

use sandbox::{APP, Login, Options, Server};

use crate::harness::{OK, Raw, RawOptions, Scripted, Tollgate, mysql, mysql_at_socket, read_err, skipped};

/// Who runs this test, and so the proxy.
fn os_user() -> String {
    let output = Command::new("id").arg("-un").output().expect("id");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn by_socket(server: &Server) -> Tollgate {
    Tollgate::start(&format!("upstream: {{ address: \"{}\" }}\n", server.socket().display()))
}

fn refused(tollgate: &Tollgate, user: &'static str, password: &'static str) -> (u16, String, String) {
    let err = Raw::login_with(tollgate.address, Login { user, password }, &RawOptions::default());
    read_err(&err.expect_err(user))
}

#[test]
fn an_ok_without_a_proof_is_refused() {
    let upstream = Scripted::start(|raw, _| raw.write(2, OK));
    let tollgate = Tollgate::start(&format!("upstream: {{ address: \"{}\" }}\n", upstream.address));
    let (code, state, message) = refused(&tollgate, "app", "");
    assert_eq!((code, state.as_str()), (1045, "28000"));
    assert!(message.contains("without asking for a proof"), "{message}");
    tollgate.await_counter("logins_without_proof_refused", 1);
    assert_eq!(tollgate.counter("logins_succeeded"), 0);
}

#[test]
fn mysqls_auth_socket_lets_nobody_in() {
    let server = Server::start(Options::mysql().argument("--plugin-load-add=auth_socket.so")).expect("a MySQL");
    let me = os_user();
    server
        .root_sql(&format!(
            "CREATE USER peer@'%' IDENTIFIED WITH auth_socket AS '{me}';
             CREATE USER proved@'%' IDENTIFIED BY 'it is';
             CREATE USER two@'%' IDENTIFIED BY 'a' AND IDENTIFIED WITH auth_socket AS '{me}'"
        ))
        .expect("users");
    let tollgate = by_socket(&server);
    assert_eq!(refused(&tollgate, "peer", "").0, 1045);
    assert_eq!(refused(&tollgate, "peer", "anything").0, 1045);
    tollgate.await_counter("logins_without_proof_refused", 2);
    Raw::login(tollgate.address, Login { user: "proved", password: "it is" }).value("SELECT 1");
    // With the mark of clients that know of several factors, as all newer ones have it.
    let mut options = RawOptions::default();
    options.capabilities |= wire::Capabilities::MULTI_FACTOR_AUTHENTICATION | wire::Capabilities::DEPRECATE_EOF;
    Raw::login_with(tollgate.address, Login { user: "proved", password: "it is" }, &options).expect("a login");
    // As a second factor it would be the same for everybody.
    let two = Login { user: "two", password: "a" };
    let direct = mysql_at_socket(&server, server.socket(), two, &["--password1=a"], "SELECT 'let in'");
    assert_eq!(direct.as_deref(), Ok("let in"), "else this shows nothing");
    let err = Raw::login_with(tollgate.address, two, &options).expect_err("an ERR");
    assert_eq!(read_err(&err).0, 1045);
    tollgate.await_counter("logins_without_proof_refused", 3);
}

/// A MariaDB on which the proxy's own user has this account. Before 11.6 the account's name must be the OS user's.
fn mariadb_with(account: &str) -> (Server, &'static str) {
    let server = Server::start(Options::mariadb()).expect("a MariaDB");
    let me: &'static str = os_user().leak();
    server
        .root_sql(&format!(
            "CREATE USER plain@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('real');
             CREATE USER expired@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('real') PASSWORD EXPIRE;
             CREATE USER IF NOT EXISTS `{me}`@localhost;
             ALTER USER `{me}`@localhost IDENTIFIED VIA {account};"
        ))
        .expect("users");
    (server, me)
}

const PLAIN: Login = Login { user: "plain", password: "real" };

/// `root@localhost` is such an account from the start: a wrong proof, and then the uid of the peer, which is the proxy's.
#[test]
fn a_second_method_by_uid_lets_nobody_in() {
    let (server, me) = mariadb_with("mysql_native_password USING 'invalid' OR unix_socket");
    let wrong = Login { user: me, password: "wrong" };
    let direct = mysql_at_socket(&server, server.socket(), wrong, &[], "SELECT 'let in'");
    assert_eq!(direct.as_deref(), Ok("let in"), "else this test shows nothing");

    let tollgate = by_socket(&server);
    for (nth, password) in ["wrong", "", "real"].into_iter().enumerate() {
        assert_eq!(refused(&tollgate, me, password).0, 1045, "{password}");
        tollgate.await_counter("logins_without_proof_refused", nth as u64 + 1);
    }
    // Nor by a change of user: the server then believes that the user has changed, and the session ends.
    let mut raw = Raw::login(tollgate.address, PLAIN);
    raw.command(0x11, format!("{me}\0\0\0\x2d\0mysql_native_password\0").as_bytes());
    assert_eq!(read_err(&raw.answer(wrong).expect_err("an ERR")).0, 1045);
    assert!(raw.is_closed());
    tollgate.await_counter("logins_without_proof_refused", 4);

    // An account with nothing but a password is as it was, also for a client with all of MariaDB's capabilities; one that cannot be asked about is not let in.
    assert_eq!(mysql(&server, tollgate.address, PLAIN, &[], "SELECT 1").as_deref(), Ok("1"));
    let mut raw = Raw::login(tollgate.address, PLAIN);
    raw.command(0x11, b"app\0\0\0\x2d\0mysql_native_password\0");
    raw.answer(APP).expect("an OK");
    assert_eq!(raw.value("SELECT CURRENT_USER()").as_deref(), Some("app@%"));
    assert_eq!(refused(&tollgate, "plain", "wrong").0, 1045);
    assert_eq!(refused(&tollgate, "expired", "real").0, 1045);
}

#[test]
fn a_real_password_beside_the_uid_counts_over_tcp_only() {
    let (server, me) = mariadb_with("mysql_native_password USING PASSWORD('real') OR unix_socket");
    let tollgate = by_socket(&server);
    // The server does not say which of the two it was.
    for password in ["wrong", "real"] {
        assert_eq!(refused(&tollgate, me, password).0, 1045, "{password}");
    }
    // Over TCP the server sees no uid.
    let sql = "CREATE USER third@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('real') OR unix_socket";
    server.root_sql(sql).expect("a user");
    let tollgate = Tollgate::before(&server);
    assert_eq!(refused(&tollgate, "third", "wrong").0, 1698);
    Raw::login(tollgate.address, Login { user: "third", password: "real" });
    assert_eq!(tollgate.counter("logins_without_proof_refused"), 0);
}

#[test]
fn the_uid_as_first_method_lets_nobody_in() {
    let (server, me) = mariadb_with("unix_socket OR mysql_native_password USING PASSWORD('real')");
    let tollgate = by_socket(&server);
    for password in ["wrong", "real"] {
        assert_eq!(refused(&tollgate, me, password).0, 1045, "{password}");
    }
    tollgate.await_counter("logins_without_proof_refused", 2);
}

/// MySQL asks for a proof and accepts any; MariaDB asks for none.
#[test]
fn skip_grant_tables_server_lets_nobody_in_and_says_why() {
    // MySQL listens on its socket only, MariaDB on both.
    let mysql_server = Server::start(Options::mysql().argument("--skip-grant-tables")).expect("a MySQL");
    let mariadb = Server::start(Options::mariadb().argument("--skip-grant-tables")).expect("a MariaDB");
    let direct = mysql_at_socket(&mysql_server, mysql_server.socket(), APP, &[], "SELECT 'let in'");
    assert_eq!(direct.as_deref(), Ok("let in"), "else this shows nothing");
    for tollgate in [by_socket(&mysql_server), by_socket(&mariadb), Tollgate::before(&mariadb)] {
        for (nth, (user, password)) in [("app", "app-pw"), ("root", ""), ("nobody_at_all", "x")].into_iter().enumerate()
        {
            let (code, state, message) = refused(&tollgate, user, password);
            assert_eq!((code, state.as_str()), (1045, "28000"));
            assert!(message.contains("--skip-grant-tables"), "{message}");
            tollgate.await_counter("logins_without_proof_refused", nth as u64 + 1);
        }
        assert!(tollgate.log().contains("--skip-grant-tables"));
        // A client that knows of several factors takes another way.
        let error = mysql(&mysql_server, tollgate.address, APP, &[], "SELECT 'let in'").expect_err("nobody gets in");
        assert!(error.contains("1045") && error.contains("--skip-grant-tables"), "{error}");
    }
    // What was accepted is ended in order.
    let aborted = mysql_server.root_sql("SHOW GLOBAL STATUS LIKE 'Aborted_clients'").expect("the counter");
    assert_eq!(aborted.trim(), "Aborted_clients\t0");
}

/// Accounts that stand in for another one (GRANT PROXY): the server does not show how they are identified themselves.
#[test]
fn proxied_mysql_account_over_a_socket_needs_its_password() {
    let server = Server::start(
        Options::mysql()
            .argument("--plugin-load-add=auth_socket.so")
            .argument("--check_proxy_users=ON")
            .argument("--sha256_password_proxy_users=ON"),
    )
    .expect("a MySQL");
    let me = os_user();
    server
        .root_sql(&format!(
            "CREATE USER target@'%' IDENTIFIED BY 'not known';
             CREATE USER mapped@'%' IDENTIFIED WITH sha256_password BY 'm';
             CREATE USER two@'%' IDENTIFIED WITH sha256_password BY 'm' AND IDENTIFIED WITH auth_socket AS '{me}';
             GRANT PROXY ON target@'%' TO mapped@'%';
             GRANT PROXY ON target@'%' TO two@'%'"
        ))
        .expect("users");
    let tollgate = by_socket(&server);
    let sql = "SELECT CURRENT_USER(), @@proxy_user";
    let ask = |address_of_proxy: bool, user, password: &'static str| {
        let (login, factor) = (Login { user, password }, format!("--password1={password}"));
        let arguments = [factor.as_str(), "--get-server-public-key"];
        match address_of_proxy {
            true => mysql(&server, tollgate.address, login, &arguments, sql),
            false => mysql_at_socket(&server, server.socket(), login, &arguments, sql),
        }
    };
    let expected = Ok("target@%\t'mapped'@'%'".to_owned());
    assert_eq!(ask(false, "mapped", "m"), expected);
    assert_eq!(ask(true, "mapped", "m"), expected);
    assert!(ask(true, "mapped", "wrong").expect_err("a wrong password").contains("1045"));
    assert_eq!(tollgate.counter("logins_without_proof_refused"), 0);
    // The same, with the proxy's own uid as a second factor.
    assert_eq!(ask(false, "two", "m"), Ok("target@%\t'two'@'%'".to_owned()), "else this shows nothing");
    let error = ask(true, "two", "m").expect_err("no proof of the second factor");
    assert!(error.contains("1045") && error.contains("use TCP"), "{error}");
    tollgate.await_counter("logins_without_proof_refused", 1);
}

const STAND_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/e2e/harness/stand_in_plugin.c");

/// MariaDB's `unix_socket` leaves no trace in `@@external_user`, so nothing excludes it behind another account's name. None of
/// the password plugins in its packages lets an account stand in for another, as PAM does, so this test brings one.
#[test]
fn proxied_mariadb_account_is_refused_over_a_socket_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("stand_in.so");
    let compiled = Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(STAND_IN).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        return skipped("GRANT PROXY on MariaDB", "its plugin needs a C compiler (gcc, libc6-dev)");
    }
    let plugins = format!("--plugin-dir={}", folder.path().display());
    let server = Server::start(Options::mariadb().argument(plugins)).expect("a MariaDB");
    server
        .root_sql(
            "INSTALL PLUGIN stand_in SONAME 'stand_in.so';
             CREATE USER target@'%' IDENTIFIED BY 'not known';
             CREATE USER mapped@'%' IDENTIFIED VIA stand_in USING 'target';
             GRANT PROXY ON target@'%' TO mapped@'%'",
        )
        .expect("users");
    let mapped = Login { user: "mapped", password: "m" };
    let sql = "SELECT CURRENT_USER(), @@proxy_user";
    let expected = Ok("target@%\t'mapped'@'%'".to_owned());
    assert_eq!(mysql_at_socket(&server, server.socket(), mapped, &[], sql), expected, "else this shows nothing");

    let tollgate = by_socket(&server);
    let error = mysql(&server, tollgate.address, mapped, &[], sql).expect_err("no proof");
    assert!(error.contains("1045") && error.contains("use TCP"), "{error}");
    tollgate.await_counter("logins_without_proof_refused", 1);
    // Over TCP the server sees no uid.
    let tollgate = Tollgate::before(&server);
    assert_eq!(mysql(&server, tollgate.address, mapped, &[], sql), expected);
}
