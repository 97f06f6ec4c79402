//! A short campaign on each server. The long one is a command: see CONTRIBUTING.md.

use oracle::campaign::{Plan, Report, run, run_proxy, start_server};
use oracle::case::escape;
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
            let (setup, text) = (&finding.case.setup, escape(&finding.case.text));
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
fn nothing_passes_a_certain_rule_of_the_proxy() {
    let server = start_server(Flavor::Mysql).expect("a server");
    match run_proxy(&server, &plan(Flavor::Mysql, 3000)).expect("a campaign") {
        Some(report) => check_passed(&report),
        None => eprintln!("NOT TESTED: no binary of the proxy beside this test; `cargo test --workspace` builds it"),
    }
}

/// Refused packets are not accepted, so only the findings count.
fn check_passed(report: &Report) {
    let texts: Vec<String> = report
        .findings
        .iter()
        .map(|finding| format!("{} {}", finding.failure.detail, escape(&finding.case.text)))
        .collect();
    assert!(texts.is_empty(), "{} packets passed:\n{}", texts.len(), texts.join("\n"));
}
