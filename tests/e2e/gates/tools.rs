//! Percona's tools through the proxy: told by their names, paced by the gate, and not broken by it; heartbeats are not delayed.

use std::process::{Command, Output, Stdio};

use sandbox::{Cluster, ETL};

use super::{Dial, as_probe_user, cluster, gated, login, until_passes};
use crate::harness::{Tollgate, skipped, wait_until};

/// `None`: it is not installed.
fn tool(name: &str, arguments: &[&str]) -> Option<Command> {
    if Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        skipped(name, "it is not installed (percona-toolkit)");
        return None;
    }
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

fn fill(cluster: &Cluster, table: &str) {
    let sql = format!(
        "DROP TABLE IF EXISTS test.{table}; CREATE TABLE test.{table} (id INT PRIMARY KEY, a INT);
         INSERT INTO test.{table} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, 0 FROM n"
    );
    cluster.primary.root_sql(&sql).expect("a table with rows");
}

fn count(cluster: &Cluster, sql: &str) -> u64 {
    cluster.primary.root_sql(sql).expect("a count").trim().parse().expect("a number")
}

fn dsn(tollgate: &Tollgate, table: &str) -> String {
    format!("h=127.0.0.1,P={},u={},p={},D=test,t={table}", tollgate.port(), ETL.user, ETL.password)
}

fn ok(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// The gate is closed while the tool begins: it waits. Then the gate opens, and the tool does its work to the end.
fn is_paced(name: &str, table: &str, arguments: impl Fn(&Tollgate) -> Vec<String>, done: impl Fn(&Cluster) -> bool) {
    let cluster = cluster();
    fill(&cluster, table);
    let dial = Dial::new(&cluster, table);
    let gate =
        format!(", classes: [write, call, unparsed, ddl], match: {{ tool: {name} }}, max_delay: 10m, trickle: 0");
    let tollgate = gated(&cluster, &dial.yaml(&gate));
    let mut raw = login(&tollgate, ETL);
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    until_passes(&mut raw, &format!("UPDATE test.{table} SET a = 1 WHERE id = 1"));
    let arguments = arguments(&tollgate);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(mut command) = tool(name, &arguments) else { return };
    let child = command.spawn().expect("the tool");
    wait_until(&format!("{name} to be held"), || tollgate.waiting() > 0);
    assert!(!done(&cluster), "it has done nothing yet");
    dial.set(0.0);
    let output = child.wait_with_output().expect("its end");
    ok(&output);
    assert!(done(&cluster), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn pt_archiver() {
    for (table, more) in [
        ("archived", &["--limit", "100", "--commit-each"][..]),
        ("archived_one", &["--limit", "100", "--txn-size", "50"]),
    ] {
        let arguments = |tollgate: &Tollgate| {
            let source = dsn(tollgate, table);
            let words = ["--source", &source, "--purge", "--where", "id > 500", "--no-check-charset"];
            words.iter().chain(more).map(|word| (*word).to_owned()).collect()
        };
        is_paced("pt-archiver", table, arguments, |cluster| {
            count(cluster, &format!("SELECT COUNT(*) FROM test.{table}")) <= 501
        });
    }
}

#[test]
fn pt_online_schema_change() {
    let arguments = |tollgate: &Tollgate| {
        let source = dsn(tollgate, "changed");
        let words =
            ["--alter", "ADD COLUMN b INT", "--execute", "--recursion-method", "none", "--chunk-size", "100", &source];
        words.iter().map(|word| (*word).to_owned()).collect()
    };
    is_paced("pt-online-schema-change", "changed", arguments, |cluster| {
        let columns =
            "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'test' AND table_name = 'changed'";
        count(cluster, columns) == 3
    });
}

/// Not even while everything is closed to everybody. Before MariaDB: Debian's pt-heartbeat asks for SHOW MASTER STATUS, which MySQL
/// 9 does not know any more.
#[test]
fn pt_heartbeat() {
    let server = sandbox::mariadb_shared().expect("a MariaDB");
    let user = sandbox::TOLLGATE.user;
    let sql = format!(
        "CREATE DATABASE IF NOT EXISTS percona; DROP TABLE IF EXISTS percona.heartbeat; GRANT SELECT ON test.* TO {user}@'%'"
    );
    server.root_sql(&sql).expect("a schema");
    let dial = Dial::on(server, "heartbeat");
    let yaml = as_probe_user(&dial.yaml(", classes: [write], max_delay: 10m, trickle: 0"));
    let tollgate = Tollgate::start(&format!("{}{yaml}", crate::harness::upstream(server)));
    let mut raw = login(&tollgate, ETL);
    let port = tollgate.port().to_string();
    let run = |more: &[&str]| {
        let words = ["--host", "127.0.0.1", "--user", ETL.user, "--password", ETL.password, "--database", "percona"];
        let words = [&words[..], &["--port", &port], more].concat();
        tool("pt-heartbeat", &words).map(|mut command| command.output().expect("its end"))
    };
    until_passes(&mut raw, "DELETE FROM test.dial_heartbeat WHERE v < 0");
    let Some(first) = run(&["--update", "--create-table", "--run-time", "1"]) else { return };
    ok(&first);
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    let written = || server.root_sql("SELECT MAX(ts) FROM percona.heartbeat").expect("a time");
    let (before, held) = (written(), tollgate.counted("held"));
    ok(&run(&["--update", "--run-time", "3"]).expect("installed"));
    assert_eq!(tollgate.counted("held"), held, "no heartbeat was held");
    assert!(written() > before);
    raw.command(0x03, b"DELETE FROM test.dial_heartbeat WHERE v < 0");
    wait_until("others to be held", || tollgate.waiting() == 1);
}
