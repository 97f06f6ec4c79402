//! A short campaign on each server. The long one is a command: see CONTRIBUTING.md.

use std::io::Write;

use oracle::campaign::{Plan, Report, run, run_proxy, start_server};
use oracle::verdict::Catalogue;
use sandbox::Flavor;

/// The same packets on each run, and others after each change of the grammar.
fn plan(flavor: Flavor, packets: u64) -> Plan {
    let (seed, workers, examples) = (12, 2, 1);
    Plan { flavor, packets, seed, workers, catalogue: Catalogue::Unknown, keep: None, examples, verbose: false }
}

fn check(report: &Report) {
    let Report { coverage, findings, .. } = report;
    println!("{coverage}");
    assert!(coverage.accepted * 100 > coverage.packets * 30, "a grammar of errors proves nothing");
    assert!(coverage.unjudged * 100 < coverage.packets * 3, "too many packets without evidence");
    let lines: Vec<String> = findings
        .iter()
        .map(|finding| {
            let (setup, text) = (&finding.case.setup, finding.case.shown());
            let failure = &finding.failure;
            format!("{:?} [{} {}] {text}\n    {}", failure.kind, setup.charset, setup.sql_mode, failure.detail)
        })
        .collect();
    assert!(findings.is_empty(), "{} milder readings:\n{}", findings.len(), lines.join("\n"));
}

#[test]
fn reading_is_never_milder_than_mysql() {
    let server = start_server(Flavor::Mysql).expect("a server");
    check(&run(&server, plan(Flavor::Mysql, 4000)).expect("a campaign"));
}

#[test]
fn reading_is_never_milder_than_mariadb() {
    let server = start_server(Flavor::Mariadb).expect("a server");
    check(&run(&server, plan(Flavor::Mariadb, 4000)).expect("a campaign"));
}

#[test]
fn nothing_passes_a_certain_rule_before_mysql() {
    check_proxy(Flavor::Mysql);
}

#[test]
fn nothing_passes_a_certain_rule_before_mariadb() {
    check_proxy(Flavor::Mariadb);
}

fn check_proxy(flavor: Flavor) {
    let server = start_server(flavor).expect("a server");
    match run_proxy(&server, &plan(flavor, 3000)).expect("a campaign") {
        Some(report) => check_passed(&report),
        None => skipped(&format!("the proxy before {flavor}")),
    }
}

/// Says that a test is passed over, which is a failure where everything must be tested.
fn skipped(what: &str) {
    const TEST_ALL: &str = "TOLLGATE_TEST_ALL";
    let why = "there is no binary of the proxy beside this test; `cargo test --workspace` builds it";
    let must_run = std::env::var_os(TEST_ALL).is_some_and(|value| !value.is_empty());
    assert!(!must_run, "{what} was not tested: {why}; and {TEST_ALL} is set");
    // Straight to the stream: libtest captures `eprintln!` and shows it only after a failure.
    let _ = std::io::stderr().write_all(format!("NOT TESTED: {what}: {why}\n").as_bytes());
}

/// Refused packets are not accepted, so only the findings count.
fn check_passed(report: &Report) {
    let texts: Vec<String> =
        report.findings.iter().map(|finding| format!("{} {}", finding.failure.detail, finding.case.shown())).collect();
    assert!(texts.is_empty(), "{} packets passed:\n{}", texts.len(), texts.join("\n"));
}
