//! Clients that ask for much and read nothing: their results wait in the server, not here.

use std::time::Duration;

use sandbox::APP;

use super::Watched;
use crate::harness::{Raw, wait_until};

const PROBE: &str = "probe: { user: tollgate, password: tollgate-pw }\n";
const LIMIT: u64 = 64 << 20;

/// 10 GB, if anybody read them.
const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
                    SELECT REPEAT('x', 1000000) FROM n";

/// Asks, waits for the first byte of the answer, and reads no more. The server's id of the session.
fn ask_and_not_read(watched: &Watched) -> (Raw, String) {
    let mut client = Raw::login(watched.tollgate.address, APP);
    client.value("SET SESSION cte_max_recursion_depth = 20000, net_write_timeout = 600");
    let id = client.value("SELECT CONNECTION_ID()").expect("an id");
    client.query(ROWS);
    client.stream.peek(&mut [0]).expect("the beginning of an answer");
    (client, id)
}

/// The most memory that is seen in this time.
fn most_memory(watched: &mut Watched, samples: usize) -> u64 {
    let mut most = 0;
    for _ in 0..samples {
        std::thread::sleep(Duration::from_millis(100));
        most = most.max(watched.tollgate.resident());
        watched.is_healthy();
    }
    most
}

fn ends_at_the_server(ids: &[String]) {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let count = format!("SELECT COUNT(*) FROM performance_schema.processlist WHERE id IN ({})", ids.join(","));
    wait_until("the server's threads have ended", || {
        mysql.primary.root_sql(&count).expect("the process list").trim() == "0"
    });
}

#[test]
fn ten_gigabytes_on_the_way_to_one_client_take_no_memory() {
    let mut watched = Watched::before_mysql(PROBE);
    let (client, id) = ask_and_not_read(&watched);
    let most = most_memory(&mut watched, 20);
    assert!(most < LIMIT, "{most} bytes resident");
    drop(client);
    ends_at_the_server(&[id]);
    watched.tollgate.await_counter("clients_left_during_reply", 1);
    watched.ends_undisturbed();
}

#[test]
fn fifty_such_clients_take_a_chunk_each() {
    let mut watched = Watched::before_mysql(PROBE);
    let before = watched.tollgate.resident();
    let (clients, ids): (Vec<_>, Vec<_>) = (0..50).map(|_| ask_and_not_read(&watched)).unzip();
    let most = most_memory(&mut watched, 10);
    assert!(most < LIMIT, "{most} bytes resident");
    // A chunk of 32 KiB, its task and sockets, and what an allocator takes for good measure.
    assert!(most - before.min(most) < 50 * (256 << 10), "{before} bytes resident before, {most} with 50 clients");
    drop(clients);
    ends_at_the_server(&ids);
    watched.tollgate.await_counter("clients_left_during_reply", 50);
    watched.ends_undisturbed();
}

#[test]
fn a_client_that_sends_ahead_without_reading_is_read_no_further() {
    use std::io::Write;
    let mut watched = Watched::before_mysql("");
    let (client, id) = ask_and_not_read(&watched);
    // Commands behind the blocked one fill the sockets, and then the writer waits.
    let mut writer = client.stream.try_clone().expect("the socket");
    writer.set_write_timeout(Some(Duration::from_millis(500))).expect("a time limit");
    let ping = [1, 0, 0, 0, 0x0E].repeat(20_000);
    let written = (0..1000).take_while(|_| writer.write_all(&ping).is_ok()).count();
    assert!(written < 1000, "100 MB of commands were taken in");
    let most = most_memory(&mut watched, 5);
    assert!(most < LIMIT, "{most} bytes resident");
    drop((writer, client));
    ends_at_the_server(&[id]);
    watched.ends_undisturbed();
}
