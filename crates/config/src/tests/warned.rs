//! Files that are in order, and what is said about them all the same.

use super::load_text;

/// A file that nothing is said about, but for the lines given.
#[track_caller]
fn check(lines: &str, expected: &[(&str, &str)]) {
    let mut text = lines.to_owned();
    for (key, line) in [
        ("upstream:", "upstream: { address: 127.0.0.1 }\n"),
        ("probe:", "probe: { user: a, password: 'env:PASSWORD' }\n"),
    ] {
        if !lines.contains(key) {
            text.push_str(line);
        }
    }
    let (_, warnings) = load_text(&text).unwrap();
    let found: Vec<(&str, &str)> =
        warnings.iter().map(|warning| (warning.key.as_str(), warning.what.as_str())).collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((key, what), (expected_key, words)) in found.iter().zip(expected) {
        assert_eq!(key, expected_key);
        assert!(what.contains(words), "{what}");
    }
    assert!(warnings.iter().all(|warning| !warning.remedy.is_empty() && warning.line > 0));
}

#[test]
fn warnings() {
    check("", &[]);
    check("probe:\n", &[("probe", "without a probe user")]);
    check("upstream: { address: /run/mysqld.sock }\n", &[]);
    check("upstream: { address: localhost }\n", &[]);
    check("upstream: { address: 10.0.0.5 }\n", &[("upstream.tls", "plain text")]);
    check("upstream: { address: db, tls: disabled }\n", &[("upstream.tls", "not encrypted")]);
    check("upstream: { address: db, tls: required }\n", &[("upstream.tls", "nobody verifies")]);
    check("upstream: { address: db, tls: verify_ca, ca: Cargo.toml }\n", &[]);
    check("upstream: { address: 127.0.0.1, replicas: [r] }\n", &[]);
    check(
        "upstream: { address: 127.0.0.1, replicas: [r] }\nprobe:\n",
        &[("upstream.replicas", "nobody measures"), ("probe", "without a probe user")],
    );
    check("listen: 0.0.0.0:6033\n", &[]);
    check("listen: { address: 0.0.0.0:6033, tls: disabled }\n", &[("listen", "without TLS")]);
    check("listen: { address: 127.0.0.1:6033, tls: disabled }\n", &[]);
    check("listen: { address: 0.0.0.0:6033, proxy_protocol_from: [0.0.0.0/0] }\n", &[("listen", "everyone")]);
    check(
        "listen: { address: 127.0.0.1:1, tls: disabled }\ntls: { client_ca: Cargo.toml }\n",
        &[("tls", "no listener")],
    );
    check("limits: { connections: 10, per_user: 11 }\n", &[("limits.per_user", "never reached")]);
    let more = "limits: { unauthenticated: 10, unauthenticated_per_address: 11 }\n";
    check(more, &[("limits.unauthenticated_per_address", "never reached")]);
    check("limits: { connections: 10, unauthenticated: 11 }\n", &[("limits.unauthenticated", "never reached")]);
    check("listen: ./a.sock\nlimits: { per_address: 1 }\n", &[("limits.per_address", "sockets")]);
    check("admin: { http: 0.0.0.0:6034 }\n", &[("admin.http", "other machines")]);
    check("admin: { http: off }\n", &[]);
    check("queue: { per_identity: 5, total: 4 }\n", &[("queue.per_identity", "never reached")]);
    let rule = |probe: &str| {
        let rule = "{ id: r, match: { table: t }, do: { hold: true }, unknown_tables: match, permanent: true }";
        format!("rules: [{rule}]\n{probe}")
    };
    check(&rule(""), &[]);
    check(
        &rule("probe:\n"),
        &[("rules[0].unknown_tables", "all tables are unknown"), ("probe", "without a probe user")],
    );
    let exemption = |more: &str| {
        let rule = "{ id: r, match: { table: t, class: write }, do: { exempt: true }, permanent: true";
        format!("rules: [{rule}{more} }}]\nprobe:\n")
    };
    check(
        &exemption(""),
        &[("rules[0].match.table", "this exemption never applies"), ("probe", "without a probe user")],
    );
    check(&exemption(", unknown_tables: match"), &[("probe", "without a probe user")]);
    check("probe: { user: a, password: plain }\n", &[("probe.password", "every user of this machine")]);
}

/// Of one rule, with `permanent: true` unless it says otherwise.
#[track_caller]
fn check_rule(keys: &str, expected: &[(&str, &str)]) {
    let end = if keys.contains("expires") { "" } else { ", permanent: true" };
    check(&format!("rules:\n  - {{ id: a, {keys}{end} }}\n"), expected);
}

#[test]
fn rules_that_do_not_do_what_was_meant() {
    check_rule("match: { user: etl }, do: { rejection_ratio: 0.9 }", &[]);
    check_rule(
        "match: { scope: '*.etl.*' }, do: { rejection_ratio: 0.9 }",
        &[("rules[0].match.scope", "can match nothing")],
    );
    check_rule("match: { scope: [etl, 'a*b'] }, do: { hold: true }", &[("rules[0].match.scope", "`a*b`")]);
    check_rule(
        "match: { user: etl }, do: { hold: true }, expires: 2026-04-21T10:00:00Z",
        &[("rules[0].expires", "it ended at 2026-04-21T10:00:00Z")],
    );
    check_rule("match: { user: etl }, do: { hold: true }, expires: 2026-04-21T10:06:00Z", &[]);
    check_rule(
        "match: { user: [etl, bi], not: { user: [bi, etl] } }, do: { hold: true }",
        &[("rules[0].match.not.user", "left out by `not`")],
    );
    check_rule("match: { tag.app: etl }, do: { hold: true }", &[("rules[0].match.tag.app", "escapes it")]);
    check_rule(
        "match: { attr.program_name: etl }, do: { exempt: true }",
        &[("rules[0].match.attr.program_name", "favours nobody")],
    );
    check_rule("match: { user: 'etl%' }, do: { hold: true }", &[("rules[0].match.user", "only a scope has globs")]);
    check_rule(
        "match: { user: a, not: { schema: 'tmp*' } }, do: { hold: true }",
        &[("rules[0].match.not.schema", "only a scope has globs")],
    );
    check_rule(
        "match: { listener: [public, '127.0.0.1:6033'] }, do: { hold: true }",
        &[("rules[0].match.listener", "no listener is called `public`")],
    );
    check_rule(
        "match: { user: a }, do: { exempt: true }, action: reject, max_delay: 1s",
        &[("rules[0].action", "refuses nothing"), ("rules[0].max_delay", "refuses nothing")],
    );
    check(
        "playbooks:\n  p:\n    - { id: a, match: { listener: x }, do: { hold: true } }\n",
        &[("playbooks.p[0].match.listener", "no listener")],
    );
}

#[test]
fn a_delay_after_reads_that_is_longer_than_any_delay() {
    let gates = |keys: &str| format!("gates: {{ queue_length: {{ threshold: 100{keys} }} }}\n");
    check(&gates(", max_delay: 1m, max_delay_after_reads: 30s"), &[]);
    check(&gates(", max_delay: 500ms"), &[]);
    check(
        &gates(", max_delay_after_reads: 30s"),
        &[("gates.queue_length.max_delay_after_reads", "`max_delay`, which is `3s` here")],
    );
    check("defaults: { max_delay: 1m, max_delay_after_reads: 30s }\n", &[]);
    check(
        "defaults: { max_delay_after_reads: 30s }\n",
        &[("defaults.max_delay_after_reads", "`max_delay`, which is `3s` here")],
    );
}

#[test]
fn a_scope_with_dots_is_written_for_its_author() {
    let text = "upstream: { address: 127.0.0.1 }\nrules: [{ id: a, match: { scope: '*.etl.*' }, do: { hold: true }, permanent: true }]\n";
    let (_, warnings) = load_text(text).unwrap();
    assert!(warnings.iter().any(|warning| warning.remedy == "write `*:etl:*`"), "{warnings:?}");
}

#[test]
fn a_looser_threshold_is_an_exemption() {
    let with = |effect: &str| {
        let gates = "gates: { queue_length: { threshold: 100 }, commit_delay: { threshold: 50ms } }";
        format!("{gates}\nrules: [{{ id: a, match: {{ user: x }}, do: {{ {effect} }}, permanent: true }}]\n")
    };
    check(&with("thresholds: { queue_length: 100, commit_delay: 10ms }"), &[]);
    check(
        &with("thresholds: { queue_length: 200, commit_delay: 1s }"),
        &[
            ("rules[0].do.thresholds.queue_length", "200 is looser than the gate's own 100"),
            ("rules[0].do.thresholds.commit_delay", "1.0s is looser than the gate's own 50ms"),
        ],
    );
    let unused = ", permanent: true }, { id: b, match: { user: y }, do: { skip_gates: [queue_length] }, action: reject";
    check(
        &with("weight: 2").replace(", permanent: true", unused).replace("reject", "reject, permanent: true"),
        &[("rules[1].action", "refuses nothing")],
    );
}
