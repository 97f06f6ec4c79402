//! Doubts can be seen: `/metrics` counts them by reason, and `explain` says why.

use std::process::Command;

use sandbox::APP;

use super::servers;
use crate::harness::{Raw, Tollgate, upstream};
use crate::rules::run;

const RULES: &str = "\
limits: { inspect: 4KiB }
rules:
  - { id: stop, match: { table: nobody_has_it }, mode: warn, do: { rejection_ratio: 1 }, action: reject, permanent: true }
";

/// The reason, a statement in doubt for it, and words of `explain`.
const DOUBTS: [(&str, &str, &str); 5] = [
    (
        "readings",
        "SET sql_mode = NO_BACKSLASH_ESCAPES; SELECT 'a\\'; SELECT id FROM test.t; -- '",
        "can be read in more than one way",
    ),
    ("functions", "SELECT nobody_has_it(1)", "may call a function that is not the server's own"),
    ("routine", "CALL nobody_has_it()", "calls a routine, whose statements are not in the text"),
    ("unseen", "SELEC 1", "is not seen or not understood"),
    ("tables", "LOCK TABLES test.t READ", "tables that it touches are not known for certain"),
];

fn explained(tollgate: &Tollgate, sql: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["explain", "--config"])
        .arg(tollgate.config())
        .args(["--user", "app", sql])
        .output()
        .expect("the binary");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn doubts_are_counted_and_explained() {
    let tollgate = Tollgate::start(&format!("{}{RULES}", upstream(servers()[0])));
    let counted = |reason: &str| tollgate.counter_of("statement_doubts", &format!("reason=\"{reason}\""));
    for (reason, sql, because) in DOUBTS {
        let before = (counted(reason), tollgate.counter("statements_doubtful"));
        run(&mut Raw::login(tollgate.address, APP), sql);
        let now = (counted(reason), tollgate.counter("statements_doubtful"));
        assert_eq!(now, (before.0 + 1, before.1 + 1), "{reason}: {sql}");
        let said = explained(&tollgate, sql);
        assert!(said.lines().any(|line| line.contains("in doubt") && line.contains(because)), "{sql}: {said}");
    }
    let before = counted("cut");
    run(&mut Raw::login(tollgate.address, APP), &format!("SELECT 1 /* {} */", "x".repeat(5000)));
    assert_eq!(counted("cut"), before + 1);
    let said = explained(&tollgate, &format!("SELECT 1 /* {} */", "x".repeat(5000)));
    assert!(said.contains("in doubt") && said.contains("limits.inspect"), "{said}");

    run(&mut Raw::login(tollgate.address, APP), "SELECT 1 FROM DUAL WHERE 1");
    let total: u64 = DOUBTS.iter().map(|(reason, ..)| counted(reason)).sum();
    run(&mut Raw::login(tollgate.address, APP), "SELECT id FROM test.t WHERE id = 1");
    assert_eq!(DOUBTS.iter().map(|(reason, ..)| counted(reason)).sum::<u64>(), total, "nothing is in doubt here");
    let said = explained(&tollgate, "LOCK TABLES test.t READ");
    assert!(said.contains("tables       not known, but among ") && said.contains("test.t"), "{said}");
    let said = explained(&tollgate, "SELECT id FROM test.t WHERE id = 1");
    assert!(said.contains("tables       test.t") && !said.contains("in doubt"), "{said}");
}
