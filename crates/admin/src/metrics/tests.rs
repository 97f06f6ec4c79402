use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use admission::Gatekeeper;
use admission::gates::{MetricSeen, Moment, Seen, ServerSeen, Took};
use admission::policy::{Defaults, Gate, Policy, Queue};
use admission::port::{Admission, Client};
use health::{Board, BuiltIn, Control, Reading, Report, Settings, Unknown};
use rules::{Action, Mode, RuleSet, Timestamp};
use statement::Class;

use super::*;
use crate::PolicyFile;

/// Before one gate that is enforced and one that warns.
fn keeper() -> Arc<Gatekeeper> {
    let gate = |metric, threshold, mode| Gate {
        settings: Settings { control: Control::Binary, ..Settings::new(metric, threshold) },
        mode,
        classes: vec![Class::Write],
        logins: false,
        matching: None,
        reads: Vec::new(),
        action: Action::Delay,
        max_delay: Duration::from_secs(3),
        max_delay_after_reads: Duration::from_secs(1),
    };
    let identity = identity::Settings { name: Vec::new(), trust_claims_of: Vec::new() };
    let rules = RuleSet::new(Vec::new(), &|_| None);
    let policy = Policy::new(1, identity, Defaults::default(), Queue::default(), rules).with_gates(vec![
        gate(BuiltIn::ThreadsRunning, 40.0, Mode::Enforce),
        gate(BuiltIn::ReplicationLag, 5.0, Mode::Warn),
    ]);
    Gatekeeper::new(policy, Box::new(|| Timestamp(0)), 1)
}

/// Everything that does not need a proxy.
fn text(keeper: &Gatekeeper, now: Instant) -> String {
    let mut text = Text::default();
    policy::put(&mut text, keeper, &PolicyFile::default());
    clients::put(&mut text, keeper);
    gates::put(&mut text, keeper, now);
    text.into_string()
}

fn measured(keeper: &Gatekeeper, start: Instant) -> Instant {
    let readings = [
        (BuiltIn::ThreadsRunning, Reading::Value(50.0)),
        (BuiltIn::ReplicationLag, Reading::Unknown(Unknown::Stopped)),
        (BuiltIn::CommitDelay, Reading::Idle),
    ];
    let mut board = Board::default();
    for (metric, reading) in readings {
        let (metric, server) = (metric.as_str().into(), "db:3306".into());
        board.report(Report { metric, server, reading, at: start, applied: None });
    }
    keeper.gates().observe(&board, &Moment { now: start, asleep: false, awake_since: None });
    let metric = |(metric, reading): (BuiltIn, Reading)| MetricSeen {
        metric: metric.as_str().into(),
        unit: metric.unit(),
        server: "db:3306".into(),
        reading,
        age: Duration::from_millis(500),
    };
    keeper.gates().publish_measured(Seen {
        at: Some(start),
        metrics: readings.map(metric).into(),
        servers: vec![ServerSeen {
            name: "db:3306".into(),
            role: "primary".to_owned(),
            version: "MySQL 9.7.4".to_owned(),
            read_only: true,
            replication: None,
        }],
        asleep: true,
        latencies: vec![(Class::Read, Took { count: 3, p50: 0.25, p99: 0.5 })],
        commits: Some(Took { count: 1, p50: 0.125, p99: 0.125 }),
    });
    start + Duration::from_secs(2)
}

#[test]
fn gates_and_what_is_measured() {
    let keeper = keeper();
    let now = measured(&keeper, Instant::now());
    let text = text(&keeper, now);
    for line in [
        "tollgate_gate_value{gate=\"threads_running\"} 50",
        "tollgate_gate_threshold{gate=\"threads_running\"} 40",
        "tollgate_gate_threshold{gate=\"replication_lag\"} 5",
        "tollgate_gate_age_seconds{gate=\"threads_running\"} 2",
        "tollgate_gate_state{gate=\"threads_running\",state=\"closed\"} 1",
        "tollgate_gate_state{gate=\"threads_running\",state=\"open\"} 0",
        "tollgate_gate_state{gate=\"replication_lag\",state=\"stale\"} 1",
        "tollgate_gate_enforced{gate=\"threads_running\"} 1",
        "tollgate_gate_enforced{gate=\"replication_lag\"} 0",
        "tollgate_gate_waiting{gate=\"threads_running\"} 0",
        "tollgate_gate_in_flight{gate=\"threads_running\"} 0",
        "tollgate_gate_rate{gate=\"threads_running\"} 1",
        "tollgate_gate_state_seconds{gate=\"threads_running\"} 2",
        "tollgate_gate_logins_stopped_total{gate=\"threads_running\"} 0",
        "tollgate_gate_given_up_total{gate=\"threads_running\"} 0",
        "tollgate_metric_value{metric=\"threads_running\",server=\"db:3306\"} 50",
        "tollgate_metric_unknown{metric=\"replication_lag\",server=\"db:3306\",why=\"stopped\"} 1",
        "tollgate_metric_age_seconds{metric=\"commit_delay\",server=\"db:3306\"} 2.5",
        "tollgate_server_read_only{server=\"db:3306\",role=\"primary\"} 1",
        "tollgate_statement_latency_seconds{class=\"read\",quantile=\"0.5\"} 0.25",
        "tollgate_statement_latency_seconds{class=\"read\",quantile=\"0.99\"} 0.5",
        "tollgate_commit_delay_seconds{quantile=\"0.99\"} 0.125",
        "tollgate_probes_asleep 1",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
    }
    for absent in [
        "tollgate_gate_value{gate=\"replication_lag\"}",
        "tollgate_metric_value{metric=\"replication_lag\"",
        "tollgate_metric_value{metric=\"commit_delay\"",
        "tollgate_gate_permits{",
    ] {
        assert!(!text.contains(absent), "{absent} in\n{text}");
    }
}

/// A user has room for 2,500 clients, one of them for the nameless, of whom there are none, and one for all without room.
#[test]
fn clients_without_room_are_counted() {
    let name = vec![identity::NamePart::Attr("program_name".into())];
    let identity = identity::Settings { name, trust_claims_of: Vec::new() };
    let rules = RuleSet::new(Vec::new(), &|_| None);
    let policy = Policy::new(1, identity, Defaults::default(), Queue::default(), rules);
    let keeper = Gatekeeper::new(policy, Box::new(|| Timestamp(0)), 1);
    let sessions: Vec<_> = (0..2600)
        .map(|number| {
            let attributes = [(b"program_name".to_vec(), format!("job-{number}").into_bytes())];
            let client = Client {
                connection: number,
                user: b"etl",
                address: None,
                listener: "main",
                certificate: None,
                attributes: &attributes,
                database: None,
            };
            keeper.enter(&client).unwrap()
        })
        .collect();
    let text = text(&keeper, Instant::now());
    for line in [
        "tollgate_identities 2499",
        "tollgate_identities_overflowed_total 102",
        "tollgate_identities_left_total 0",
        "tollgate_identity_conflicts_total 0",
        "tollgate_statements_doubtful_total 0",
        "tollgate_statement_doubts_total{reason=\"readings\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
    }
    drop(sessions);
}

/// A metric without documentation, and a documented one that there is not, are both mistakes.
#[test]
fn the_page_names_every_metric_and_no_other() {
    let page = include_str!("../../../../docs/operations.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `tollgate_"));
    let documented: BTreeSet<String> = rows.filter_map(|row| Some(row.split(['`', '{']).next()?.to_owned())).collect();
    let text = text(&keeper(), Instant::now());
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE tollgate_")?.split(' ').next());
    let counters = Counter::ALL.iter().map(|counter| format!("{}_total", counter.name()));
    let all: BTreeSet<String> = types.map(str::to_owned).chain(counters).chain(["sessions".to_owned()]).collect();
    assert_eq!(documented, all);
}
