//! The first things any client does.

use sandbox::{APP, Flavor, Login, Server};

use crate::harness::{Raw, RawOptions, Tollgate};

/// Major and minor number of the first version in a text.
fn version_in(text: &str) -> (u32, u32) {
    let starts = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    let word = text.split_whitespace().find(starts).unwrap_or_else(|| panic!("no version in {text}"));
    let mut parts = word.split(|part: char| !part.is_ascii_digit()).map(|part| part.parse().expect("a number"));
    (parts.next().expect("a major number"), parts.next().expect("a minor number"))
}

/// What the docs say was seen, where the sandbox chooses; a Docker image or a server on the PATH is another's choice.
/// Debian's own move on, and so may MySQL's number here.
#[test]
fn debians_packages_are_as_new_as_the_docs_say() {
    let mysql = &sandbox::mysql_shared().expect("a MySQL").primary;
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    let client = |server: &Server, name| {
        let output = sandbox::client_program(server.flavor(), name).expect("a client").arg("--version").output();
        String::from_utf8(output.expect("its version").stdout).expect("text")
    };
    for (server, program, least) in [(mysql, "mysql", (9, 7)), (mariadb, "mariadb", (10, 11))] {
        let Some(suite) = server.origin().strip_prefix("packages of Debian ") else { continue };
        if server.flavor() == Flavor::Mariadb && suite != "bookworm" {
            continue;
        }
        let said = server.root_sql("SELECT VERSION()").expect("the version");
        for text in [server.version(), &said] {
            assert!(version_in(text) >= least, "{suite}: {text}");
        }
        // MariaDB's client has a number of its own before the server's.
        let told = client(server, program);
        let told = told.split_once("Distrib ").map_or(told.as_str(), |(_, rest)| rest);
        assert!(version_in(told) >= least, "{suite}: {told}");
    }
}

#[test]
fn a_client_logs_in_and_asks() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let tollgate = Tollgate::before(&mysql.primary);
    let mut client = Raw::login(tollgate.address, APP);
    assert_eq!(client.value("SELECT 40 + 2").as_deref(), Some("42"));
    assert_eq!(tollgate.counter("logins_succeeded"), 1);
}

#[test]
fn a_wrong_password_gets_the_servers_own_error() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let tollgate = Tollgate::before(&mysql.primary);
    let wrong = Login { user: APP.user, password: "not it" };
    let direct = Raw::login_with(mysql.primary.address(), wrong, &RawOptions::default()).expect_err("an ERR");
    let through = Raw::login_with(tollgate.address, wrong, &RawOptions::default()).expect_err("an ERR");
    assert_eq!(through, direct);
    tollgate.await_counter("logins_denied", 1);
}
