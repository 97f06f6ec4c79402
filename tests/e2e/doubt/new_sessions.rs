//! Servers that begin sessions otherwise than their logins ask for, which no reply shows.

use std::process::Command;

use sandbox::{APP, Flavor, Login, Options, Server};

use crate::harness::{Raw, RawOptions, Tollgate, upstream, wait_until};
use crate::rules::{run, run_bytes};

/// Neither CONNECTION_ADMIN nor SUPER, for whose users `init_connect` is not run.
const PLAIN: Login = Login { user: "plain", password: "plain-pw" };

const RULES: &str = "\
probe: { user: app, password: app-pw }
defaults: { reject_pause: 0s }
rules:
  - { id: no-writes, match: { user: plain, class: write }, do: { rejection_ratio: 1 }, action: reject, permanent: true }
";

const IN_GBK: &[u8] = b"SELECT '\xBF\\'; DELETE FROM t; -- '";
const WITHOUT_ESCAPES: &[u8] = b"SELECT 'a\\'; DELETE FROM t; -- '";

fn server(flavor: Flavor, arguments: &[&str]) -> Server {
    let options = arguments.iter().fold(Options::of(flavor), |options, argument| options.argument(*argument));
    let server = Server::start(options).expect("a server");
    let mut root = Raw::login(server.address(), APP);
    for sql in [
        "CREATE TABLE test.t (id INT)",
        "CREATE USER plain@'%' IDENTIFIED BY 'plain-pw'",
        "GRANT SELECT, DELETE ON test.* TO plain@'%'",
    ] {
        run(&mut root, sql);
    }
    server
}

fn session(address: std::net::SocketAddr) -> Raw {
    let options = RawOptions { database: Some(b"test"), ..RawOptions::default() };
    Raw::login_with(address, PLAIN, &options).expect("a login")
}

fn rows(root: &mut Raw) -> String {
    root.value("SELECT COUNT(*) FROM test.t").expect("a count")
}

/// `attempt` is the first statement of a session.
fn is_refused(server: &Server, attempt: &[u8]) {
    let mut root = Raw::login(server.address(), APP);
    run(&mut root, "INSERT INTO test.t VALUES (1)");
    run_bytes(&mut session(server.address()), attempt);
    assert_eq!(rows(&mut root), "0", "it is no real attempt");

    let tollgate = Tollgate::start(&format!("{}{RULES}", upstream(server)));
    wait_until("the probe", || tollgate.log().contains("the server changes new sessions by itself"));
    run(&mut root, "INSERT INTO test.t VALUES (1)");
    let mut refused = session(tollgate.address);
    let answer = run_bytes(&mut refused, attempt);
    assert!(answer.is_refused(), "{answer:?}");
    assert_eq!(rows(&mut root), "1");
    // What the session has said since is known.
    run(&mut refused, "SET NAMES utf8mb4, sql_mode = ''");
    assert!(!run_bytes(&mut refused, attempt).is_refused());
}

#[test]
fn init_connect_may_set_the_character_set() {
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        is_refused(&server(flavor, &["--init-connect=SET NAMES gbk"]), IN_GBK);
    }
}

#[test]
fn init_connect_may_set_the_sql_mode() {
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        is_refused(&server(flavor, &["--init-connect=SET sql_mode='NO_BACKSLASH_ESCAPES'"]), WITHOUT_ESCAPES);
    }
}

/// MySQL has this option no more (9.7).
#[test]
fn server_may_ignore_the_character_set_of_logins() {
    let arguments = ["--skip-character-set-client-handshake", "--character-set-server=gbk"];
    is_refused(&server(Flavor::Mariadb, &arguments), IN_GBK);
}

#[test]
fn init_connect_is_warned_of() {
    let server = Server::start(Options::mysql().argument("--init-connect=SET NAMES gbk")).expect("a MySQL");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    let probe = format!("probe: {{ user: {}, password: {} }}\n", sandbox::MONITOR.user, sandbox::MONITOR.password);
    std::fs::write(&file, format!("{}{probe}", upstream(&server))).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate")).args(["check", "--connect"]).arg(&file).output();
    let said = String::from_utf8(output.expect("the binary").stdout).expect("text");
    assert!(said.contains("warning: init_connect is set to `SET NAMES gbk`"), "{said}");
}
