//! The first things any client does.

use sandbox::{APP, Login};

use crate::harness::{Raw, RawOptions, Tollgate};

#[test]
fn a_client_logs_in_and_asks() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let tollgate = Tollgate::before(&mysql.primary);
    let mut client = Raw::login(tollgate.address, APP);
    assert_eq!(client.value("SELECT 40 + 2").as_deref(), Some("42"));
    assert_eq!(tollgate.counter("logins_succeeded"), 1);
}

#[test]
fn a_wrong_password_gets_the_servers_own_error() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let tollgate = Tollgate::before(&mysql.primary);
    let wrong = Login { user: APP.user, password: "not it" };
    let direct = Raw::login_with(mysql.primary.address(), wrong, &RawOptions::default()).expect_err("an ERR");
    let through = Raw::login_with(tollgate.address, wrong, &RawOptions::default()).expect_err("an ERR");
    assert_eq!(through, direct);
    tollgate.await_counter("logins_denied", 1);
}
