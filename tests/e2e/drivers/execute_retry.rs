//! A refused COM_STMT_EXECUTE leaves the statement whole, as real client libraries see it: they send parameter types
//! once, whatever the answer, and long data again.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use admission::port::{Ask, Permit, Refusal, Verdict};
use relay::counters::Counter;
use sandbox::Flavor;
use serde_json::json;
use wire::Command;

use super::{Ran, Tls, judge, run_program, server};
use crate::harness::{Decides, InProcess, Tollgate, upstream};

/// Refuses the first EXECUTE of each connection.
#[derive(Debug, Default)]
struct RefuseFirst {
    refused: Mutex<HashSet<u32>>,
}

impl Decides for RefuseFirst {
    fn ask(&self, ask: &Ask<'_>) -> Verdict {
        let first =
            ask.command == Command::StmtExecute && self.refused.lock().expect("the set").insert(ask.client.connection);
        if first {
            Verdict::Refuse(Refusal {
                code: 1226,
                sqlstate: *b"HY000",
                message: "[tollgate] rule=test reason=ratio client=test retry_after_ms=1".to_owned(),
            })
        } else {
            Verdict::Pass(Permit::without_reply())
        }
    }
}

fn refused_and_retried(name: &str, required: &[&str]) {
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        let proxy = InProcess::start(&upstream(server(flavor)), Arc::new(RefuseFirst::default()));
        let mut command = run_program(&format!("execute_retry/{name}"), proxy.address, flavor, Tls::Off);
        command.env("TG_EXPECT_REFUSAL", "1").env("TG_TABLE", format!("retry_{name}"));
        let output = command.output().expect("the program");
        if judge(name, &output, required) == Ran::Missing {
            return;
        }
        assert!(proxy.counter(Counter::Refused) > 0, "{name}: nothing was refused");
    }
}

#[test]
fn libmysqlclient_retries() {
    refused_and_retried("libmysqlclient", &["plain", "long_data"]);
}

#[test]
fn libmariadb_retries() {
    refused_and_retried("libmariadb", &["plain", "long_data"]);
}

#[test]
fn node_mysql2_retries() {
    refused_and_retried("node_mysql2", &["plain"]);
}

#[test]
fn php_mysqli_retries() {
    refused_and_retried("php_mysqli", &["plain", "long_data"]);
}

/// The built binary refuses, by a rule a step, which is ended before the program tries again.
fn refused_by_a_rule_and_retried(name: &str, required: &[&str]) {
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        let tollgate = Tollgate::start(&upstream(server(flavor)));
        let table = format!("rule_{name}");
        for step in required {
            let concerned = json!({ "class": "write", "table": format!("test.{table}_{step}") });
            tollgate.add_rule(&json!({ "id": step, "match": concerned, "do": { "rejection_ratio": 1 },
                                       "action": "reject", "reason": "test" }));
        }
        let mut command = run_program(&format!("execute_retry/{name}"), tollgate.address, flavor, Tls::Off);
        command.env("TG_EXPECT_REFUSAL", "1").env("TG_WAIT", "1").env("TG_TABLE", &table);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut program = command.spawn().expect("the program");
        let mut stdin = program.stdin.take().expect("its input");
        let mut said = String::new();
        for line in BufReader::new(program.stdout.take().expect("its output")).lines().map_while(Result::ok) {
            if let Some(step) = line.strip_prefix("refused ") {
                tollgate.end_rule(step);
                stdin.write_all(b"\n").expect("it waits");
            }
            said.push_str(&line);
            said.push('\n');
        }
        let mut output = program.wait_with_output().expect("its end");
        output.stdout = said.into_bytes();
        if judge(name, &output, required) == Ran::Missing {
            return;
        }
        assert_eq!(tollgate.counter("commands_refused"), required.len() as u64, "{name}: one refusal a step");
    }
}

#[test]
fn libmysqlclient_retries_when_a_rule_has_ended() {
    refused_by_a_rule_and_retried("libmysqlclient", &["plain", "long_data"]);
}

#[test]
fn libmariadb_retries_when_a_rule_has_ended() {
    refused_by_a_rule_and_retried("libmariadb", &["plain", "long_data"]);
}

#[test]
fn node_mysql2_retries_when_a_rule_has_ended() {
    refused_by_a_rule_and_retried("node_mysql2", &["plain"]);
}

#[test]
fn php_mysqli_retries_when_a_rule_has_ended() {
    refused_by_a_rule_and_retried("php_mysqli", &["plain", "long_data"]);
}
