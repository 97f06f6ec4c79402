//! Percona's tools through the proxy: told by their names, paced by the gate, and not broken by it; heartbeats are not delayed.

use std::process::{Child, Command, Output, Stdio};

use sandbox::{APP, Cluster, ETL};

use super::{Dial, as_probe_user, cluster, gated, login, until_passes};
use crate::harness::{Tollgate, skipped, wait_until};
use crate::rules::{Answer, run};

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
         INSERT INTO test.{table} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, 0 FROM n;
         ANALYZE TABLE test.{table}"
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

/// A tool before gates that are closed to it, and to whoever wants to know how long it has been waiting.
struct Work<'a> {
    cluster: &'a Cluster,
    dial: &'a Dial<'a>,
    tollgate: Tollgate,
    table: &'a str,
}

/// Keys of the tool's gate: nothing passes while it is closed.
const SHUT: &str = "trickle: 0";

/// One passes in two seconds, which is longer than a transaction that has read waits unless it was chosen otherwise.
const TRICKLE: &str = "trickle: 1/2s";

/// What an operator writes for a tool that reads before it writes.
const PATIENT: &str = "max_delay_after_reads: 10m";

impl<'a> Work<'a> {
    /// The gate is closed to the tool when this returns.
    fn behind(cluster: &'a Cluster, dial: &'a Dial<'a>, table: &'a str, tool: &str, keys: &str) -> Work<'a> {
        let work = Work::before(cluster, dial, table, tool, &format!("max_delay: 10m, {keys}"), "throttled");
        work.close();
        work
    }

    /// The gate is open; what it refuses gets this error.
    fn before(
        cluster: &'a Cluster,
        dial: &'a Dial<'a>,
        table: &'a str,
        tool: &str,
        keys: &str,
        error: &str,
    ) -> Work<'a> {
        fill(cluster, table);
        dial.set(0.0);
        let clock = format!(
            "clock: {{ metric: dial, threshold: 10, control: binary, classes: [write], match: {{ user: {} }}, max_delay: 10m, trickle: 0 }}",
            APP.user
        );
        let gate = format!(", classes: [write, call, unparsed, ddl], match: {{ tool: {tool} }}, {keys}");
        let yaml = dial.yaml(&gate).replace("gates: { ", &format!("gates: {{ {clock}, "));
        let yaml = format!("defaults: {{ error: {error} }}\n{yaml}");
        let work = Work { cluster, dial, tollgate: gated(cluster, &yaml), table };
        let update = format!("UPDATE test.{table} SET a = 1 WHERE id = 1");
        for user in [ETL, APP] {
            until_passes(&mut login(&work.tollgate, user), &update);
        }
        work
    }

    fn close(&self) {
        self.dial.set(99.0);
        for gate in ["dial", "clock"] {
            self.tollgate.await_gate(gate, "closed");
        }
    }

    fn start(&self, name: &str, arguments: &[&str]) -> Option<Child> {
        Some(tool(name, arguments)?.spawn().expect("the tool"))
    }

    /// One after another come and wait at the other gate for the second that a transaction gets, until they are refused.
    fn seconds_pass(&self, seconds: usize) {
        for _ in 0..seconds {
            let mut raw = login(&self.tollgate, APP);
            assert_eq!(run(&mut raw, "BEGIN"), Answer::Done);
            assert_eq!(run(&mut raw, &format!("SELECT * FROM test.{}", self.table)), Answer::Done);
            let refused = run(&mut raw, &format!("UPDATE test.{} SET a = 2 WHERE id = 1", self.table));
            let by_clock = matches!(&refused, Answer::Err(_, message) if message.contains("reason=gate:clock "));
            assert!(by_clock, "{refused:?}");
        }
    }

    /// How often this user was held, and refused.
    fn counted(&self, user: &str) -> (u64, u64) {
        let clients: serde_json::Value = serde_json::from_str(&self.tollgate.clients()).expect("JSON");
        let clients = clients["clients"].as_array().expect("clients").iter().filter(|client| client["user"] == user);
        let numbers =
            |client: &serde_json::Value| ["held", "rejected"].map(|key| client[key].as_u64().expect("a number"));
        clients.map(numbers).fold((0, 0), |all, [held, rejected]| (all.0 + held, all.1 + rejected))
    }

    fn rows(&self) -> u64 {
        count(self.cluster, &format!("SELECT COUNT(*) FROM test.{}", self.table))
    }

    /// The gate opens, and the tool ends as if nothing had been. How often it was held and refused.
    fn ends_well(&self, child: Child) -> (u64, u64) {
        self.dial.set(0.0);
        ok(&child.wait_with_output().expect("its end"));
        self.counted(ETL.user)
    }
}

/// It waited, and saw no error.
fn was_only_held((held, rejected): (u64, u64)) -> bool {
    held > 0 && rejected == 0
}

/// Its ways to end transactions: the first is its default. With all but the last it reads and then writes in one transaction
/// under `autocommit=0`.
const WAYS: [&[&str]; 4] = [
    &["--txn-size", "1"],
    &["--limit", "100", "--txn-size", "50"],
    &["--limit", "100", "--commit-each", "--bulk-delete"],
    &["--txn-size", "0"],
];

fn archives<'w>(source: &'w str, way: &[&'w str]) -> Vec<&'w str> {
    let words =
        ["--source", source, "--purge", "--where", "id > 970", "--no-check-charset", "--no-safe-auto-increment"];
    [&words[..], way].concat()
}

const BEFORE: u64 = 1000;
const KEPT: u64 = 970;

#[test]
fn pt_archiver_waits_at_a_closed_gate() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "archived");
    for way in WAYS {
        let work = Work::behind(&cluster, &dial, "archived", "pt-archiver", &format!("{SHUT}, {PATIENT}"));
        let source = dsn(&work.tollgate, "archived");
        let Some(child) = work.start("pt-archiver", &archives(&source, way)) else { return };
        wait_until("pt-archiver to be held", || work.tollgate.waiting() == 1);
        work.seconds_pass(3);
        assert_eq!((work.tollgate.waiting(), work.rows()), (1, BEFORE), "{way:?}: it waits and has done nothing");
        assert!(was_only_held(work.ends_well(child)), "{way:?}");
        assert_eq!(work.rows(), KEPT, "{way:?}");
    }
}

/// A trickle lets it go on by the step, each after more than a transaction's second.
#[test]
fn pt_archiver_is_slowed_by_a_gate_that_trickles() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "trickled");
    for way in [WAYS[0], WAYS[3]] {
        let work = Work::behind(&cluster, &dial, "trickled", "pt-archiver", &format!("{TRICKLE}, {PATIENT}"));
        let source = dsn(&work.tollgate, "trickled");
        let Some(child) = work.start("pt-archiver", &archives(&source, way)) else { return };
        wait_until("it to be held three times", || work.counted(ETL.user).0 >= 3);
        let rows = work.rows();
        assert!(rows < BEFORE && rows > KEPT, "{way:?}: {rows} rows are left while the gate is closed");
        assert!(was_only_held(work.ends_well(child)), "{way:?}");
        assert_eq!(work.rows(), KEPT, "{way:?}");
    }
}

/// With a lock on what it reads, its first statement is decided as a write and waits with nothing held: no key is needed.
#[test]
fn pt_archiver_for_update_waits_before_it_reads() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "locked");
    let work = Work::behind(&cluster, &dial, "locked", "pt-archiver", SHUT);
    let source = dsn(&work.tollgate, "locked");
    let Some(child) = work.start("pt-archiver", &archives(&source, &["--for-update"])) else { return };
    wait_until("pt-archiver to be held", || work.tollgate.waiting() == 1);
    work.seconds_pass(3);
    assert_eq!((work.tollgate.waiting(), work.rows()), (1, BEFORE));
    assert!(was_only_held(work.ends_well(child)));
    assert_eq!(work.rows(), KEPT);
}

/// The documented price of the default: it dies, and has done nothing by halves.
#[test]
fn pt_archiver_without_patience_is_stopped_and_leaves_nothing_half_done() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "impatient");
    let work = Work::behind(&cluster, &dial, "impatient", "pt-archiver", SHUT);
    let source = dsn(&work.tollgate, "impatient");
    let Some(child) = work.start("pt-archiver", &archives(&source, WAYS[1])) else { return };
    let output = child.wait_with_output().expect("its end");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("reason=gate:dial "), "{said}");
    assert_eq!(work.rows(), BEFORE);
}

/// The gate closes in the middle of its copying, and opens seconds later. What it was held and refused.
fn changes_schema(
    table: &str,
    keys: &str,
    error: &str,
    more: &[&str],
    is_stopped: impl Fn(&Work<'_>) -> bool,
) -> Option<(u64, u64)> {
    let cluster = cluster();
    let dial = Dial::new(&cluster, table);
    let keys = format!("trickle: 0, {keys}");
    let work = Work::before(&cluster, &dial, table, "pt-online-schema-change", &keys, error);
    let source = dsn(&work.tollgate, table);
    let words = ["--alter", "ADD COLUMN b INT", "--execute", "--recursion-method", "none"];
    // So slowly that there is a middle. It reads how many rows there are from EXPLAIN, and not what MySQL 9 prints by default.
    let slowly = ["--chunk-size", "20", "--chunk-time", "0", "--sleep", "0.2"];
    let words = [&words[..], &slowly, &["--set-vars", "explain_format=TRADITIONAL"], more, &[&source]].concat();
    let child = work.start("pt-online-schema-change", &words)?;
    let columns = |table: &str| {
        let of = format!("table_schema = 'test' AND table_name = '{table}'");
        count(&cluster, &format!("SELECT COUNT(*) FROM information_schema.columns WHERE {of}"))
    };
    let copy = format!("_{table}_new");
    let copied = || count(&cluster, &format!("SELECT COUNT(*) FROM test.{copy}"));
    wait_until("it to copy", || columns(&copy) == 3 && copied() > 0);
    work.close();
    wait_until("it to be stopped", || is_stopped(&work));
    let rows = copied();
    work.seconds_pass(3);
    assert!(copied() == rows && rows < BEFORE, "{rows} rows, then {}", copied());
    let counted = work.ends_well(child);
    assert_eq!((columns(table), work.rows()), (3, BEFORE));
    Some(counted)
}

#[test]
fn pt_online_schema_change_waits_at_a_closed_gate() {
    let waits = |work: &Work<'_>| work.tollgate.waiting() == 1;
    let counted = changes_schema("changed", "max_delay: 10m", "throttled", &[], waits);
    assert!(counted.is_none_or(was_only_held));
}

/// What it tries again is an error that MySQL has for a lock.
#[test]
fn pt_online_schema_change_tries_again() {
    let tries = ["--tries", "copy_rows:1000:0.1,swap_tables:1000:0.1,drop_triggers:1000:0.1"];
    let is_refused = |work: &Work<'_>| work.counted(ETL.user).1 >= 3;
    let counted = changes_schema("tried", "max_delay: 200ms", "retryable", &tries, is_refused);
    assert!(counted.is_none_or(|(_, rejected)| rejected >= 3));
}

/// Its DDL passes where the gate is on what copies rows, so that it leaves no triggers behind when it is refused.
#[test]
fn pt_online_schema_change_that_is_refused_cleans_up() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "cleaned");
    let keys = "max_delay: 200ms, trickle: 0";
    let work = Work::before(&cluster, &dial, "cleaned", "pt-online-schema-change", keys, "throttled");
    work.tollgate.rewrite(|yaml| yaml.replace(", unparsed, ddl]", ", unparsed]"));
    work.tollgate.await_generation(2);
    work.close();
    let source = dsn(&work.tollgate, "cleaned");
    let words = ["--alter", "ADD COLUMN b INT", "--execute", "--recursion-method", "none", &source];
    let Some(child) = work.start("pt-online-schema-change", &words) else { return };
    let output = child.wait_with_output().expect("its end");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Error copying rows") && said.contains("reason=gate:dial "), "{said}");
    for left in ["triggers WHERE event_object_table = 'cleaned'", "tables WHERE table_name = '_cleaned_new'"] {
        assert_eq!(count(&cluster, &format!("SELECT COUNT(*) FROM information_schema.{left}")), 0, "{left}: {said}");
    }
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
