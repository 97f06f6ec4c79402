//! Every way to prove who one is, through the proxy as without it.

use std::path::Path;

use sandbox::{APP, Login, Server};
use wire::{Capabilities, LoginRequest};

use crate::harness::{
    OK, Raw, RawOptions, SCRAMBLE, Scripted, Tollgate, denied, mysql, mysql_at_socket, process_list, proof, read_err,
    tls_bridge, upstream, wait_until,
};

fn before(server: &Server, tls: &str) -> Tollgate {
    Tollgate::start(&format!("upstream: {{ address: \"{}\", tls: {tls} }}\n", server.address()))
}

const PLAIN: &[&str] = &["--ssl-mode=DISABLED"];
const PLAIN_WITH_KEY: &[&str] = &["--ssl-mode=DISABLED", "--get-server-public-key"];
const TLS: &[&str] = &["--ssl-mode=REQUIRED"];

/// As long as RSA with the server's key can carry over a leg without TLS.
const LONG: &str = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\
                    0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// Client leg plain and TLS × upstream leg plain and TLS, each with a cold and then a warm cache, by the `mysql` program.
fn both_caches(upstream_tls: &str) {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = before(server, upstream_tls);
    let ask = |user: &str, password: &'static str, arguments: &[&str]| {
        let user: &'static str = user.to_owned().leak();
        mysql(server, tollgate.address, Login { user, password }, arguments, "SELECT USER()")
    };
    for (leg, cold, warm) in [("plain", PLAIN_WITH_KEY, PLAIN), ("tls", TLS, TLS)] {
        for (kind, password) in [("short", "p"), ("long", LONG)] {
            let user = format!("sha2_{leg}_{upstream_tls}_{kind}");
            server.root_sql(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{password}'")).expect("a user");
            if leg == "plain" {
                // The server asks for the password itself, and a client on a plain leg does not give it away.
                let error = ask(&user, password, PLAIN).expect_err("a cold cache");
                assert!(error.contains("2061") && error.contains("secure connection"), "{error}");
            }
            // In full authentication first: the server itself has to find it wrong.
            for wrong in ["wrong", ""] {
                let error = ask(&user, wrong, cold).expect_err("a wrong password");
                assert!(error.contains(&format!("ERROR 1045 (28000): Access denied for user '{user}'@")), "{error}");
            }
            let expected = format!("{user}@127.0.0.1");
            assert_eq!(ask(&user, password, cold).as_deref(), Ok(expected.as_str()), "{user}, cold");
            assert_eq!(ask(&user, password, warm).as_deref(), Ok(expected.as_str()), "{user}, warm");
            let error = ask(&user, "wrong", cold).expect_err("a wrong password, warm");
            assert!(error.contains("1045"), "{error}");
        }
        let user = format!("sha2_{leg}_{upstream_tls}_empty");
        server.root_sql(&format!("CREATE USER {user}@'%' IDENTIFIED BY ''")).expect("a user");
        assert_eq!(ask(&user, "", warm).as_deref(), Ok(format!("{user}@127.0.0.1").as_str()));
        let error = ask(&user, "one it does not have", cold).expect_err("a wrong password");
        assert!(error.contains("1045"), "{error}");
        let error = ask("nobody_at_all", "x", cold).expect_err("an unknown user");
        assert!(error.contains("1045"), "{error}");
    }
}

#[test]
fn caching_sha2_password_with_a_plain_upstream_leg() {
    both_caches("disabled");
}

#[test]
fn caching_sha2_password_with_a_tls_upstream_leg() {
    both_caches("required");
}

#[test]
fn sha256_password_over_all_legs() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    server.root_sql("CREATE USER sha256@'%' IDENTIFIED WITH sha256_password BY 'sha-pw'").expect("a user");
    server.root_sql("CREATE USER sha256_none@'%' IDENTIFIED WITH sha256_password BY ''").expect("a user");
    for upstream_tls in ["disabled", "required"] {
        let tollgate = before(server, upstream_tls);
        for leg in [PLAIN_WITH_KEY, TLS] {
            let ask = |user, password| {
                mysql(server, tollgate.address, Login { user, password }, leg, "SELECT CURRENT_USER()")
            };
            assert_eq!(ask("sha256", "sha-pw").as_deref(), Ok("sha256@%"), "{upstream_tls} {leg:?}");
            assert_eq!(ask("sha256_none", "").as_deref(), Ok("sha256_none@%"), "{upstream_tls} {leg:?}");
            for wrong in ["wrong", ""] {
                let error = ask("sha256", wrong).expect_err("a wrong password");
                assert!(error.contains("1045"), "{upstream_tls} {leg:?}: {error}");
            }
        }
    }
}

/// RSA carries 213 bytes; MySQL takes up to 256 where the legs are encrypted.
#[test]
fn a_password_too_long_for_rsa_is_said_so() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let password: &'static str = "x".repeat(240).leak();
    server.root_sql(&format!("CREATE USER very_long@'%' IDENTIFIED BY '{password}'")).expect("a user");
    let login = Login { user: "very_long", password };
    let plain = before(server, "disabled");
    let error = mysql(server, plain.address, login, TLS, "SELECT 1").expect_err("too long");
    assert!(error.contains("1429") && error.contains("use TLS between the proxy and the server"), "{error}");
    let tls = before(server, "required");
    assert_eq!(mysql(server, tls.address, login, TLS, "SELECT 1").as_deref(), Ok("1"));
}

fn at_sockets(server: &Server, listen: &Path) -> Tollgate {
    Tollgate::start(&format!(
        "listen: \"{}\"\nupstream: {{ address: \"{}\" }}\n",
        listen.display(),
        server.socket().display()
    ))
}

/// A socket counts as safe on either leg: passwords are sent as over TLS.
#[test]
fn unix_sockets_on_both_legs() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.sock");
    let both = at_sockets(server, &path);
    let upstream_only = Tollgate::start(&format!("upstream: {{ address: \"{}\" }}\n", server.socket().display()));
    let client_path = folder.path().join("client.sock");
    let client_only = Tollgate::start(&format!(
        "listen: \"{}\"\nupstream: {{ address: \"{}\", tls: disabled }}\n",
        client_path.display(),
        server.address()
    ));
    for (nth, password) in [(0, "p"), (1, "")] {
        let user = |name: &str| -> &'static str {
            let user = format!("sock_{name}_{nth}");
            server.root_sql(&format!("CREATE USER {user}@'%' IDENTIFIED BY '{password}'")).expect("a user");
            user.leak()
        };
        let sql = "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)";
        let login = Login { user: user("both"), password };
        assert_eq!(mysql_at_socket(server, &path, login, PLAIN, sql).as_deref(), Ok(login.user));
        let login = Login { user: user("up"), password };
        assert_eq!(mysql(server, upstream_only.address, login, PLAIN_WITH_KEY, sql).as_deref(), Ok(login.user));
        let login = Login { user: user("down"), password };
        let wrong = Login { user: login.user, password: "wrong" };
        let error = mysql_at_socket(server, &client_path, wrong, PLAIN, sql).expect_err("a wrong password");
        assert!(error.contains("1045"), "{error}");
        assert_eq!(mysql_at_socket(server, &client_path, login, PLAIN, sql).as_deref(), Ok(login.user));
    }
    drop((both, upstream_only, client_only));
}

/// `sha256_password` does not count a Unix socket as safe: the server expects the password encrypted with its key.
#[test]
fn sha256_password_over_unix_sockets() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    server.root_sql("CREATE USER sha256_sock@'%' IDENTIFIED WITH sha256_password BY 'sha-pw'").expect("a user");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.sock");
    let both = at_sockets(server, &path);
    let upstream_only = Tollgate::start(&format!("upstream: {{ address: \"{}\" }}\n", server.socket().display()));
    let sql = "SELECT CURRENT_USER()";
    for (password, expected) in [("sha-pw", Ok("sha256_sock@%")), ("wrong", Err("1045")), ("", Err("1045"))] {
        let login = Login { user: "sha256_sock", password };
        for (way, answer) in [
            ("direct", mysql_at_socket(server, server.socket(), login, PLAIN_WITH_KEY, sql)),
            ("both sockets", mysql_at_socket(server, &path, login, PLAIN_WITH_KEY, sql)),
            ("client plain", mysql(server, upstream_only.address, login, PLAIN_WITH_KEY, sql)),
            ("client TLS", mysql(server, upstream_only.address, login, TLS, sql)),
        ] {
            match expected {
                Ok(user) => assert_eq!(answer.as_deref(), Ok(user), "{way}"),
                Err(code) => assert!(answer.as_ref().is_err_and(|error| error.contains(code)), "{way}: {answer:?}"),
            }
        }
    }
    drop(both);
}

#[test]
fn mariadbs_own_plugins() {
    let server = sandbox::mariadb_shared().expect("a MariaDB");
    server
        .root_sql(
            "INSTALL SONAME 'auth_ed25519';
             CREATE USER curve@'%' IDENTIFIED VIA ed25519 USING PASSWORD('curve-pw');
             CREATE USER either@'%' IDENTIFIED VIA ed25519 USING PASSWORD('one') \
               OR mysql_native_password USING PASSWORD('two');
             CREATE USER native_none@'%' IDENTIFIED BY ''",
        )
        .expect("users");
    let legs = ["disabled", "required"].into_iter().flat_map(|tls| [(tls, ["--skip-ssl"]), (tls, ["--ssl"])]);
    for (tls, arguments) in legs {
        let tollgate = before(server, tls);
        let ask = |user, password| {
            mysql(server, tollgate.address, Login { user, password }, &arguments, "SELECT CURRENT_USER()")
        };
        for (user, password) in
            [("curve", "curve-pw"), ("app", "app-pw"), ("either", "one"), ("either", "two"), ("native_none", "")]
        {
            assert_eq!(ask(user, password), Ok(format!("{user}@%")), "{tls} {arguments:?}");
        }
        for (user, password) in [("curve", "wrong"), ("app", ""), ("either", "three"), ("nobody_at_all", "x")] {
            let direct = mysql(server, server.address(), Login { user, password }, &arguments, "SELECT 1");
            assert_eq!(ask(user, password), direct, "{user} {password}");
        }
    }
}

fn before_script(upstream: &Scripted) -> Tollgate {
    Tollgate::start(&format!("upstream: {{ address: \"{}\" }}\n", upstream.address))
}

fn switch(plugin: &str, data: &[u8]) -> Vec<u8> {
    wire::encode_switch(plugin.as_bytes(), data)
}

#[test]
fn a_password_in_clear_is_never_sent_over_a_plain_upstream_leg() {
    let (seen, answers) = std::sync::mpsc::channel();
    let upstream = Scripted::start(move |raw, _| {
        raw.write(2, &switch("mysql_clear_password", b""));
        seen.send(raw.read()).expect("the test");
        raw.write(4, &denied());
    });
    let tollgate = before_script(&upstream);
    let mut raw = Raw::greeted(tollgate.address);
    raw.request_login(APP, &RawOptions::default());
    let (code, _, message) = raw.err();
    assert_eq!(code, 3159);
    assert!(message.contains("mysql_clear_password"), "{message}");
    assert_eq!(tollgate.counter("clear_passwords_refused"), 1);
    // The login was finished, with something that is not the password.
    let finished = answers.recv().expect("an answer").expect("a packet");
    assert!(!finished.windows(6).any(|text| text == b"app-pw") && finished.last() == Some(&0), "{finished:02x?}");
}

/// Over TLS, or over a Unix socket, which counts as safe.
#[test]
fn a_password_in_clear_is_relayed_over_a_safe_upstream_leg() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("up.sock");
    let upstream = Scripted::start(|raw, _| {
        raw.write(2, &switch("mysql_clear_password", b""));
        let answer = raw.read().expect("a password");
        let right = answer == b"in clear\0";
        raw.write(4, if right { OK.to_vec() } else { denied() }.as_slice());
        // Over a socket the proxy asks whether the server checks its accounts; an ERR is no sign that it does not.
        if right && raw.read().is_ok() {
            raw.write(1, &denied());
        }
    });
    crate::harness::bridge(&path, upstream.address);
    let encrypted = tls_bridge(upstream.address);
    for leg in [format!("\"{}\"", path.display()), format!("\"{encrypted}\", tls: required")] {
        let tollgate = Tollgate::start(&format!("upstream: {{ address: {leg} }}\n"));
        for (password, gets_in) in [(&b"in clear\0"[..], true), (b"other\0", false)] {
            let mut raw = Raw::greeted(tollgate.address);
            raw.request_login(APP, &RawOptions::default());
            assert_eq!(raw.read().expect("a switch"), switch("mysql_clear_password", b""), "{leg}");
            raw.write(3, password);
            assert_eq!(raw.read().expect("the end")[0] == 0, gets_in, "{leg}");
        }
        assert_eq!(tollgate.counter("clear_passwords_refused"), 0, "{leg}");
    }
}

/// As before MySQL 9: the proof is made with the server's scramble, whatever the legs.
#[test]
fn mysql_native_password_is_relayed() {
    let upstream = Scripted::start(|raw, _| {
        raw.write(2, &switch("mysql_native_password", &[&SCRAMBLE[..], &[0]].concat()));
        let right = raw.read().expect("a proof") == proof(b"mysql_native_password", b"app-pw", &SCRAMBLE);
        raw.write(4, if right { OK.to_vec() } else { denied() }.as_slice());
    });
    let encrypted = tls_bridge(upstream.address);
    for leg in [format!("\"{}\"", upstream.address), format!("\"{encrypted}\", tls: required")] {
        let tollgate = Tollgate::start(&format!("upstream: {{ address: {leg} }}\n"));
        for (password, gets_in) in [("app-pw", true), ("other", false), ("", false)] {
            let login = Login { user: "app", password };
            let answer = Raw::login_with(tollgate.address, login, &RawOptions::default());
            assert_eq!(answer.is_ok(), gets_in, "{leg} {password}");
        }
        // Counted once the client has been told.
        tollgate.await_counter("logins_denied", 2);
        tollgate.await_counter("logins_succeeded", 1);
    }
}

/// AuthNextFactor packets, several of them, each way.
#[test]
fn several_factors_are_relayed() {
    let upstream = Scripted::offering(Capabilities::MULTI_FACTOR_AUTHENTICATION, |raw, _| {
        let mut sequence = 2;
        for (packet, expected) in [
            (switch("caching_sha2_password", &[&SCRAMBLE[..], &[0]].concat()), &b"first"[..]),
            ([&b"\x01"[..], b"\x04"].concat(), b"second"),
            ([&b"\x02"[..], b"authentication_webauthn_client\0challenge"].concat(), b"third"),
            ([&b"\x01"[..], b"more"].concat(), b"fourth"),
            ([&b"\x02"[..], b"authentication_ldap_sasl_client\0SCRAM"].concat(), b"fifth"),
        ] {
            raw.write(sequence, &packet);
            let answer = raw.read().expect("an answer");
            if answer != expected {
                return raw.write(raw.sequence + 1, &denied());
            }
            sequence += 2;
        }
        raw.write(sequence, OK);
    });
    let tollgate = before_script(&upstream);
    let mut options = RawOptions::default();
    options.capabilities |= Capabilities::MULTI_FACTOR_AUTHENTICATION;
    let mut raw = Raw::greeted(tollgate.address);
    raw.request_login(APP, &options);
    let starts: [&[u8]; 5] =
        [b"\xFEcaching", b"\x01\x04", b"\x02authentication_web", b"\x01more", b"\x02authentication_ldap"];
    for (start, answer) in starts.into_iter().zip(["first", "second", "third", "fourth", "fifth"]) {
        let asked = raw.read().expect("a question");
        assert!(asked.starts_with(start), "{asked:02x?}");
        raw.write(raw.sequence + 1, answer.as_bytes());
    }
    assert_eq!(raw.read().expect("an OK"), OK);
}

fn without_plugin_auth() -> RawOptions {
    let mut options = RawOptions::default();
    options.capabilities.remove(Capabilities::PLUGIN_AUTH);
    options
}

/// Clients that cannot switch plugins: as before MySQL 5.5.
#[test]
fn old_clients_get_in_with_no_password_only() {
    let mysql = &sandbox::mysql_shared().expect("a MySQL").primary;
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    for server in [mysql, mariadb] {
        server.root_sql("CREATE USER old_client@'%' IDENTIFIED BY ''").expect("a user");
        let tollgate = before(server, "disabled");
        let none = Login { user: "old_client", password: "" };
        let mut raw = Raw::login_with(tollgate.address, none, &without_plugin_auth()).expect("a login");
        assert_eq!(raw.value("SELECT 1").as_deref(), Some("1"));
        // The server's own word where the account has a password.
        let empty = Login { user: "app", password: "" };
        let refused = Raw::login_with(tollgate.address, empty, &without_plugin_auth()).expect_err("an ERR");
        assert_eq!(read_err(&refused).0, 1045);

        let mut raw = Raw::greeted(tollgate.address);
        let request = LoginRequest {
            capabilities: without_plugin_auth().capabilities,
            max_packet: 1 << 24,
            charset: 45,
            filler: [0; 23],
            user: b"app",
            auth_response: &[7; 20],
            database: None,
            auth_plugin: None,
            attributes: None,
            compression_level: None,
        };
        raw.write(1, &request.encode());
        let (code, state, _) = raw.err();
        assert_eq!((code, state.as_str()), (1251, "08004"));
        assert_eq!(tollgate.counter("old_clients_refused"), 1);
        assert_eq!(tollgate.counter("logins_finished_for_clients"), 1);
        wait_until("the login to be over upstream", || {
            let processes = process_list(server);
            let sql = format!("SELECT COUNT(*) FROM {processes} WHERE USER = 'unauthenticated user'");
            server.root_sql(&sql).expect("the process list").trim() == "0"
        });
    }
}

#[test]
fn logins_that_cannot_be_read_get_a_clear_error() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = before(server, "disabled");
    let ends_with = |payload: &[u8], code: u16, words: &str| {
        let mut raw = Raw::greeted(tollgate.address);
        raw.write(1, payload);
        let (found, _, message) = raw.err();
        assert!(found == code && message.contains(words), "{found} {message}");
        assert!(raw.is_closed());
    };
    // Protocol 3.23: capabilities of two bytes.
    ends_with(b"\x85\x24\0\0\0app\0", 1043, "before protocol 4.1");
    ends_with(b"", 1043, "Bad handshake");
    // With the bit for TLS, but not a request for it: a server would read a TLS hello next.
    let mut capabilities = RawOptions::default().capabilities;
    capabilities |= Capabilities::SSL;
    let request = LoginRequest {
        capabilities,
        max_packet: 1 << 24,
        charset: 45,
        filler: [0; 23],
        user: b"app",
        auth_response: b"",
        database: None,
        auth_plugin: Some(b"caching_sha2_password"),
        attributes: None,
        compression_level: None,
    };
    ends_with(&request.encode(), 1043, "plain text");
    tollgate.await_counter("logins_malformed", 3);
    assert_eq!(tollgate.counter("logins_succeeded"), 0);
}

fn attributes(pairs: &[(&str, &str)]) -> Vec<u8> {
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes())).collect();
    wire::attributes::with_own(b"", &pairs, usize::MAX).block
}

#[test]
fn attributes_are_forwarded_behind_the_proxys_own() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = before(server, "disabled");
    let block = attributes(&[
        ("program_name", "étl"),
        ("_Tollgate_client_address", "forged"),
        ("_tollgate_anything", "forged"),
        ("_client_name", "raw"),
    ]);
    let options = RawOptions { attributes: Some(block), ..RawOptions::default() };
    let mut raw = Raw::login_with(tollgate.address, APP, &options).expect("a login");
    let sql = "SELECT GROUP_CONCAT(ATTR_NAME ORDER BY ORDINAL_POSITION) \
               FROM performance_schema.session_account_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID()";
    let own = "_tollgate_client_address,_tollgate_client_port,_tollgate_connection_id,_tollgate_listener";
    assert_eq!(raw.value(sql), Some(format!("{own},program_name,_client_name")));
    let sql = "SELECT GROUP_CONCAT(ATTR_VALUE ORDER BY ORDINAL_POSITION) \
               FROM performance_schema.session_connect_attrs \
               WHERE PROCESSLIST_ID = CONNECTION_ID() AND ATTR_NAME LIKE '\\_tollgate\\_%'";
    let (port, id) =
        (raw.stream.local_addr().expect("an address").port(), raw.greeting.clone().expect("one").connection_id);
    assert_eq!(raw.value(sql), Some(format!("127.0.0.1,{port},{id},127.0.0.1:0")));
    assert_eq!(tollgate.counter("attributes_dropped"), 2);
    // A client that sends none still has the proxy's.
    let mut raw = Raw::login(tollgate.address, APP);
    let sql = "SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID()";
    assert_eq!(raw.value(sql).as_deref(), Some("4"));
}

/// As much as a server takes, and logins of every length that could be taken for something else.
#[test]
fn logins_of_any_size_up_to_the_limit() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = before(server, "disabled");
    let value = "v".repeat(994);
    let mut pairs = vec![("abcdefghijklmnopqrstuvwxyz", value.as_str()); 64];
    pairs[63].0 = "abcdefghijklmnopqrstuvwxy";
    let block = attributes(&pairs);
    assert_eq!(block.len(), 65_535, "what MySQL takes at the most");
    let options = RawOptions { attributes: Some(block), ..RawOptions::default() };
    let mut raw = Raw::login_with(tollgate.address, APP, &options).expect("a login");
    assert_eq!(raw.value("SELECT 1").as_deref(), Some("1"));
    assert!(tollgate.counter("attributes_dropped") >= 1, "room for the proxy's own");

    // 790 = 0x0316: a packet that begins like a TLS record.
    let mut options = RawOptions { attributes: Some(Vec::new()), ..RawOptions::default() };
    let size = |options: &RawOptions| 32 + 4 + 1 + 25 + 3 + options.attributes.as_ref().expect("some").len();
    let filler = "f".repeat(790 - size(&options) - 2 - 3);
    options.attributes = Some(attributes(&[("a", &filler)]));
    assert_eq!(size(&options), 790);
    assert_eq!(
        Raw::login_with(tollgate.address, APP, &options).expect("a login").value("SELECT 1").as_deref(),
        Some("1")
    );

    let mut raw = Raw::greeted(tollgate.address);
    raw.write(1, &vec![0x55; 97 * 1024]);
    let (code, _, message) = raw.err();
    assert!(code == 1043 && message.contains("too large"), "{code} {message}");
    tollgate.await_counter("logins_too_large", 1);
}

#[test]
fn a_login_has_its_time() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = Tollgate::start(&format!("{}limits: {{ login_time: 300ms }}\n", upstream(server)));
    let mut silent = Raw::greeted(tollgate.address);
    assert_eq!(silent.err().0, 1159);
    assert!(silent.is_closed());
    let mut halfway = Raw::greeted(tollgate.address);
    halfway.request_login(APP, &RawOptions::default());
    halfway.read().expect("a switch");
    assert_eq!(halfway.err().0, 1159);
    tollgate.await_counter("login_timeouts", 2);
    assert_eq!(tollgate.counter("logins_finished_for_clients"), 1);
}

/// A login keeps its place until it is over upstream, also when its client has gone.
#[test]
fn logins_in_progress_are_capped() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let upstream = Scripted::start(move |raw, _| {
        let _ = released.lock().expect("no panic").recv();
        raw.write(2, &denied());
    });
    let tollgate = Tollgate::start(&format!(
        "upstream: {{ address: \"{}\" }}\nlimits: {{ login_time: 300ms, upstream_logins: 1 }}\n",
        upstream.address
    ));
    let mut first = Raw::greeted(tollgate.address);
    first.request_login(APP, &RawOptions::default());
    assert_eq!(first.err().0, 1159);
    let mut second = Raw::greeted(tollgate.address);
    second.request_login(APP, &RawOptions::default());
    let (code, state, message) = second.err();
    assert_eq!((code, state.as_str()), (1040, "08004"), "{message}");
    tollgate.await_counter("limit_upstream_logins_hit", 1);
    drop(release);
    wait_until("the place to be given back", || {
        let mut raw = Raw::greeted(tollgate.address);
        raw.request_login(APP, &RawOptions::default());
        raw.err().2.contains("by the script")
    });
}
