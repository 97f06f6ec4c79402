//! COM_CHANGE_USER: a login inside a session.

use std::sync::{Arc, Mutex};

use admission::port::{Ask, Permit, Verdict};
use sandbox::{APP, ETL, Login, MONITOR};
use wire::{Capabilities, ChangeUser};

use crate::harness::{Decides, InProcess, Raw, RawOptions, Tollgate, read_err, upstream};

const CAPABILITIES: Capabilities = Capabilities::PLUGIN_AUTH.union(Capabilities::CONNECT_ATTRS);

fn with_attributes() -> RawOptions {
    RawOptions { attributes: Some(attributes(&[("who", "before")])), ..RawOptions::default() }
}

fn attributes(pairs: &[(&str, &str)]) -> Vec<u8> {
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
    wire::attributes::with_own(b"", &pairs, usize::MAX).block
}

/// Becomes another user: the OK, or the ERR.
pub(crate) fn change(raw: &mut Raw, login: Login, database: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    let block = attributes(&[("who", "after"), ("_tollgate_client_address", "forged")]);
    let change = ChangeUser {
        user: login.user.as_bytes(),
        auth_response: b"",
        database,
        charset: Some(45),
        auth_plugin: Some(b"caching_sha2_password"),
        attributes: Some(&block),
    };
    raw.write(0, &change.encode(CAPABILITIES));
    raw.answer(login)
}

/// Prepares a statement: its id.
fn prepare(raw: &mut Raw, sql: &str) -> [u8; 4] {
    raw.command(0x16, sql.as_bytes());
    let packet = raw.read().expect("a prepared statement");
    assert_eq!(packet[0], 0, "{:?}", read_err(&packet));
    let (columns, params) = (u16::from_le_bytes([packet[5], packet[6]]), u16::from_le_bytes([packet[7], packet[8]]));
    for count in [params, columns] {
        for _ in 0..if count == 0 { 0 } else { count + 1 } {
            raw.read().expect("a definition");
        }
    }
    packet[1..5].try_into().expect("four bytes")
}

/// Executes a statement without parameters: the first packet of the reply, the rest read.
fn execute(raw: &mut Raw, id: [u8; 4]) -> Vec<u8> {
    raw.command(0x17, &[&id[..], &[0, 1, 0, 0, 0]].concat());
    let first = raw.read().expect("a reply");
    if first[0] != 0xFF {
        let mut ends = 0;
        while ends < 2 {
            ends += usize::from(raw.read().expect("a row")[0] == 0xFE);
        }
    }
    first
}

/// Who asked, and in what state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    user: String,
    database: Option<String>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    holds_locks: bool,
    in_transaction: bool,
}

type Asked = Arc<Mutex<Vec<Seen>>>;

struct Recorder(Asked);

impl Decides for Recorder {
    fn ask(&self, ask: &Ask<'_>) -> Verdict {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.0.lock().expect("no panic").push(Seen {
            user: text(ask.client.user),
            database: ask.client.database.map(text),
            attributes: ask.client.attributes.to_vec(),
            holds_locks: ask.session.holds_locks,
            in_transaction: ask.session.in_transaction,
        });
        Verdict::Pass(Permit::without_reply())
    }
}

#[test]
fn another_user_is_another_identity_and_a_fresh_session() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    Raw::login(mysql.primary.address(), ETL);
    let asked = Asked::default();
    let tollgate = InProcess::start(&upstream(&mysql.primary), Arc::new(Recorder(Arc::clone(&asked))));
    let mut raw = Raw::login_with(tollgate.address, APP, &with_attributes()).expect("a login");
    let old = prepare(&mut raw, "SELECT 1");
    assert_ne!(execute(&mut raw, old)[0], 0xFF);
    mysql.primary.root_sql("CREATE TABLE IF NOT EXISTS test.change_user (id INT)").expect("a table");
    raw.value("LOCK TABLES test.change_user READ");
    raw.value("SELECT 'holding'");
    change(&mut raw, ETL, b"test").expect("an OK");
    assert_eq!(raw.value("SELECT CURRENT_USER()").as_deref(), Some("etl@%"));
    assert_eq!(raw.value("SELECT DATABASE()").as_deref(), Some("test"));
    let seen = "SELECT GROUP_CONCAT(ATTR_NAME, '=', ATTR_VALUE ORDER BY ORDINAL_POSITION) \
                FROM performance_schema.session_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID() \
                AND ATTR_NAME IN ('_tollgate_client_address', 'who')";
    assert_eq!(raw.value(seen).as_deref(), Some("_tollgate_client_address=127.0.0.1,who=after"));
    assert_eq!(read_err(&execute(&mut raw, old)).0, 1243, "forgotten by the server");
    let new = prepare(&mut raw, "SELECT 2");
    assert_ne!(execute(&mut raw, new)[0], 0xFF);

    let asked = asked.lock().expect("no panic");
    let (first, last) = (asked.first().expect("one"), asked.last().expect("one"));
    assert_eq!((first.user.as_str(), first.database.as_deref(), first.holds_locks), ("app", None, false));
    assert!(asked.iter().any(|seen| seen.user == "app" && seen.holds_locks), "the lock was seen");
    assert_eq!((last.user.as_str(), last.database.as_deref(), last.holds_locks), ("etl", Some("test"), false));
    assert_eq!(last.attributes, [(b"who".to_vec(), b"after".to_vec())]);
}

/// MariaDB rolls back and lets go of everything before it looks at the proof; the user stays.
#[test]
fn a_refused_change_ends_what_was_open_too() {
    let server = sandbox::mariadb_shared().expect("a MariaDB");
    let asked = Asked::default();
    let tollgate = InProcess::start(&upstream(server), Arc::new(Recorder(Arc::clone(&asked))));
    let mut raw = Raw::login_with(tollgate.address, APP, &with_attributes()).expect("a login");
    server.root_sql("CREATE TABLE IF NOT EXISTS test.refused_change (id INT)").expect("a table");
    assert_eq!(raw.value("SELECT GET_LOCK('refused_change', 10)").as_deref(), Some("1"));
    raw.value("SET autocommit = 0");
    raw.value("LOCK TABLES test.refused_change READ");
    raw.value("SELECT COUNT(*) FROM test.refused_change");
    raw.value("SELECT 'before'");
    change(&mut raw, Login { user: ETL.user, password: "wrong" }, b"").expect_err("an ERR");
    assert_eq!(raw.value("SELECT IS_FREE_LOCK('refused_change')").as_deref(), Some("1"), "so the server says");
    let asked = asked.lock().expect("no panic");
    let [.., before, after] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((before.user.as_str(), before.holds_locks, before.in_transaction), ("app", true, true));
    assert_eq!((after.user.as_str(), after.holds_locks, after.in_transaction), ("app", false, false));
}

/// What a server does after a refused change, with these statements before it: each answer, or why there was none.
fn after_a_refused_change(address: std::net::SocketAddr) -> Vec<String> {
    let mut raw = Raw::login_with(address, APP, &with_attributes()).expect("a login");
    raw.value("SET @kept = 'kept'");
    let statement = prepare(&mut raw, "SELECT 1");
    raw.value("BEGIN");
    let refused = change(&mut raw, Login { user: ETL.user, password: "wrong" }, b"").expect_err("an ERR");
    let mut seen = vec![format!("{:?} #{}", read_err(&refused), raw.sequence)];
    for sql in ["SELECT CURRENT_USER()", "SELECT COALESCE(@kept, 'lost')"] {
        raw.query(sql);
        match raw.read() {
            Err(_) => {
                seen.push("closed".into());
                return seen;
            }
            // Sent before the proxy knew that the server had closed.
            Ok(packet) if packet[0] == 0xFF && read_err(&packet).0 == 1158 => {
                seen.push("closed".into());
                return seen;
            }
            Ok(packet) if packet[0] == 0xFF => seen.push(format!("{:?}", read_err(&packet))),
            Ok(_) => {
                raw.read().expect("a column");
                raw.read().expect("an EOF");
                seen.push(format!("{:?}", String::from_utf8_lossy(&raw.read().expect("a row"))));
                seen.push(format!("{:02x?}", raw.read().expect("an EOF")));
            }
        }
    }
    // The message has the id in it, which counts up over all sessions.
    seen.push(format!("EXECUTE: {}", read_err(&execute(&mut raw, statement)).0));
    change(&mut raw, MONITOR, b"").expect("a good one afterwards");
    seen
}

#[test]
fn a_refused_change_leaves_what_the_server_leaves() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    for server in [&mysql.primary, mariadb] {
        Raw::login(server.address(), MONITOR);
        let tollgate = Tollgate::before(server);
        let through = after_a_refused_change(tollgate.address);
        println!("{}: {through:#?}", server.version());
        assert_eq!(through, after_a_refused_change(server.address()), "{}", server.version());
    }
}

#[test]
fn the_limit_per_user_holds_for_a_change_too() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    Raw::login(mysql.primary.address(), ETL);
    let yaml = format!("{}limits: {{ per_user: 1 }}\n", upstream(&mysql.primary));
    let tollgate = Tollgate::start(&yaml);
    let etl = Raw::login(tollgate.address, ETL);
    let mut raw = Raw::login_with(tollgate.address, APP, &with_attributes()).expect("a login");
    assert_eq!(read_err(&change(&mut raw, ETL, b"").expect_err("an ERR")).0, 1040);
    assert_eq!(raw.value("SELECT CURRENT_USER()").as_deref(), Some("app@%"), "still there");
    change(&mut raw, APP, b"").expect("to oneself");
    drop(etl);
    tollgate.await_counter("limit_per_user_hit", 1);
    crate::harness::wait_until("the place to be free", || change(&mut raw, ETL, b"").is_ok());
    Raw::login(tollgate.address, APP);
    let refused = Raw::login_with(tollgate.address, ETL, &RawOptions::default()).expect_err("an ERR");
    assert_eq!(read_err(&refused).0, 1040, "counted as the new user");
}
