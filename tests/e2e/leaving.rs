//! The client goes in the middle of something.

use std::io::Write;

use relay::counters::Counter;
use sandbox::{APP, MONITOR};

use crate::harness::{Raw, Tollgate, upstream, wait_until};
use crate::holding::{gated, primary, rows, table};

/// Whether the server still has this connection.
fn is_there(id: &str) -> bool {
    let count = format!("SELECT COUNT(*) FROM performance_schema.processlist WHERE id = {id}");
    primary().root_sql(&count).expect("the processlist").trim() == "1"
}

fn id(client: &mut Raw) -> String {
    client.value("SELECT CONNECTION_ID()").expect("an id")
}

fn await_sleep(id: &str) {
    let count = format!("SELECT COUNT(*) FROM performance_schema.processlist WHERE id = {id} AND state = 'User sleep'");
    wait_until("it runs", || primary().root_sql(&count).expect("the processlist").trim() == "1");
}

#[test]
fn with_a_user_of_its_own_the_proxy_kills_what_nobody_waits_for() {
    let yaml = format!("{}probe: {{ user: tollgate, password: tollgate-pw }}\n", upstream(primary()));
    let tollgate = Tollgate::start(&yaml);
    for (number, sql) in [(1, "SELECT SLEEP(600)"), (2, "SELECT 1; DO SLEEP(600)"), (4, "DO SLEEP(600); DO SLEEP(600)")]
    {
        // Not one with SYSTEM_USER, whom only others with it may kill.
        let mut client = Raw::login(tollgate.address, MONITOR);
        let id = id(&mut client);
        client.query(sql);
        await_sleep(&id);
        drop(client);
        wait_until("the connection is gone", || !is_there(&id));
        tollgate.await_counter("queries_killed", number);
    }
}

#[test]
fn without_one_the_permit_stays_until_the_server_has_ended() {
    let (gate, proxy) = gated("");
    // The second has answered a part already; the last goes on behind the first's end.
    for (number, sql) in [(1, "SELECT SLEEP(600)"), (2, "SELECT 1; DO SLEEP(600)"), (3, "DO SLEEP(600); DO SLEEP(601)")]
    {
        let mut client = Raw::login(proxy.address, APP);
        let id = id(&mut client);
        client.query(sql);
        await_sleep(&id);
        drop(client);
        wait_until("its leaving is noticed", || proxy.counter(Counter::LeftDuringReply) == number);
        assert!(is_there(&id));
        assert_eq!(gate.permits(), 1, "{sql}");
        wait_until("the permit is back when all of it has been killed", || {
            let _ = primary().root_sql(&format!("KILL QUERY {id}"));
            gate.permits() == 0
        });
        wait_until("the connection is gone", || !is_there(&id));
    }
}

#[test]
fn in_the_middle_of_a_result_the_server_is_let_go() {
    let (gate, proxy) = gated("");
    let mut client = Raw::login(proxy.address, APP);
    let id = id(&mut client);
    client.query("SELECT REPEAT('x', 1000000) FROM information_schema.columns");
    for _ in 0..4 {
        client.read().expect("the beginning");
    }
    drop(client);
    wait_until("the connection is gone", || !is_there(&id));
    wait_until("the permit is back", || gate.permits() == 0);
    wait_until("the session is over", || proxy.shared.registry.is_empty());
}

#[test]
fn a_transaction_is_rolled_back() {
    let tollgate = Tollgate::before(primary());
    let table = table("left_in_transaction");
    let mut client = Raw::login(tollgate.address, APP);
    let id = id(&mut client);
    client.query("BEGIN");
    client.ok();
    client.query(&format!("INSERT INTO {table} VALUES ('x')"));
    client.ok();
    drop(client);
    wait_until("the connection is gone", || !is_there(&id));
    assert_eq!(rows(&table), "0");
    primary().root_sql(&format!("DROP TABLE {table}")).expect("no lock is left");
}

#[test]
fn a_command_that_was_not_sent_to_its_end_is_not_run_and_not_waited_for() {
    let (gate, proxy) = gated("");
    let table = table("half_sent");
    let mut client = Raw::login(proxy.address, APP);
    let id = id(&mut client);
    // A server would wait so long for the rest.
    client.query("SET net_read_timeout = 3600");
    client.ok();
    let sql = format!("\x03INSERT INTO {table} VALUES ('{}')", "x".repeat(3_000_000));
    let header = u32::try_from(sql.len()).expect("a length").to_le_bytes();
    client.stream.write_all(&header).expect("a header");
    client.stream.write_all(&sql.as_bytes()[..2_000_000]).expect("a part");
    wait_until("it is on its way", || gate.permits() == 1);
    drop(client);
    wait_until("the connection is gone", || !is_there(&id));
    wait_until("the session is over", || proxy.shared.registry.is_empty());
    assert_eq!(gate.permits(), 0);
    assert_eq!(rows(&table), "0");
}

#[test]
fn a_file_that_was_not_sent_to_its_end_is_not_loaded_and_not_waited_for() {
    let (gate, proxy) = gated("");
    let table = table("half_loaded");
    let mut client = Raw::login(proxy.address, APP);
    let id = id(&mut client);
    client.query("SET net_read_timeout = 3600");
    client.ok();
    client.query(&format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {table}"));
    assert_eq!(client.read().expect("a request for a file")[0], 0xFB);
    client.write(2, b"one\ntwo\nthr");
    drop(client);
    wait_until("the connection is gone", || !is_there(&id));
    wait_until("the session is over", || proxy.shared.registry.is_empty());
    assert_eq!(gate.permits(), 0);
    assert_eq!(rows(&table), "0");
}
