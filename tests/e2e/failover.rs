//! The upstream's name means another server.

use std::fs;

use sandbox::{APP, Options, Server};
use wire::Capabilities;

use crate::harness::{Raw, RawOptions, Tollgate, read_err, skipped, wait_until};

/// Becomes the command, with a hosts file of its own.
const OWN_HOSTS: &str = "mount --bind \"$TOLLGATE_TEST_HOSTS\" /etc/hosts && exec \"$0\" \"$@\"";

#[test]
fn a_name_is_followed_to_another_server() {
    let may_mount = std::process::Command::new("unshare").args(["--mount", "true"]).status();
    if !may_mount.is_ok_and(|status| status.success()) {
        skipped("a name that changes", "a hosts file of its own needs the right to mount (root)");
        return;
    }
    let before = Server::start(Options::mysql().argument("--bind-address=127.0.0.2")).expect("a MySQL");
    let port = before.port();
    let options = Options::mariadb().argument("--bind-address=127.0.0.3").argument(format!("--port={port}"));
    let after = Server::start(options).expect("a MariaDB");

    let folder = tempfile::tempdir().expect("a folder");
    let hosts = folder.path().join("hosts");
    let point_to = |address: &str| fs::write(&hosts, format!("{address} db.example\n")).expect("a hosts file");
    point_to("127.0.0.2");
    let script = OWN_HOSTS.replace("$TOLLGATE_TEST_HOSTS", &hosts.display().to_string());
    let yaml =
        format!("upstream: {{ address: \"db.example:{port}\" }}\nprobe: {{ user: tollgate, password: tollgate-pw }}\n");
    let tollgate = Tollgate::start_under(folder, &["unshare", "--mount", "sh", "-c", &script], &yaml);
    let mut old = Raw::login(tollgate.address, APP);
    assert_eq!(old.value("SELECT @@hostname IS NOT NULL AND VERSION() LIKE '%MariaDB%'").as_deref(), Some("0"));

    point_to("127.0.0.3");
    // It was promised what the new server cannot do.
    let mut promised = RawOptions::default();
    promised.capabilities |= Capabilities::QUERY_ATTRIBUTES;
    let (code, _, message) = read_err(&Raw::login_with(tollgate.address, APP, &promised).expect_err("an ERR"));
    assert_eq!(code, 1043, "{message}");
    assert!(message.contains("QUERY_ATTRIBUTES") && message.contains("connect again"), "{message}");
    let mut new = Raw::login(tollgate.address, APP);
    let greeting = new.greeting.clone().expect("a greeting");
    assert!(greeting.is_mariadb(), "{:?}", String::from_utf8_lossy(&greeting.version));
    assert_eq!(new.value("SELECT VERSION() LIKE '%MariaDB%'").as_deref(), Some("1"));

    // An id means another session on the other server, which must not be hit.
    assert_eq!(old.value("SELECT 1").as_deref(), Some("1"), "the old session is where it was");
    new.query(&format!("KILL {}", old.id()));
    let (code, _, message) = new.err();
    assert_eq!(code, 1094);
    assert!(message.contains(&old.id().to_string()), "translated: {message}");
    // And what is killed for a client that left is killed where it runs.
    before.root_sql("GRANT SYSTEM_USER ON *.* TO tollgate").expect("the right to kill what app runs");
    old.query("DO SLEEP(600)");
    let count = "SELECT COUNT(*) FROM performance_schema.processlist WHERE state = 'User sleep'";
    wait_until("it runs", || before.root_sql(count).expect("the processlist").trim() == "1");
    drop(old);
    tollgate.await_counter("queries_killed", 1);
    wait_until("it has ended", || before.root_sql(count).expect("the processlist").trim() == "0");
    drop(after);
}
