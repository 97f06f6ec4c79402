//! A login that was begun upstream is finished, whatever its client does: else the server would count handshake errors
//! against the proxy's address, and block it for everybody.

use std::sync::OnceLock;

use sandbox::{APP, Login, Options, Server};
use wire::AuthPacket;

use crate::harness::{Raw, RawOptions, Tollgate, mysql, wait_until};

/// One that keeps a host cache: not for 127.0.0.1, which MySQL exempts, but for the 127.0.0.2 that the proxy dials from.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let options = Options::mysql().argument("--skip-name-resolve=OFF");
        let server = Server::start(options).expect("a MySQL");
        let settings = server.root_sql("SELECT @@skip_name_resolve, @@max_connect_errors");
        assert_eq!(settings.expect("settings").trim(), "0\t100");
        server
            .root_sql(
                "CREATE USER cold@'%' IDENTIFIED BY 'never right';
                 CREATE USER slow@'%' IDENTIFIED WITH sha256_password BY 'never right'",
            )
            .expect("users");
        server
    })
}

fn tollgate(tls: &str) -> Tollgate {
    let address = server().address();
    Tollgate::start(&format!(
        "upstream: {{ address: \"{address}\", source_address: 127.0.0.2, tls: {tls}, dial_timeout: 20s }}\n\
         limits: {{ upstream_logins: 8 }}\n"
    ))
}

#[derive(Clone, Copy, Debug)]
enum Leaves {
    AfterRequest,
    AfterSwitch,
    InFullAuthentication,
    AfterTheKey,
    WithNonsense,
    OutOfOrder,
}

/// A client of an account whose password is not in the server's cache, and who leaves.
fn leave(address: std::net::SocketAddr, user: &'static str, when: Leaves) {
    let mut raw = Raw::greeted(address);
    let login = Login { user, password: "wrong" };
    raw.request_login(login, &RawOptions::default());
    if matches!(when, Leaves::AfterRequest) {
        return;
    }
    let switch = raw.read().expect("a switch");
    let AuthPacket::Switch { plugin, data } = AuthPacket::decode(&switch) else { panic!("no switch: {switch:02x?}") };
    match when {
        Leaves::AfterRequest | Leaves::AfterSwitch => return,
        Leaves::WithNonsense => return raw.write(3, &[0x5A; 300]),
        Leaves::OutOfOrder => return raw.write(77, b"what"),
        Leaves::InFullAuthentication | Leaves::AfterTheKey => {}
    }
    if plugin == b"caching_sha2_password" {
        raw.write(3, &crate::harness::proof(plugin, b"wrong", wire::scramble(data)));
        assert_eq!(AuthPacket::decode(&raw.read().expect("an answer")), AuthPacket::MoreData(&[4]), "a cold cache");
        if matches!(when, Leaves::AfterTheKey) {
            raw.write(5, &[2]);
            raw.read().expect("a key");
        }
    } else if matches!(when, Leaves::AfterTheKey) {
        raw.write(3, &[1]);
        raw.read().expect("a key");
    }
}

fn host_cache(column: &str) -> u64 {
    let sql = format!("SELECT COALESCE(SUM({column}), 0) FROM performance_schema.host_cache WHERE ip = '127.0.0.2'");
    server().root_sql(&sql).expect("the host cache").trim().parse().expect("a number")
}

#[test]
fn clients_that_leave_at_any_stage_do_not_get_the_proxy_blocked() {
    use Leaves::*;
    let stages = [AfterRequest, AfterSwitch, InFullAuthentication, AfterTheKey, WithNonsense, OutOfOrder];
    for tls in ["disabled", "required"] {
        let tollgate = tollgate(tls);
        let address = tollgate.address;
        let total = 252;
        std::thread::scope(|scope| {
            for worker in 0..6 {
                scope.spawn(move || {
                    for n in 0..total / 6 {
                        let user = if n % 2 == 0 { "cold" } else { "slow" };
                        leave(address, user, stages[(worker + n / 2) % stages.len()]);
                    }
                });
            }
        });
        // Each has ended, by the server's own ERR to a wrong proof.
        wait_until("all logins to be over", || {
            let sql = "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_HOST = '127.0.0.2' \
                       OR PROCESSLIST_USER = 'unauthenticated user'";
            tollgate.counter("logins_finished_for_clients") + tollgate.counter("logins_denied") >= total as u64
                && server().root_sql(sql).expect("the threads").trim() == "0"
        });
        assert!(tollgate.counter("logins_finished_for_clients") > total as u64 / 2, "most had to be finished for them");
        assert_eq!((host_cache("SUM_CONNECT_ERRORS"), host_cache("COUNT_HANDSHAKE_ERRORS")), (0, 0), "{tls}");
        let cache = server().root_sql("SELECT * FROM performance_schema.host_cache").expect("the cache");
        assert!(
            host_cache("COUNT_AUTH_PLUGIN_ERRORS + COUNT_AUTHENTICATION_ERRORS") > 0,
            "the cache has not seen us: {cache}"
        );
        assert_eq!(Raw::login(address, APP).value("SELECT 1").as_deref(), Some("1"), "{tls}");
        assert_eq!(host_cache("COUNT_HOST_BLOCKED_ERRORS"), 0);
    }
}

/// That the server really blocks who leaves: else the test above would show nothing.
#[test]
fn a_server_blocks_an_address_that_breaks_logins_off() {
    let server = server();
    let dial = || {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 3], 0)).into()).expect("127.0.0.3");
        socket.connect(&server.address().into()).expect("a connection");
        Raw::over(socket.into())
    };
    wait_until("the address to be blocked", || {
        let first = dial().read().expect("a greeting or an ERR");
        first.first() == Some(&0xFF) && crate::harness::read_err(&first).0 == 1129
    });
    // The others are not concerned.
    mysql(server, server.address(), APP, &[], "SELECT 1").expect("127.0.0.1 is let in");
}
