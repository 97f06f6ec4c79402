use clap::Parser;
use rules::Timestamp;
use serde_json::{Value as Json, json};

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    add: Add,
}

fn rule(line: &[&str]) -> Json {
    let add = Line::try_parse_from([&["add"], line].concat()).unwrap_or_else(|error| panic!("{error}")).add;
    let from = add.from.as_deref().map(|from| read(from).unwrap()).unwrap_or_default();
    add.json(from, "me@here")
}

#[test]
fn a_command_line_is_a_rule() {
    let now = Timestamp::parse("2029-12-31T00:00:00Z").unwrap();
    let file = "upstream: { address: 127.0.0.1, replicas: discover }\nprobe: { user: a, password: b }\n\
                gates: { lag: { metric: replication_lag, threshold: 5s }, threads_running: { threshold: 60 } }";
    let gates = config::Plan::from_text(file, std::path::Path::new("proxy.yaml")).unwrap().policy.gates;
    for (line, expected) in [
        (
            &["--scope", "etl", "--ratio", "0.9"][..],
            json!({ "match": { "scope": "etl" }, "do": { "rejection_ratio": 0.9 } }),
        ),
        (
            &[
                "--scope",
                "etl",
                "--scope",
                "gh-ost",
                "--class",
                "write,ddl",
                "--hold",
                "--for",
                "2h",
                "--reason",
                "why",
            ],
            json!({ "match": { "scope": ["etl", "gh-ost"], "class": ["write", "ddl"] }, "do": { "hold": true },
                    "for": "2h", "reason": "why" }),
        ),
        (
            &[
                "--tag",
                "team=data",
                "--tag",
                "team=ml",
                "--tag",
                "app=x=y",
                "--attr",
                "program_name=loader",
                "--query-attr",
                "k=",
                "--exempt",
            ],
            json!({ "match": { "tag.team": ["data", "ml"], "tag.app": "x=y", "attr.program_name": "loader",
                    "query_attr.k": "" }, "do": { "exempt": true } }),
        ),
        (
            &[
                "--user",
                "a",
                "--not",
                "address=10.2.0.0/16,10.3.0.0/16",
                "--not",
                "class=read",
                "--not",
                "tag.a=b,c",
                "--max-concurrency",
                "4",
            ],
            json!({ "match": { "user": "a", "not": { "address": ["10.2.0.0/16", "10.3.0.0/16"], "class": "read",
                    "tag.a": "b,c" } }, "do": { "max_concurrency": 4 } }),
        ),
        (
            &["--user", "a", "--threshold", "lag=2s", "--threshold", "threads_running=40", "--weight", "0.5"],
            json!({ "match": { "user": "a" }, "do": { "thresholds": { "lag": "2s", "threads_running": 40.0 },
                    "weight": 0.5 } }),
        ),
        (
            &["--user", "a", "--skip-gate", "lag", "--skip-gate", "threads_running"],
            json!({ "match": { "user": "a" }, "do": { "skip_gates": ["lag", "threads_running"] } }),
        ),
        (
            &["--user", "a", "--max-connections", "0"],
            json!({ "match": { "user": "a" }, "do": { "max_connections": 0 } }),
        ),
        (
            &[
                "--address",
                "10.0.0.1",
                "--schema",
                "shop",
                "--listener",
                "l",
                "--table",
                "t",
                "--shape",
                "no_where",
                "--tool",
                "gh-ost",
                "--fingerprint",
                "SELECT a, b FROM t",
                "--ratio",
                "1",
                "--action",
                "reject",
                "--max-delay",
                "0s",
                "--mode",
                "warn",
                "--priority",
                "-5",
                "--override",
                "--in-transaction",
                "delay",
                "--expires",
                "2030-01-01T00:00:00Z",
                "--id",
                "x",
                "--incident",
                "INC-42",
            ],
            json!({ "match": { "address": "10.0.0.1", "schema": "shop", "listener": "l", "table": "t", "shape": "no_where",
                    "tool": "gh-ost", "fingerprint": "SELECT a, b FROM t" }, "do": { "rejection_ratio": 1.0 },
                    "action": "reject", "max_delay": "0s", "mode": "warn", "priority": -5, "override": true,
                    "in_transaction": "delay", "expires": "2030-01-01T00:00:00Z", "id": "x", "incident": "INC-42" }),
        ),
        (
            &[
                "--from",
                r#" {"match":{"user":"a"},"do":{"hold":true},"active":{"days":"mon"}}"#,
                "--user",
                "b",
                "--id",
                "y",
            ],
            json!({ "match": { "user": "b" }, "do": { "hold": true }, "active": { "days": "mon" }, "id": "y" }),
        ),
    ] {
        let mut expected = expected;
        expected["created_by"] = json!("me@here");
        assert_eq!(rule(line), expected, "{line:?}");
        // Whatever a command line can say is a rule that the proxy takes.
        config::rule::from_json(&rule(line), &gates, now).unwrap_or_else(|wrong| panic!("{line:?}: {wrong:?}"));
    }
    assert_eq!(rule(&["--created-by", "bot", "--hold"])["created_by"], "bot");
}

#[test]
fn what_is_no_command_line() {
    for (line, part) in [
        (&["--tag", "team"][..], "write it as key=value"),
        (&["--not", "=x"], "write it as key=value"),
        (&["--exempt", "--hold"], "cannot be used with"),
        (&["--ratio", "0.5", "--exempt"], "cannot be used with"),
        (&["--for", "1h", "--expires", "2030-01-01T00:00:00Z"], "cannot be used with"),
        (&["--ratio", "most"], "invalid float"),
        (&["--threshold", "lag"], "write it as key=value"),
        (&["--weight", "much"], "invalid float"),
        (&["--http", "127.0.0.1:1", "--config", "x"], "cannot be used with"),
    ] {
        let error = Line::try_parse_from([&["add"], line].concat()).unwrap_err().to_string();
        assert!(error.contains(part), "{line:?}: {error}");
    }
    for (from, part) in [("{", "not JSON"), ("/nowhere/x.json", "cannot read the rule from /nowhere/x.json")] {
        assert!(read(from).unwrap_err().to_string().contains(part), "{from}");
    }
}
