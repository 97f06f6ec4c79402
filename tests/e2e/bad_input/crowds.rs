//! Many at once that come and go.

use std::net::Shutdown;
use std::sync::Mutex;

use sandbox::APP;
use wire::LoginRequest;

use super::Watched;
use crate::harness::{Counting, Raw, RawOptions, wait_until};

#[test]
fn five_thousand_dropped_before_login_never_reach_the_server() {
    const BATCH: usize = 250;
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let counting = Counting::before(mysql.primary.address());
    let mut watched = Watched::start(&format!("{}limits: {{ unauthenticated_per_address: 0 }}\n", counting.upstream()));
    let (before, memory) = (counting.connections(), watched.tollgate.resident());
    for batch in 1..=20 {
        let clients: Vec<_> = (0..BATCH).map(|_| Raw::dial(watched.tollgate.address)).collect();
        for (at, mut client) in clients.into_iter().enumerate() {
            match at % 3 {
                // At once, with the greeting unread: a reset.
                0 => drop(client),
                // After the greeting.
                1 => drop(client.read().expect("a greeting")),
                // Half.
                _ => {
                    client.read().expect("a greeting");
                    client.stream.shutdown(Shutdown::Write).expect("leaving");
                    assert!(client.is_closed());
                }
            }
        }
        watched.tollgate.await_counter("clients_left_before_login", (batch * BATCH) as u64);
        watched.is_healthy();
    }
    assert_eq!(watched.tollgate.counter("connections_accepted"), 5001);
    assert_eq!(counting.connections(), before, "the server has seen some of them");
    let after = watched.tollgate.resident();
    assert!(after < memory + (16 << 20), "{memory} bytes resident before, {after} after");
    watched.ends_undisturbed();
}

#[test]
fn five_hundred_dropped_in_the_middle_of_authentication_are_finished_and_forgotten() {
    const EACH: usize = 50;
    let mut watched = Watched::before_mysql("");
    let memory = watched.tollgate.resident();
    let request = LoginRequest {
        capabilities: RawOptions::default().capabilities,
        max_packet: 1 << 24,
        charset: 45,
        filler: [0; 23],
        user: APP.user.as_bytes(),
        auth_response: b"",
        database: None,
        auth_plugin: Some(b"a_plugin_that_nobody_has"),
        attributes: None,
        compression_level: None,
    }
    .encode();
    let address = watched.tollgate.address;
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..500 / EACH {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let mut client = Raw::greeted(address);
                    client.write(1, &request);
                    let asked = client.read().expect("a question");
                    if asked.first() != Some(&0xFE) {
                        failed.lock().expect("the list").push(asked);
                    }
                }
            });
        }
    });
    assert_eq!(*failed.lock().expect("the list"), Vec::<Vec<u8>>::new());
    watched.tollgate.await_counter("clients_left_during_login", 500);
    assert_eq!(watched.tollgate.counter("logins_finished_for_clients"), 500);
    wait_until("only the healthy session is left", || watched.tollgate.sessions() == 1);
    let after = watched.tollgate.resident();
    assert!(after < memory + (16 << 20), "{memory} bytes resident before, {after} after");
    watched.is_healthy();
    assert_eq!(Raw::login(address, APP).value("SELECT 1").as_deref(), Some("1"));
    watched.ends_undisturbed();
}
