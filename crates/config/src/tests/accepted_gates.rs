//! Every key of gates and metrics, and the plan that it gives.

use std::time::Duration;

use health::settings::Over;
use health::{BuiltIn, Control, OnStale, Scope, Settings, Unit};
use rules::{Action, Condition, Key, Match, Mode, Value};
use statement::Class;

use super::plan;
use crate::{Gate, Metric, MetricQuestion, On, Plan};

const STATEMENTS: [Class; 5] = [Class::Read, Class::Write, Class::Call, Class::Unparsed, Class::Ddl];

/// Where all that can be measured is.
fn measured(text: &str) -> Plan {
    plan(&format!(
        "upstream: {{ address: 127.0.0.1, replicas: [127.0.0.1:3307] }}\n\
         probe: {{ user: a, password: 'env:PASSWORD', heartbeat: a.b }}\n{text}"
    ))
}

fn gate(text: &str) -> Gate {
    let mut gates = measured(&format!("gates: {{ {text} }}")).policy.gates;
    assert_eq!(gates.len(), 1);
    gates.remove(0)
}

#[test]
fn a_threshold_is_enough() {
    for (text, metric, threshold) in [
        ("replication_lag: { threshold: 5s }", BuiltIn::ReplicationLag, 5.0),
        ("replication_lag: { threshold: 1s }", BuiltIn::ReplicationLag, 1.0),
        ("threads_running: { threshold: 40 }", BuiltIn::ThreadsRunning, 40.0),
        ("commit_delay: { threshold: 50ms }", BuiltIn::CommitDelay, 0.05),
        ("connections_used: { threshold: 90% }", BuiltIn::ConnectionsUsed, 0.9),
        ("connections_used: { threshold: 0.9 }", BuiltIn::ConnectionsUsed, 0.9),
        ("history_list_length: { threshold: 1000000 }", BuiltIn::HistoryListLength, 1e6),
        ("lock_waits: { threshold: 5 }", BuiltIn::LockWaits, 5.0),
        ("load_average: { threshold: 1.5 }", BuiltIn::LoadAverage, 1.5),
        ("queue_length: { threshold: 100 }", BuiltIn::QueueLength, 100.0),
    ] {
        let logins = metric == BuiltIn::ConnectionsUsed;
        let reads = !matches!(metric, BuiltIn::ReplicationLag | BuiltIn::CommitDelay);
        let concerned = |class: &Class| !logins && (reads || *class != Class::Read);
        let expected = Gate {
            settings: Settings::new(metric, threshold),
            mode: None,
            classes: STATEMENTS.into_iter().filter(concerned).collect(),
            logins,
            matching: None,
            action: None,
            max_delay: None,
            max_delay_after_reads: None,
        };
        assert_eq!(gate(text), expected, "{text}");
    }
}

#[test]
fn every_key_of_a_gate() {
    let gate = gate(
        "lag-of-batch: { metric: replication_lag, threshold: 2s, match: { user: [etl, batch], not: { schema: a } },
           classes: [ddl, write, login], mode: warn, interval: 50ms, scope: avg, ignore_worst: 1, control: permits,
           on_stale: hold_last, stale_after: 3s, max_closed: never, trickle: 1/10s, action: reject, max_delay: 9s, max_delay_after_reads: 8s }",
    );
    let text = |text: &str| Value::Text(text.as_bytes().into());
    let expected = Gate {
        settings: Settings {
            name: "lag-of-batch".into(),
            metric: "replication_lag".into(),
            unit: Unit::Seconds,
            threshold: 2.0,
            scope: Scope { over: Over::Avg, ignore_worst: 1 },
            control: Control::Permits,
            on_stale: OnStale::HoldLast,
            stale_after: Duration::from_secs(3),
            max_closed: None,
            trickle: 0.1,
            interval: Duration::from_millis(50),
        },
        mode: Some(Mode::Warn),
        classes: vec![Class::Write, Class::Ddl],
        logins: true,
        matching: Some(Match {
            conditions: vec![Condition { key: Key::User, values: vec![text("etl"), text("batch")] }],
            not: vec![Condition { key: Key::Schema, values: vec![text("a")] }],
        }),
        action: Some(Action::Reject),
        max_delay: Some(Duration::from_secs(9)),
        max_delay_after_reads: Some(Duration::from_secs(8)),
    };
    assert_eq!(gate, expected);
}

#[test]
fn values_of_single_keys() {
    let lag = |keys: &str| gate(&format!("replication_lag: {{ threshold: 5s, {keys} }}")).settings;
    assert_eq!(lag("max_closed: 90s").max_closed, Some(Duration::from_secs(90)));
    assert_eq!(lag("trickle: 0").trickle, 0.0);
    assert_eq!(lag("on_stale: closed").on_stale, OnStale::Closed);
    assert_eq!((lag("scope: min").scope.over, lag("scope: max").scope.over), (Over::Min, Over::Max));
    assert_eq!((lag("control: paced").control, lag("control: binary").control), (Control::Paced, Control::Binary));
    // A value lasts until the next one can have come.
    assert_eq!(lag("interval: 10s").stale_after, Duration::from_secs(20));
}

/// Without beats the backlog follows from the lag that the replicas show.
#[test]
fn lag_without_a_heartbeat_is_paced_too() {
    let plan = plan(
        "upstream: { address: db.example.com, replicas: discover }\nprobe: { user: a, password: 'env:PASSWORD' }\n\
         gates: { replication_lag: { threshold: 5s } }",
    );
    assert_eq!(plan.policy.gates[0].settings.control, Control::Paced);
    assert_eq!(plan.upstream.replicas, crate::Replicas::Discover);
    assert!(plan.probe.unwrap().heartbeat.is_none());
}

/// What the proxy measures itself, and what others answer for, takes no user of ours.
#[test]
fn some_gates_need_no_probe_user() {
    let plan = plan(
        "upstream: { address: 127.0.0.1 }\n\
         metrics: { db: { http: 'http://127.0.0.1:9100/x' } }\n\
         gates: { commit_delay: { threshold: 50ms }, queue_length: { threshold: 9 }, load_average: { threshold: 2 }, db: { threshold: 1 } }",
    );
    assert_eq!(plan.policy.gates.len(), 4);
}

#[test]
fn metrics_and_gates_on_them() {
    let policy = measured(
        "
metrics:
  purge: { sql: 'SELECT COUNT(*) FROM t' }
  slow: { sql: \"SELECT 1.5\", on: replicas, unit: seconds, interval: 10s, timeout: 250ms }
  full: { http: 'http://[::1]:9100/disk?x=1', unit: share }
gates:
  purge: { threshold: 12.5 }
  slow: { threshold: 3s, scope: min }
  disk: { metric: full, threshold: 80%, classes: [write] }
",
    )
    .policy;
    let second = Duration::from_secs(1);
    let sql = |sql: &str, on: On| MetricQuestion::Sql { sql: sql.to_owned(), on };
    let metric = |name: &str, unit, ask, interval, timeout| Metric { name: name.into(), unit, ask, interval, timeout };
    let full = MetricQuestion::Http { url: "http://[::1]:9100/disk?x=1".to_owned() };
    let expected = [
        metric("purge", Unit::Count, sql("SELECT COUNT(*) FROM t", On::Primary), second, second),
        metric("slow", Unit::Seconds, sql("SELECT 1.5", On::Replicas), 10 * second, second / 4),
        metric("full", Unit::Share, full, second, second),
    ];
    assert_eq!(policy.metrics, expected);
    let settings = |name: &str| policy.gate(name).unwrap().settings.clone();
    let (purge, slow, disk) = (settings("purge"), settings("slow"), settings("disk"));
    assert_eq!((purge.threshold, purge.control, purge.interval), (12.5, Control::Binary, second));
    assert_eq!((slow.threshold, slow.scope.over, slow.stale_after), (3.0, Over::Min, 20 * second));
    assert_eq!((disk.threshold, &*disk.metric, disk.unit), (0.8, "full", Unit::Share));
    assert_eq!(policy.gate("purge").unwrap().classes, STATEMENTS);
}

#[test]
fn a_rule_may_outlive_its_gate() {
    let policy = measured("gates: { replication_lag: { threshold: 5s } }").policy;
    let rule = crate::rule::tests::made::with_gates(&["replication_lag", "gone"], &["gone", "lost"]);
    assert_eq!(policy.missing_gates(&rule), [&"gone".into(), &"lost".into()]);
}

#[test]
fn rules_of_the_run_time_find_places_for_their_thresholds() {
    let gates: Vec<String> = (0..9).map(|n| format!("g{n}: {{ metric: queue_length, threshold: 9 }}")).collect();
    let rules = "rules: [{ id: a, match: { user: x }, do: { thresholds: { g0: 1, g1: 1, g2: 1 } }, permanent: true }]";
    let policy = measured(&format!("gates: {{ {} }}\n{rules}", gates.join(", "))).policy;
    let added = [crate::rule::tests::made::with_gates(&["g2", "g3", "g4", "g5", "g6"], &[])];
    for (wanted, without) in [(&["g0", "g6"][..], &[][..]), (&["g7"], &[]), (&["g1", "g7", "g8"], &["g8"])] {
        let rule = crate::rule::tests::made::with_gates(wanted, &[]);
        let found: Vec<&str> = policy.gates_without_place(&added, &rule).into_iter().map(AsRef::as_ref).collect();
        assert_eq!(found, without, "{wanted:?}");
    }
}

#[test]
fn there_may_be_64_gates() {
    let gates: Vec<String> =
        (0..64).map(|n| format!("g{n}: {{ metric: queue_length, threshold: {} }}", n + 1)).collect();
    assert_eq!(measured(&format!("gates: {{ {} }}", gates.join(", "))).policy.gates.len(), 64);
}
