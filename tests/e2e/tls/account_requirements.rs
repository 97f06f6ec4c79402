//! Accounts that require TLS of their clients: the server sees the upstream leg alone.

use sandbox::{Login, Server};

use crate::harness::{Tollgate, mysql};

const CIPHER: &str = "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'";
const CLIENT_LEGS: [&[&str]; 2] = [&["--ssl-mode=DISABLED", "--get-server-public-key"], &["--ssl-mode=REQUIRED"]];

fn before(server: &Server, tls: &str) -> Tollgate {
    Tollgate::start(&format!("upstream: {{ address: \"{}\", tls: {tls} }}\n", server.address()))
}

/// `REQUIRE CIPHER`, for which MySQL wants a certificate of its client too, and the status variable that says the cipher.
#[test]
fn required_cipher_is_that_of_the_upstream_leg() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    server
        .root_sql(
            "CREATE USER any_cipher@'%' IDENTIFIED BY 'p'; GRANT SELECT ON performance_schema.* TO any_cipher@'%'",
        )
        .expect("a user");
    let file = |name: &str| server.data_dir().join(name).display().to_string();
    let (certificate, key) = (file("client-cert.pem"), file("client-key.pem"));
    let encrypted = before(server, &format!("required, certificate: \"{certificate}\", key: \"{key}\""));
    let (without_certificate, plain) = (before(server, "required"), before(server, "disabled"));
    let login = |user: &'static str| Login { user, password: "p" };
    let ask = |tollgate: &Tollgate, user, leg| mysql(server, tollgate.address, login(user), leg, CIPHER);

    let cipher = ask(&encrypted, "any_cipher", CLIENT_LEGS[0]).expect("a login");
    assert!(cipher.starts_with("TLS_"), "{cipher}");
    for leg in CLIENT_LEGS {
        assert_eq!(ask(&encrypted, "any_cipher", leg).as_deref(), Ok(cipher.as_str()), "{leg:?}");
        assert_eq!(ask(&plain, "any_cipher", leg).as_deref(), Ok(""), "{leg:?}");
    }

    let (right, wrong) = ("right_cipher", "wrong_cipher");
    for (user, required) in [(right, cipher.as_str()), (wrong, "ECDHE-RSA-AES128-SHA256")] {
        let sql = format!(
            "CREATE USER {user}@'%' IDENTIFIED BY 'p' REQUIRE CIPHER '{required}';
             GRANT SELECT ON performance_schema.* TO {user}@'%'"
        );
        server.root_sql(&sql).expect("a user");
    }
    let direct = mysql(server, server.address(), login(right), CLIENT_LEGS[1], CIPHER);
    assert!(direct.expect_err("no certificate").contains("1045"), "else the certificate shows nothing");
    for leg in CLIENT_LEGS {
        assert_eq!(ask(&encrypted, right, leg).as_deref(), Ok(cipher.as_str()), "{leg:?}");
        for (tollgate, user) in [(&encrypted, wrong), (&without_certificate, right), (&plain, right)] {
            let error = ask(tollgate, user, leg).expect_err("another cipher, no certificate, or no TLS");
            assert!(error.contains("1045"), "{user} {leg:?}: {error}");
        }
    }
}
