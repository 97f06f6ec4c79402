//! The program as a person meets it: what it prints where, and its exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sandbox::APP;
use serde_json::{Value as Json, json};

use crate::harness::{Raw, Tollgate};

/// What the built binary did.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn tollgate(folder: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate")).args(arguments).current_dir(folder).output();
    let output = output.expect("the built binary");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Outcome { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn starter() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proxy.yaml")
}

const GOOD: &str = "\
listen: [127.0.0.1:0, ./tollgate.sock]
upstream: { address: 127.0.0.1 }
limits: { connections: 100 }
workers: 3
probe: { user: tollgate, password: \"env:PATH\" }
admin: { http: off }
";

const GOOD_TOLD: &str = "\
proxy.yaml: OK
  2 listeners on 127.0.0.1:0, ./tollgate.sock
  upstream 127.0.0.1:3306, no replicas
  at most 100 connections
  3 worker threads
  admin HTTP off
  no rules, no playbooks
  no warnings
";

/// Three errors, all told at once: a key, a number and a type.
const BAD: &str = "\
upstream:
  address: 127.0.0.1:3306
  dial-timeout: 5s
limits: { connections: 0, per_user: many }
";

const BAD_TOLD: &str = "\
proxy.yaml:3:3: upstream.dial-timeout: there is no such key
    3 |   dial-timeout: 5s
      |   ^
      = did you mean `dial_timeout`?

proxy.yaml:4:24: limits.connections: 0 shuts everyone out
    4 | limits: { connections: 0, per_user: many }
      |                        ^
      = write a whole number from 1 to 1000000

proxy.yaml:4:37: limits.per_user: a text does not belong here
    4 | limits: { connections: 0, per_user: many }
      |                                     ^
      = write a whole number from 0 to 1000000, without quotes
";

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("proxy.yaml"), text).expect("proxy.yaml");
    folder
}

#[test]
fn check_says_what_a_good_file_means() {
    let folder = folder_with(GOOD);
    let told = Outcome { code: Some(0), stdout: GOOD_TOLD.to_owned(), stderr: String::new() };
    assert_eq!(tollgate(folder.path(), &["check", "proxy.yaml"]), told);
    assert_eq!(tollgate(folder.path(), &["check"]), told, "the file in the working folder");
}

/// One rule that can match nothing, one that a client escapes by staying silent, and one that is as it should be.
const DOUBTFUL_RULES: &str = "\
rules:
  - { id: nobody, match: { scope: \"*.etl.*\" }, do: { hold: true }, permanent: true }
  - { id: batch, match: { tag.kind: batch }, do: { rejection_ratio: 0.9 }, permanent: true }
  - { id: etl, match: { user: etl }, do: { rejection_ratio: 0.9 }, permanent: true }
";

const DOUBTFUL_TOLD: &str = "\
proxy.yaml: OK
  2 listeners on 127.0.0.1:0, ./tollgate.sock
  upstream 127.0.0.1:3306, no replicas
  at most 100 connections
  3 worker threads
  admin HTTP off
  3 rules, no playbooks
  2 warnings

warning: proxy.yaml:8:35: rules[0].match.scope: scope `*.etl.*` can match nothing: parts are separated by `:`, none is empty, and `*` is a whole part or the end of one
    8 |   - { id: nobody, match: { scope: \"*.etl.*\" }, do: { hold: true }, permanent: true }
      |                                   ^
      = write `*:etl:*`

warning: proxy.yaml:9:27: rules[1].match.tag.kind: a client escapes it by not saying tag.kind: match on user or address as well
    9 |   - { id: batch, match: { tag.kind: batch }, do: { rejection_ratio: 0.9 }, permanent: true }
      |                           ^
      = match on `user` or `address` instead, or write a rule for those who say nothing
";

/// It is in order all the same.
#[test]
fn check_warns_of_rules_that_do_not_do_what_was_meant() {
    let folder = folder_with(&format!("{GOOD}{DOUBTFUL_RULES}"));
    let told = Outcome { code: Some(0), stdout: DOUBTFUL_TOLD.to_owned(), stderr: String::new() };
    assert_eq!(tollgate(folder.path(), &["check"]), told);
}

const EXACT_CLASS_TOLD: &str = "a client escapes `class: { exactly: … }` by a routine or by dynamic SQL: without `exactly`, what may be of the class matches too";

/// Only where the rule restricts: a favouring rule matches nothing but what certainly is of the class, with `exactly` or not.
#[test]
fn check_warns_of_exact_class_in_restricting_rules() {
    for (rule, warns) in [
        ("match: { class: { exactly: [write] } }, do: { rejection_ratio: 1 }", true),
        ("match: { user: app, class: { exactly: [write, ddl] } }, do: { hold: true }", true),
        ("match: { class: { exactly: [write] } }, do: { max_concurrency: 2 }", true),
        ("match: { class: { exactly: [write, unparsed] } }, do: { hold: true }", false),
        ("match: { user: app, class: { exactly: [write] } }, do: { exempt: true }", false),
        ("match: { class: [write] }, do: { hold: true }", false),
    ] {
        let folder = folder_with(&format!("{GOOD}rules:\n  - {{ id: exact, {rule}, permanent: true }}\n"));
        let outcome = tollgate(folder.path(), &["check"]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
        assert_eq!(outcome.stdout.contains(EXACT_CLASS_TOLD), warns, "{rule}: {}", outcome.stdout);
        let has_place =
            outcome.stdout.contains("warning: proxy.yaml:8:") && outcome.stdout.contains("rules[0].match.class: ");
        assert_eq!(has_place, warns, "{rule}: {}", outcome.stdout);
    }
}

/// By an attribute, a tag, a tool and the name that they give.
#[test]
fn check_warns_of_strict_rules_on_claims() {
    for (key, value) in
        [("attr.program_name", "loader"), ("tag.kind", "batch"), ("query_attr.kind", "batch"), ("tool", "pt-archiver")]
    {
        let rule = format!("match: {{ {key}: {value} }}, do: {{ rejection_ratio: 1 }}");
        let folder = folder_with(&format!("{GOOD}rules:\n  - {{ id: claimed, {rule}, permanent: true }}\n"));
        let outcome = tollgate(folder.path(), &["check"]);
        let told =
            format!("rules[0].match.{key}: a client escapes it by not saying {key}: match on user or address as well");
        assert!(outcome.code == Some(0) && outcome.stdout.contains(&told), "no {told:?} in {}", outcome.stdout);
    }
}

#[test]
fn check_connect_says_that_there_is_no_probe() {
    let without = GOOD.lines().filter(|line| !line.starts_with("probe:")).map(|line| format!("{line}\n"));
    let folder = folder_with(&without.collect::<String>());
    let outcome = tollgate(folder.path(), &["check", "--connect"]);
    let told = "warning: there is no `probe`: rules on tables do not see through views, routines and triggers";
    assert!(outcome.code == Some(0) && outcome.stdout.contains(told), "{outcome:?}");
}

#[test]
fn explain_takes_a_certificate_for_a_fact() {
    const CERTIFIED: &str = "\
identity: { name: [certificate, user] }
rules:
  - { id: batch-stops, match: { scope: batch }, do: { rejection_ratio: 1 }, action: reject, permanent: true }
";
    let folder = folder_with(&format!("{GOOD}{CERTIFIED}"));
    let explain = |certificate: &[&str], output: &[&str]| {
        let who = ["explain", "--config", "proxy.yaml", "--user", "app", "SELECT * FROM t"];
        let outcome = tollgate(folder.path(), &[&who, certificate, output].concat());
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
        outcome.stdout
    };
    for (certificate, name, rule) in [
        (&["--certificate", "O=Example, CN=batch"][..], "batch:app", json!("batch-stops")),
        (&["--certificate", "O=batch, CN=web"], "web:app", Json::Null),
        (&[], "app", Json::Null),
    ] {
        let told: Json = serde_json::from_str(&explain(certificate, &["--json"])).expect("JSON");
        let identity = &told["identity"];
        assert_eq!((&identity["name"], &told["verdict"]["rule"]), (&json!(name), &rule), "{told:#}");
        assert_eq!(identity["certificate"], json!(certificate.last()), "{told:#}");
        // Nothing of it is a claim, which would be judged once more without it.
        assert_eq!(told["trusted"], Json::Null, "{told:#}");
        let shown = explain(certificate, &[]);
        assert_eq!(shown.contains("certificate="), !certificate.is_empty(), "{shown}");
    }
}

/// The line and column are those of the level that is too many, however much follows and whatever stands before. The words
/// "in brackets" are those of the guard: the YAML reader, which takes quadratic time, has others.
#[test]
fn check_refuses_deep_nesting_with_its_place() {
    let told = "lists and maps in brackets are nested deeper than 128 levels";
    for levels in [200, 97 * 1024 / 4, 200_000] {
        let folder = folder_with(&format!("listen: 127.0.0.1:1\nrules:\n  {}", "{a:\n".repeat(levels)));
        let outcome = tollgate(folder.path(), &["check"]);
        let told = format!("proxy.yaml:130:1: {told}\n  130 | {{a:\n");
        assert!(outcome.code == Some(1) && outcome.stderr.starts_with(&told), "{levels}: {outcome:?}");
    }
    let brackets = "[".repeat(129);
    for harmless in [
        format!("playbooks: |\n  {brackets}\n"),
        format!("playbooks: '{brackets}'\n"),
        format!("playbooks: 1 # {brackets}\n"),
    ] {
        let lines = harmless.lines().count();
        let folder = folder_with(&format!("{harmless}rules: {}", "[".repeat(97 * 1024)));
        let outcome = tollgate(folder.path(), &["check"]);
        let told = format!("proxy.yaml:{}:135: {told}\n", lines + 1);
        assert!(outcome.code == Some(1) && outcome.stderr.starts_with(&told), "{harmless}: {}", outcome.stderr);
    }
}

/// `run` refuses what `check` refuses, in the same words, and listens nowhere.
#[test]
fn check_and_run_say_what_is_wrong_with_a_bad_file() {
    let folder = folder_with(BAD);
    let told = Outcome { code: Some(1), stdout: String::new(), stderr: BAD_TOLD.to_owned() };
    for arguments in [&["check", "proxy.yaml"][..], &["check"], &["run", "--config", "proxy.yaml"], &["run"]] {
        assert_eq!(tollgate(folder.path(), arguments), told, "{arguments:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_said_so() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [&["check", "none.yaml"][..], &["run", "--config", "none.yaml"]] {
        let outcome = tollgate(folder.path(), arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(outcome.stderr.contains("cannot read none.yaml: No such file"), "{}", outcome.stderr);
    }
}

/// What only shows when it starts.
#[test]
fn run_says_why_it_cannot_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    let others = "upstream: { address: 127.0.0.1:3306 }\n";
    for (text, key) in [
        (format!("{others}listen: {address}\nadmin: {{ http: off }}\n"), "listen"),
        (format!("{others}listen: 127.0.0.1:0\nadmin: {{ http: \"{address}\" }}\n"), "admin.http"),
    ] {
        let folder = folder_with(&text);
        let outcome = tollgate(folder.path(), &["run"]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        let last = outcome.stderr.lines().last().unwrap_or_default();
        assert!(last.contains(key) && last.contains(&address.to_string()), "{last}");
    }
}

#[test]
fn the_starter_file_is_in_order_and_runs() {
    let path = starter();
    let outcome = tollgate(Path::new("/"), &["check", &path.display().to_string()]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
    let lines: Vec<_> = outcome.stdout.lines().collect();
    assert!(lines.first().is_some_and(|line| line.ends_with("proxy.yaml: OK")), "{}", outcome.stdout);
    for line in ["  1 listener on 127.0.0.1:6033", "  upstream 127.0.0.1:3306, no replicas"] {
        assert!(lines.contains(&line), "{}", outcome.stdout);
    }

    // As it is, but for the ports, which other tests' servers and proxies need too.
    let primary = &sandbox::mysql_shared().expect("a MySQL").primary;
    let text = fs::read_to_string(path).expect("the starter");
    let text = text
        .replace("\nlisten: 127.0.0.1:6033\n", "\nlisten: 127.0.0.1:0\n")
        .replace("address: 127.0.0.1:3306 ", &format!("address: {} ", primary.address()));
    let tollgate = Tollgate::start(&text);
    assert_eq!(Raw::login(tollgate.address, APP).value("SELECT 40 + 2").as_deref(), Some("42"));
}
