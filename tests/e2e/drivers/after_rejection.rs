//! Pools and frameworks after a rejection by a rule: they keep the connection, and see errno, SQLSTATE and text as documented.

use sandbox::Flavor;

use super::{Ran, Tls, judge, run_program, server};
use crate::harness::{Tollgate, upstream};

const RULE: &str = "rules:\n\
    - { id: no-writes, match: { class: write }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n";

fn keeps_its_connection(name: &str, required: &[&str]) {
    let table = format!("after_{name}");
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        let root = |sql: &str| server(flavor).root_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error:#}"));
        root(&format!("DROP TABLE IF EXISTS test.{table}"));
        root(&format!("CREATE TABLE test.{table} (batch INT)"));
        let tollgate = Tollgate::start(&format!("{}{RULE}", upstream(server(flavor))));
        let mut command = run_program(&format!("after_rejection/{name}"), tollgate.address, flavor, Tls::Off);
        let output = command.env("TG_TABLE", &table).output().expect("the program");
        if judge(name, &output, required) == Ran::Missing {
            return;
        }
        assert!(tollgate.counter("commands_refused") >= 3, "{name}: nothing was refused");
        assert_eq!(root(&format!("SELECT COUNT(*) FROM test.{table}")).trim(), "0");
    }
}

const ALL: &[&str] = &["text", "prepared", "transaction", "same_connection"];

#[test]
fn hikari_keeps_its_connection() {
    keeps_its_connection("hikari", ALL);
}

#[test]
fn node_mysql2_keeps_its_connection() {
    keeps_its_connection("node_mysql2", ALL);
}

#[test]
fn sqlalchemy_keeps_its_connection() {
    keeps_its_connection("sqlalchemy", &["text", "transaction", "same_connection"]);
}

#[test]
fn go_keeps_its_connection() {
    keeps_its_connection("go", ALL);
}

#[test]
fn php_pdo_keeps_its_connection() {
    keeps_its_connection("php_pdo", ALL);
}
