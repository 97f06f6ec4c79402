//! False positives: what tools, frameworks and drivers send, under restricting rules that do not concern it. None of it may be
//! refused or held. The share of statements in doubt is printed, since restricting rules match what may be.

use std::collections::BTreeMap;
use std::io::Write;

use sandbox::{APP, ETL, Flavor};

use super::{Ran, Tls, judge, run_program, server, steps};
use crate::harness::{Raw, Tollgate, upstream, wait_until};
use crate::rules::run;

/// Every restriction names a table, schema, statement or user that no program uses. The catalogue is visible to the probe, so
/// that `unknown_tables` and views have their full effect.
const RULES: &str = "\
probe: { user: app, password: app-pw }
rules:
  - { id: table, match: { table: secret_ledger }, do: { rejection_ratio: 1 }, action: reject, permanent: true }
  - { id: shape, match: { table: secret_ledger, shape: no_where }, do: { rejection_ratio: 1 }, action: reject, priority: 1, permanent: true }
  - { id: schema, match: { schema: vault }, do: { rejection_ratio: 1 }, action: reject, permanent: true }
  - { id: fingerprint, match: { fingerprint: \"SELECT secret FROM secret_ledger WHERE id = 1\" }, do: { rejection_ratio: 1 }, action: reject, permanent: true }
  - { id: ddl, match: { user: etl, class: ddl }, do: { rejection_ratio: 1 }, action: reject, permanent: true }
  - { id: unknown, match: { user: etl, table: secret_ledger }, unknown_tables: match, do: { rejection_ratio: 1 }, action: reject, permanent: true }
  - { id: concurrency, match: { user: etl }, do: { max_concurrency: 1 }, permanent: true }
";

/// Below `limits.inspect`, in the programs that make a large row in the text of a statement.
const LARGE_BYTES: &str = "393216";

struct Corpus {
    program: &'static str,
    /// For names of tables: not the program's own, which other tests use at the same time.
    name: String,
    required: Vec<&'static str>,
    /// Statements that are refused wrongly, as known: the rules are a dry run then. More is a failure.
    known_refusals: u64,
}

fn passes_untouched(corpus: &Corpus, flavor: Flavor) -> Ran {
    let mode = if corpus.known_refusals > 0 { "defaults: { mode: warn }\n" } else { "" };
    let tollgate = Tollgate::start(&format!("{}{mode}{RULES}", upstream(server(flavor))));
    wait_until("the catalogue", || tollgate.log().contains("read the server's catalogue"));
    let mut command = run_program(corpus.program, tollgate.address, flavor, Tls::Off);
    command.env("TG_TABLE", format!("c_{}", corpus.name)).env("TG_LARGE_BYTES", LARGE_BYTES);
    let output = command.output().expect("the program");
    let untouched = untouched(&tollgate);
    report(&corpus.name, flavor, &tollgate);
    // First, since it says which rule it was.
    assert!(untouched.is_empty(), "{} before {flavor:?}: {untouched:?}\n{}", corpus.name, said(&output));
    if judge(&corpus.name, &output, &corpus.required) == Ran::Missing {
        return Ran::Missing;
    }
    assert!(corpus.required.is_empty() || tollgate.counter("statements_passed") > 0, "{} went around it", corpus.name);
    let warned = tollgate.counter("statements_warned");
    assert!(warned <= corpus.known_refusals, "{}: {warned} would be refused", corpus.name);
    if corpus.known_refusals == 0 {
        assert_in_force(&tollgate);
    }
    Ran::Done
}

fn said(output: &std::process::Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What rules and gates did, by `/metrics`: nothing is expected.
fn untouched(tollgate: &Tollgate) -> Vec<String> {
    let (_, metrics) = tollgate.get("/metrics");
    let is_effect = |line: &&str| {
        let counted = ["tollgate_statements_held_total", "tollgate_statements_rejected_total"];
        let decided = line.starts_with("tollgate_decisions_total{") && !line.contains("effect=\"warned\"");
        decided || counted.into_iter().any(|name| line.starts_with(name))
    };
    metrics.lines().filter(is_effect).filter(|line| !line.ends_with(" 0")).map(str::to_owned).collect()
}

/// Prints the share of statements in doubt, whether the test passes or not.
fn report(name: &str, flavor: Flavor, tollgate: &Tollgate) {
    let seen = tollgate.counter("statements_seen");
    let doubts = doubts(tollgate);
    let shares: Vec<_> = doubts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(reason, count)| format!("{reason} {count} ({:.2} %)", 100.0 * *count as f64 / seen.max(1) as f64))
        .collect();
    let shares = if shares.is_empty() { "none".to_owned() } else { shares.join(", ") };
    // Straight to the stream: libtest captures `eprintln!` and shows it only after a failure.
    let line = format!(
        "CORPUS {name} before {flavor:?}: {seen} statements, in doubt: {shares}; a dry run would refuse {} ({})\n",
        tollgate.counter("statements_warned"),
        warnings(tollgate).join(", ")
    );
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// What rules in a dry run would have done, by rule.
fn warnings(tollgate: &Tollgate) -> Vec<String> {
    let (_, metrics) = tollgate.get("/metrics");
    let rows = metrics.lines().filter_map(|line| line.strip_prefix("tollgate_decisions_total{rule=\""));
    rows.filter(|row| row.contains("effect=\"warned\"")).map(|row| row.replace('"', "")).collect()
}

fn doubts(tollgate: &Tollgate) -> BTreeMap<String, u64> {
    let (_, metrics) = tollgate.get("/metrics");
    let rows = metrics.lines().filter_map(|line| line.strip_prefix("tollgate_statement_doubts_total{reason=\""));
    rows.map(|row| {
        let (reason, count) = row.split_once("\"} ").expect("a reason and a count");
        (reason.to_owned(), count.parse().expect("a number"))
    })
    .collect()
}

/// The rules do concern what they name, and what nobody can read: else their silence would prove nothing.
fn assert_in_force(tollgate: &Tollgate) {
    for sql in [
        "SELECT secret FROM secret_ledger WHERE id = 7",
        "DELETE FROM secret_ledger",
        "LOCK TABLES secret_ledger READ",
        "SELEC 1",
    ] {
        let answer = run(&mut Raw::login(tollgate.address, APP), sql);
        assert!(answer.is_refused(), "{sql}: {answer:?}");
    }
    let answer = run(&mut Raw::login(tollgate.address, ETL), "CREATE TABLE test.secret_ledger (id INT)");
    assert!(answer.is_refused(), "{answer:?}");
}

fn before_both(corpus: &Corpus) {
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        if passes_untouched(corpus, flavor) == Ran::Missing {
            return;
        }
    }
}

fn corpus(program: &'static str, known_refusals: u64, required: &[&'static str]) {
    let name = program.rsplit('/').next().expect("a name").to_owned();
    before_both(&Corpus { program, name, required: required.to_vec(), known_refusals });
}

/// A driver's own program, with its large row below `limits.inspect`. Before MySQL only, for the time that it takes.
fn driver(program: &'static str) {
    let required = steps::required(program, Flavor::Mysql, Tls::Off);
    passes_untouched(&Corpus { program, name: program.to_owned(), required, known_refusals: 0 }, Flavor::Mysql);
}

#[test]
fn sysbench_is_not_refused() {
    corpus("corpora/sysbench", 0, &["connect", "prepared", "text", "many_rows", "quit"]);
}

#[test]
fn sqlalchemy_is_not_refused() {
    corpus(
        "corpora/sqlalchemy",
        0,
        &[
            "text_pymysql",
            "many_rows_pymysql",
            "transaction_pymysql",
            "raw_pymysql",
            "quit_pymysql",
            "raw_mysqldb",
            "quit_mysqldb",
        ],
    );
}

#[test]
fn django_is_not_refused() {
    corpus(
        "corpora/django",
        0,
        &["connect", "migrations", "text", "many_rows", "aggregates", "transaction", "raw", "users", "quit"],
    );
}

#[test]
fn mysqldump_in_gbk_is_refused_where_its_character_set_is_not_known() {
    // A dump sets the character set back to a value that it has saved in a variable, which the proxy does not follow.
    corpus("corpora/mysqldump_gbk", 6, &["connect", "text_utf8mb4", "text_gbk", "quit"]);
}

macro_rules! drivers_are_not_refused {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                driver(stringify!($name));
            }
        )*

        pub(super) const DRIVERS: &[&str] = &[$(stringify!($name),)*];
    };
}

drivers_are_not_refused! {
    mysql mysqldump mysqlbinlog mysqlslap
    c_libmariadb c_libmysqlclient connector_python connector_python_c go java_mariadb mysqlclient node_mysql2 perl_dbd_mariadb
    perl_dbd_mysql php_mysqli php_pdo pymysql ruby_mysql2
}
