//! A short campaign on each server. The long one is a command: see CONTRIBUTING.md.

use oracle::campaign::{Plan, Report, run, start_server};
use oracle::case::escape;
use oracle::verdict::Catalogue;
use sandbox::Flavor;

fn campaign(flavor: Flavor) -> Report {
    let server = start_server(flavor).expect("a server");
    // New packets on each change of the grammar, the same ones on each run.
    let plan = Plan {
        flavor,
        packets: 4000,
        seed: 12,
        workers: 2,
        catalogue: Catalogue::Unknown,
        keep: None,
        examples: 1,
        verbose: false,
    };
    run(&server, plan).expect("a campaign")
}

fn check(flavor: Flavor) {
    let report = campaign(flavor);
    let Report { coverage, findings, .. } = &report;
    println!("{coverage}");
    assert!(coverage.accepted * 100 > coverage.packets * 30, "a grammar of errors proves nothing");
    assert!(coverage.unjudged * 100 < coverage.packets * 3, "too many packets without evidence");
    let lines: Vec<String> = findings
        .iter()
        .map(|finding| {
            let setup = &finding.case.setup;
            let text = escape(&finding.case.text);
            format!(
                "{:?} [{} {}] {text}\n    {}",
                finding.failure.kind, setup.charset, setup.sql_mode, finding.failure.detail
            )
        })
        .collect();
    assert!(findings.is_empty(), "{} milder readings:\n{}", findings.len(), lines.join("\n"));
}

#[test]
fn reading_of_generated_packets_is_never_milder_than_mysql() {
    check(Flavor::Mysql);
}

#[test]
fn reading_of_generated_packets_is_never_milder_than_mariadb() {
    check(Flavor::Mariadb);
}
