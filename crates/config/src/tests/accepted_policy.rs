//! Every key of the policy, and the plan that it gives.

use std::collections::BTreeMap;
use std::time::Duration;

use identity::{NamePart, Trust};
use rules::{
    Action, Active, Condition, Days, Do, GateName, InTransaction, Key, Limits, Match, Mode, Origin, Rule, Scope, Share,
    Timestamp, UnknownTables, Value,
};
use statement::{Class, Fingerprint, Shapes, Table};

use super::plan;
use crate::{Defaults, ErrorPreset, Policy, Queue};

fn policy(text: &str) -> Policy {
    plan(&format!("upstream: {{ address: 127.0.0.1 }}\n{text}")).policy
}

/// The one rule of a list with these keys, beside `id: a` and, unless it ends, `permanent: true`.
fn rule(keys: &str) -> Rule {
    let end = if keys.contains("expires") { "" } else { ", permanent: true" };
    let mut rules = policy(&format!("rules: [{{ id: a, {keys}{end} }}]")).rules;
    assert_eq!(rules.len(), 1);
    rules.remove(0)
}

fn conditions(matching: &str) -> Vec<Condition> {
    rule(&format!("match: {{ {matching} }}, do: {{ hold: true }}")).matching.conditions
}

fn moment(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text)
}

#[test]
fn sections() {
    let policy = policy(
        "
identity: { name: [certificate, tag.a.b, user], trust_claims_of: [app, 10.2.3.4/16, '::1'] }
defaults:
  { mode: warn, action: reject, max_delay: 10s, max_delay_after_reads: 9s, error: vitess, unit_grace: 1m, lock_grace: 0s, lock_grace_statements: 5, reject_pause: 0s }
queue: { per_identity: 7, total: 8 }
heartbeat_writers: { users: [hb, hb2], tables: [Heartbeat, 'my.`t.b`'] }
",
    );
    let name = [NamePart::Certificate, NamePart::Tag("a.b".to_owned()), NamePart::User];
    assert_eq!(policy.identity.name, name);
    let trust = [
        Trust::User(b"app"[..].into()),
        Trust::Network("10.2.0.0/16".parse().unwrap()),
        Trust::Network("::1/128".parse().unwrap()),
    ];
    assert_eq!(policy.identity.trust_claims_of, trust);
    let defaults = Defaults {
        mode: Mode::Warn,
        action: Action::Reject,
        max_delay: Duration::from_secs(10),
        max_delay_after_reads: Duration::from_secs(9),
        error: ErrorPreset::Vitess,
        unit_grace: Duration::from_secs(60),
        lock_grace: Duration::ZERO,
        lock_grace_statements: 5,
        reject_pause: Duration::ZERO,
    };
    assert_eq!(policy.defaults, defaults);
    assert_eq!(policy.queue, Queue { per_identity: 7, total: 8 });
    assert_eq!(policy.heartbeat_writers.users, [b"hb"[..].into(), b"hb2"[..].into()]);
    let tables =
        [Table { schema: None, name: "heartbeat".into() }, Table { schema: Some("my".into()), name: "t.b".into() }];
    assert_eq!(policy.heartbeat_writers.tables, tables);
    assert_eq!(policy.heartbeat_writers.rules().len(), 2);
    for (word, preset) in [
        ("throttled", ErrorPreset::Throttled),
        ("retryable", ErrorPreset::Retryable),
        ("timeout", ErrorPreset::Timeout),
        ("vitess", ErrorPreset::Vitess),
    ] {
        assert_eq!(self::policy(&format!("defaults: {{ error: {word} }}")).defaults.error, preset);
        assert_eq!(preset.as_str(), word);
    }
}

#[test]
fn a_small_queue_is_small_for_everyone() {
    assert_eq!(policy("queue: { total: 5 }").queue, Queue { per_identity: 5, total: 5 });
}

#[test]
fn the_rule_of_the_specification() {
    let text = "
- id: batch-yields-INC-42
  match: { scope: [etl, gh-ost], class: [write, ddl], not: { address: 10.2.0.0/16 }, tag.team: data }
  do: { rejection_ratio: 0.90 }
  action: delay
  max_delay: 10s
  mode: enforce
  expires: 2026-04-21T16:00:00Z
  created: 2026-04-21T10:05:00Z
  created_by: oncall@company
  reason: \"P1 incident INC-42: write path degraded\"
  incident: INC-42
";
    let policy = policy(&format!("rules:{text}"));
    let scope = |text: &str| Value::Scope(Scope { text: text.into() });
    let expected = Rule {
        id: "batch-yields-INC-42".into(),
        origin: Origin::File,
        matching: Match {
            conditions: vec![
                Condition { key: Key::Class, values: vec![Value::Class(Class::Write), Value::Class(Class::Ddl)] },
                Condition { key: Key::Scope, values: vec![scope("etl"), scope("gh-ost")] },
                Condition { key: Key::Tag("team".to_owned()), values: vec![Value::Text(b"data"[..].into())] },
            ],
            not: vec![Condition { key: Key::Address, values: vec![Value::Network("10.2.0.0/16".parse().unwrap())] }],
        },
        effect: Do { share: Some(Share::Ratio(0.9)), ..Do::default() },
        action: Some(Action::Delay),
        max_delay: Some(Duration::from_secs(10)),
        mode: Some(Mode::Enforce),
        priority: 0,
        overrides: false,
        in_transaction: InTransaction::Pass,
        unknown_tables: UnknownTables::Ignore,
        active: None,
        expires: moment("2026-04-21T16:00:00Z"),
        created: moment("2026-04-21T10:05:00Z"),
        created_by: Some("oncall@company".to_owned()),
        reason: Some("P1 incident INC-42: write path degraded".to_owned()),
        incident: Some("INC-42".to_owned()),
        playbook: None,
    };
    assert_eq!(policy.rules, [expected]);
}

#[test]
fn every_kind_of_value() {
    let text = |text: &str| Value::Text(text.as_bytes().into());
    let digest = "0".repeat(63) + "A";
    let statement = "SELECT * FROM t WHERE id = 5";
    let taken = statement::fingerprint(statement.as_bytes(), statement::Mode::default());
    for (written, key, values) in [
        ("user: etl", Key::User, vec![text("etl")]),
        ("user: [a, b, a]", Key::User, vec![text("a"), text("b")]),
        ("user: ''", Key::User, vec![text("")]),
        ("schema: shop", Key::Schema, vec![text("shop")]),
        ("listener: 127.0.0.1:6033", Key::Listener, vec![text("127.0.0.1:6033")]),
        ("tool: gh-ost", Key::Tool, vec![text("gh-ost")]),
        ("attr._client_name: libmysql", Key::Attr("_client_name".to_owned()), vec![text("libmysql")]),
        ("query_attr.a: '7'", Key::QueryAttr("a".to_owned()), vec![text("7")]),
        ("tag.a.b: x", Key::Tag("a.b".to_owned()), vec![text("x")]),
        ("scope: '*'", Key::Scope, vec![Value::Scope(Scope { text: "*".into() })]),
        ("address: 10.2.3.4", Key::Address, vec![Value::Network("10.2.3.4/32".parse().unwrap())]),
        ("address: 'fd00::1/8'", Key::Address, vec![Value::Network("fd00::/8".parse().unwrap())]),
        ("class: unparsed", Key::Class, vec![Value::Class(Class::Unparsed)]),
        (
            "shape: [no_limit, select_star]",
            Key::Shape,
            vec![Value::Shape(Shapes::NO_LIMIT), Value::Shape(Shapes::SELECT_STAR)],
        ),
        ("table: Orders", Key::Table, vec![Value::Table { schema: None, name: "orders".into() }]),
        ("table: shop.orders", Key::Table, vec![Value::Table { schema: Some("shop".into()), name: "orders".into() }]),
        (
            "fingerprint: 000102030405060708090A0B0C0D0E0F",
            Key::Fingerprint,
            vec![Value::Fingerprint(Fingerprint(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f))],
        ),
        (&format!("fingerprint: '{digest}'"), Key::Fingerprint, vec![Value::Digest(digest.to_lowercase().into())]),
        (&format!("fingerprint: '{statement}'"), Key::Fingerprint, vec![Value::Fingerprint(taken)]),
    ] {
        assert_eq!(conditions(written), [Condition { key, values }], "{written}");
    }
}

#[test]
fn what_rules_do() {
    for (written, share, limits) in [
        ("exempt: true", Some(Share::Exempt), (None, None)),
        ("hold: true", Some(Share::Hold), (None, None)),
        ("rejection_ratio: 0", Some(Share::Ratio(0.0)), (None, None)),
        ("rejection_ratio: 1", Some(Share::Ratio(1.0)), (None, None)),
        ("rejection_ratio: 0.125, max_concurrency: 4", Some(Share::Ratio(0.125)), (Some(4), None)),
        ("max_concurrency: 0, max_connections: 20", None, (Some(0), Some(20))),
    ] {
        let effect = rule(&format!("match: {{ user: x }}, do: {{ {written} }}")).effect;
        let (max_concurrency, max_connections) = limits;
        assert_eq!(
            effect,
            Do { share, limits: Limits { max_concurrency, max_connections }, ..Do::default() },
            "{written}"
        );
    }
    let other =
        rule("match: { not: { user: x } }, do: { hold: true }, priority: -5, in_transaction: reject, mode: off");
    assert_eq!((other.priority, other.in_transaction, other.mode), (-5, InTransaction::Reject, Some(Mode::Off)));
    assert!(other.matching.conditions.is_empty() && other.matching.not.len() == 1);
}

#[test]
fn what_rules_do_at_gates() {
    let with_gates = |effect: &str| {
        let gates = "gates: { queue_length: { threshold: 100 }, slow: { metric: commit_delay, threshold: 50ms } }";
        let rules = format!("rules: [{{ id: a, match: {{ user: x }}, do: {{ {effect} }}, permanent: true }}]");
        policy(&format!("{gates}\n{rules}")).rules.remove(0).effect
    };
    let slow = BTreeMap::from([("slow".into(), 0.02)]);
    let both = BTreeMap::from([("slow".into(), 0.02), ("queue_length".into(), 7.5)]);
    let skip = |gates: &[&str]| Some(gates.iter().map(|gate| GateName::from(*gate)).collect());
    for (written, expected) in [
        ("thresholds: { slow: 20ms }", Do { thresholds: slow, ..Do::default() }),
        ("thresholds: { slow: 20ms, queue_length: 7.5 }", Do { thresholds: both, ..Do::default() }),
        ("skip_gates: [slow]", Do { skip_gates: skip(&["slow"]), ..Do::default() }),
        ("skip_gates: []", Do { skip_gates: skip(&[]), ..Do::default() }),
        ("weight: 2.5, hold: true", Do { weight: Some(2.5), share: Some(Share::Hold), ..Do::default() }),
        ("weight: 100", Do { weight: Some(100.0), ..Do::default() }),
    ] {
        assert_eq!(with_gates(written), expected, "{written}");
    }
}

#[test]
fn hours_of_the_week() {
    let active =
        |written: &str| rule(&format!("match: {{ user: x }}, do: {{ hold: true }}, active: {{ {written} }}")).active;
    let berlin = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let utc = jiff::tz::TimeZone::UTC;
    for (written, days, from, to, tz) in [
        ("days: mon-fri, from: '08:00', to: '10:00', tz: Europe/Berlin", 0b001_1111, 480, 600, berlin),
        ("days: [mon, wed]", 0b000_0101, 0, 1440, utc.clone()),
        ("days: [sat-sun, wed], from: 22:00, to: 6:30", 0b110_0100, 1320, 390, utc.clone()),
        ("to: '24:00', from: '23:59'", 0b111_1111, 1439, 1440, utc),
    ] {
        assert_eq!(active(written), Some(Active { days: Days(days), from, to, tz }), "{written}");
    }
}

#[test]
fn playbooks() {
    let policy = policy(
        "
playbooks:
  write-overload:
    - { id: a, match: { user: x }, do: { hold: true }, for: 30m, override: true }
    - { id: b, match: { scope: '*' }, do: { rejection_ratio: 0.5 } }
  empty-handed:
    - { id: a, match: { user: x }, do: { exempt: true } }
",
    );
    let names: Vec<&str> = policy.playbooks.iter().map(|playbook| playbook.name.as_str()).collect();
    assert_eq!(names, ["write-overload", "empty-handed"]);
    let playbook = policy.playbook("write-overload").unwrap();
    let lifetimes: Vec<u64> = playbook.rules.iter().map(|template| template.lifetime.as_secs() / 60).collect();
    assert_eq!(lifetimes, [30, 120]);
    let rule = &playbook.rules[0].rule;
    assert_eq!((rule.origin, rule.expires, rule.overrides), (Origin::Runtime, None, true));
    assert!(policy.playbook("other").is_none());
}
