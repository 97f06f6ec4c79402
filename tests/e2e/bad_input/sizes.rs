//! Things that are allowed, in hostile numbers.

use sandbox::APP;
use wire::{Capabilities, LoginRequest, put_lenenc_bytes};

use super::Watched;
use crate::harness::{Raw, RawOptions};

#[test]
fn ten_thousand_attributes_are_bounded_and_the_login_works() {
    let watched = Watched::before_mysql("");
    let mut attributes = Vec::new();
    for number in 0..10_000 {
        put_lenenc_bytes(&mut attributes, format!("k{number}").as_bytes());
        put_lenenc_bytes(&mut attributes, b"v");
    }
    assert!(attributes.len() < 90_000);
    let options = RawOptions { attributes: Some(attributes), ..RawOptions::default() };
    let mut client = Raw::login_with(watched.tollgate.address, APP, &options).expect("a login");
    assert_eq!(client.value("SELECT 1").as_deref(), Some("1"));
    let dropped = watched.tollgate.counter("attributes_dropped");
    assert!((1000..9000).contains(&dropped), "{dropped} of 10,000 dropped");
    let seen = "SELECT ATTR_VALUE FROM performance_schema.session_account_connect_attrs \
                WHERE PROCESSLIST_ID = CONNECTION_ID() AND ATTR_NAME = '_tollgate_client_address'";
    assert_eq!(client.value(seen).as_deref(), Some("127.0.0.1"));
    drop(client);
    watched.ends_undisturbed();
}

#[test]
fn names_of_64_kib_are_the_servers_to_refuse() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let watched = Watched::before_mysql("limits: { per_user: 5 }\n");
    let name = vec![b'u'; 65_000];
    let attempt = |address, user: &[u8], database: Option<&[u8]>| {
        let mut client = Raw::greeted(address);
        let mut capabilities = RawOptions::default().capabilities;
        capabilities.set(Capabilities::CONNECT_WITH_DB, database.is_some());
        let request = LoginRequest {
            capabilities,
            max_packet: 1 << 24,
            charset: 45,
            filler: [0; 23],
            user,
            auth_response: b"",
            database,
            auth_plugin: Some(b"a_plugin_that_nobody_has"),
            attributes: None,
            compression_level: None,
        };
        client.write(1, &request.encode());
        if database.is_some() {
            return crate::harness::read_err(&client.answer(APP).expect_err("an ERR")).0;
        }
        // For a user that is not there the server picks any plugin; all of them take this for no password.
        assert_eq!(client.read().expect("a question").first(), Some(&0xFE));
        client.write(client.sequence.wrapping_add(1), b"\0");
        client.err().0
    };
    for (user, database) in [(name.as_slice(), None), (APP.user.as_bytes(), Some(name.as_slice()))] {
        let direct = attempt(mysql.primary.address(), user, database);
        assert_eq!(attempt(watched.tollgate.address, user, database), direct);
    }
    watched.ends_undisturbed();
}

#[test]
fn ten_thousand_prepared_statements_take_little() {
    const COUNT: usize = 10_000;
    let watched = Watched::before_mysql("");
    let mut client = Raw::login(watched.tollgate.address, APP);
    let before = watched.tollgate.resident();
    let mut last = [0; 4];
    for _ in 0..COUNT {
        client.command(0x16, b"SELECT 1");
        let prepared = client.read().expect("a PREPARE's reply");
        assert_eq!(prepared[0], 0, "{}", String::from_utf8_lossy(&prepared));
        last.copy_from_slice(&prepared[1..5]);
        for _ in 0..2 {
            client.read().expect("a definition and an EOF");
        }
    }
    let taken = watched.tollgate.resident().saturating_sub(before);
    assert!(taken < COUNT as u64 * 640, "{taken} bytes for {COUNT} statements");
    client.command(0x17, &[&last[..], &[0, 1, 0, 0, 0]].concat());
    assert_eq!(client.read().expect("a result"), [1]);
    for _ in 0..4 {
        client.read().expect("the rest of it");
    }
    client.command(0x1F, b"");
    client.ok();
    client.command(0x17, &[&last[..], &[0, 1, 0, 0, 0]].concat());
    assert_eq!(client.err().0, 1243, "the reset has forgotten them");
    drop(client);
    watched.ends_undisturbed();
}
