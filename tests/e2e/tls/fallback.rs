//! `upstream.tls` before servers whose TLS is too old for the proxy.

use sandbox::{APP, Options, Server};

use crate::harness::{Raw, RawOptions, Tollgate, read_err};

/// A server that speaks no TLS newer than 1.1 (and with this OpenSSL none at all), before a proxy that speaks 1.2 and 1.3.
#[test]
fn preferred_falls_back_when_server_has_old_tls_only() {
    let server = Server::start(Options::mariadb().argument("--tls_version=TLSv1.1")).expect("a MariaDB");
    let upstream = |tls: &str| format!("upstream: {{ address: \"{}\", tls: {tls} }}\n", server.address());
    let cipher_of_upstream =
        "SELECT VARIABLE_VALUE FROM information_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'";
    let tollgate = Tollgate::start(&upstream("preferred"));
    for nth in 1..=3 {
        let mut raw = Raw::login(tollgate.address, APP);
        assert_eq!(raw.value(cipher_of_upstream).as_deref(), Some(""));
        assert_eq!(tollgate.counter("upstream_tls_fallbacks"), nth);
    }
    let warning = "since upstream.tls is preferred";
    assert_eq!(tollgate.log().matches(warning).count(), 1, "one handshake failed, and that is remembered");
    assert_eq!(tollgate.counter("upstream_unreachable"), 0);

    for mode in ["required".to_owned(), format!("verify_ca, ca: \"{}\"", server.ca_pem().display())] {
        let strict = Tollgate::start(&upstream(&mode));
        let refused = Raw::login_with(strict.address, APP, &RawOptions::default()).expect_err("an ERR");
        let (code, _, message) = read_err(&refused);
        assert_eq!(code, 1429, "{message}");
        assert!(message.contains("the proxy speaks TLS 1.2 and 1.3, and the server agreed to neither"), "{message}");
        assert_eq!((strict.counter("upstream_tls_fallbacks"), strict.counter("upstream_unreachable")), (0, 1));
    }

    // A server that was away may have another configuration: the next login tries TLS.
    server.stop().expect("its end");
    let refused = Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect_err("an ERR");
    assert_eq!(read_err(&refused).0, 1429);
    server.restart_with(&["--tls_version=TLSv1.2"]).expect("its start");
    let mut raw = Raw::login(tollgate.address, APP);
    assert_ne!(raw.value(cipher_of_upstream).as_deref(), Some(""));
    assert_eq!(tollgate.counter("upstream_tls_fallbacks"), 3);
}
