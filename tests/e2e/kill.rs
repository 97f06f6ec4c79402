//! KILL by the ids that clients know.

use std::process::{Command, Stdio};

use sandbox::{APP, MONITOR, Server};

use crate::harness::{Raw, RawOptions, Tollgate, process_list, read_err, wait_until};

fn primary() -> &'static Server {
    &sandbox::mysql_shared().expect("a MySQL").primary
}

/// A statement that ends with 1317 when it is killed; each test names its own.
fn long(name: &str) -> String {
    format!("SELECT '{name}' FROM mysql.user WHERE SLEEP(600)")
}

/// Waits until a connection runs a statement, as the server sees it.
fn runs(server: &Server, upstream_id: &str) {
    let processes = process_list(server);
    let count = format!("SELECT COUNT(*) FROM {processes} WHERE id = {upstream_id} AND info LIKE '%SLEEP(600)%'");
    wait_until("the statement runs", || server.root_sql(&count).expect("the processlist").trim() == "1");
}

fn start(server: &Server, victim: &mut Raw, name: &str) -> String {
    let upstream_id = victim.value("SELECT CONNECTION_ID()").expect("an id");
    victim.query(&long(name));
    runs(server, &upstream_id);
    upstream_id
}

#[test]
fn a_query_is_killed_by_every_name_of_its_connection() {
    let tollgate = Tollgate::before(primary());
    let direct = {
        let mut victim = Raw::login(primary().address(), APP);
        let id = start(primary(), &mut victim, "direct");
        Raw::login(primary().address(), APP).value(&format!("KILL QUERY {id}"));
        victim.err_at_end()
    };
    assert_eq!(direct.0, 1317);
    let mut killer = Raw::login(tollgate.address, APP);
    let mut victim = Raw::login(tollgate.address, APP);
    let id = victim.id();
    let signed = id.cast_signed();
    for kill in [
        format!("KILL QUERY {id}"),
        format!("kill query {signed}"),
        format!("/* by a driver */ KILL QUERY '{id}'"),
        format!("KILL QUERY {id:#x}"),
    ] {
        start(primary(), &mut victim, "ours");
        assert_eq!(killer.value(&kill), None, "{kill}");
        assert_eq!(victim.err_at_end(), direct, "{kill}");
    }
    let upstream_id = start(primary(), &mut victim, "theirs");
    killer.value(&format!("KILL QUERY {upstream_id}"));
    assert_eq!(victim.err_at_end(), direct);
    assert_eq!(victim.value("SELECT 1").as_deref(), Some("1"), "it goes on");
    assert_eq!(tollgate.counter("kills_translated"), 4);
}

#[test]
fn a_connection_is_killed_and_closed_as_direct() {
    let tollgate = Tollgate::before(primary());
    let end_of = |address, running: bool| {
        let (mut killer, mut victim) = (Raw::login(address, APP), Raw::login(address, APP));
        if running {
            start(primary(), &mut victim, "connection");
        }
        assert_eq!(killer.value(&format!("KILL {}", victim.id())), None);
        victim.rest()
    };
    assert_eq!(end_of(primary().address(), false), b"", "an idle one is told nothing");
    assert_eq!(end_of(tollgate.address, false), b"");
    // A running one may get 1317, or nothing, which is not the same every time.
    for address in [primary().address(), tollgate.address] {
        let told = end_of(address, true);
        assert!(told.is_empty() || read_err(&told[4..]).0 == 1317, "{told:02x?}");
    }
}

#[test]
fn who_may_not_kill_gets_the_servers_error_and_kills_nothing() {
    let tollgate = Tollgate::before(primary());
    let mut victim = Raw::login(tollgate.address, APP);
    let mut other = Raw::login(tollgate.address, MONITOR);
    let upstream_id = victim.value("SELECT CONNECTION_ID()").expect("an id");
    for kill in ["KILL", "KILL QUERY"] {
        other.query(&format!("{kill} {}", victim.id()));
        let through = other.err();
        let mut direct = Raw::login(primary().address(), MONITOR);
        direct.query(&format!("{kill} {upstream_id}"));
        assert_eq!(through, direct.err());
        assert_eq!(through.0, 1095);
    }
    assert_eq!(victim.value("SELECT 1").as_deref(), Some("1"));
    assert_eq!(tollgate.counter("kills_translated"), 0);
    other.query("KILL 2147483650");
    assert_eq!(other.err().0, 1094, "an id that nobody has");
}

#[test]
fn com_process_kill_is_translated() {
    // MySQL 9 has no COM_PROCESS_KILL any more; MariaDB has.
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    let tollgate = Tollgate::before(mariadb);
    let (mut killer, mut victim) = (Raw::login(tollgate.address, APP), Raw::login(tollgate.address, APP));
    killer.command(0x0C, &victim.id().to_le_bytes());
    killer.ok();
    let end = victim.rest();
    assert!(end.is_empty() || read_err(&end[4..]).0 == 1927, "{end:02x?}");
    assert_eq!(tollgate.counter("kills_translated"), 1);

    let through = Tollgate::before(primary());
    let answers = [primary().address(), through.address].map(|address| {
        let mut client = Raw::login(address, APP);
        client.command(0x0C, &u32::MAX.to_le_bytes());
        client.err().0
    });
    assert_eq!(answers[1], answers[0], "MySQL's own answer");
}

#[test]
fn kill_by_a_binary_parameter_is_translated() {
    // MySQL 9 refuses to prepare it (6413).
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    let tollgate = Tollgate::before(mariadb);
    let (mut killer, mut victim) = (Raw::login(tollgate.address, APP), Raw::login(tollgate.address, APP));
    killer.command(0x16, b"KILL QUERY ?");
    let prepared = killer.read().expect("a statement");
    assert_eq!(prepared[0], 0, "{:?}", String::from_utf8_lossy(&prepared));
    // One parameter: its definition and an EOF.
    let _ = (killer.read(), killer.read());
    let statement = &prepared[1..5];
    let id = u64::from(victim.id());
    // With the type, and then, as drivers do, without it.
    for types in [&[1, 8, 0][..], &[0][..]] {
        start(mariadb, &mut victim, "binary");
        let body = [statement, &[0], &1u32.to_le_bytes(), &[0], types, &id.to_le_bytes()].concat();
        killer.command(0x17, &body);
        killer.ok();
        assert_eq!(victim.err_at_end().0, 1317);
    }
    assert_eq!(tollgate.counter("kills_translated"), 2);
}

#[test]
fn control_c_in_the_mysql_client_ends_the_statement() {
    let tollgate = Tollgate::before(primary());
    let mut client = primary().client_to("mysql", APP, tollgate.address).expect("the client");
    let child = client
        .args(["-e", &long("control c")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the client");
    let count = "SELECT COUNT(*) FROM performance_schema.processlist WHERE info LIKE '%''control c''%SLEEP%'
                 AND id <> CONNECTION_ID()";
    wait_until("it runs", || primary().root_sql(count).expect("the processlist").trim() == "1");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let output = child.wait_with_output().expect("its end");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("ERROR 1317"), "{told}");
    assert_eq!(tollgate.counter("kills_translated"), 1);
    wait_until("it has ended", || primary().root_sql(count).expect("the processlist").trim() == "0");
}

#[test]
fn an_id_is_never_one_of_the_servers() {
    let tollgate = Tollgate::before(primary());
    let ids: Vec<_> =
        (0..3).map(|_| Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect("a login").id()).collect();
    assert!(ids.iter().all(|id| id >> 31 == 1), "{ids:?}");
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
}
