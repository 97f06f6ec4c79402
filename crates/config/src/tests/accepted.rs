//! Files that are in order, and the plans that they give.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use identity::NamePart;
use rules::{Action, Mode};
use statement::Table;

use super::plan;
use crate::{
    Admin, ClientTls, ClientTlsFiles, Defaults, Drain, ErrorPreset, Heartbeat, HeartbeatWriters, Limits, ListenAddress,
    Listener, Log, LogFormat, LogLevel, OnDemotion, Plan, Policy, ProxyProtocol, Queue, Replicas, TableName, Upstream,
    UpstreamAddress, UpstreamTls, Workers,
};

fn tcp(address: &str) -> ListenAddress {
    ListenAddress::Tcp(address.parse::<SocketAddr>().unwrap())
}

fn server(host: &str, port: u16) -> UpstreamAddress {
    UpstreamAddress::Tcp { host: host.to_owned(), port }
}

/// What a file with nothing but the upstream's address means, written out.
fn defaults() -> Plan {
    Plan {
        listen: vec![Listener {
            address: tcp("127.0.0.1:6033"),
            name: "127.0.0.1:6033".to_owned(),
            tls: ClientTls::Optional,
            proxy_protocol_from: Vec::new(),
        }],
        upstream: Upstream {
            address: server("127.0.0.1", 3306),
            tls: UpstreamTls::Preferred,
            ca: None,
            certificate: None,
            server_name: None,
            proxy_protocol: ProxyProtocol::Off,
            source_address: None,
            dial_timeout: Duration::from_secs(5),
            replicas: Replicas::Listed(Vec::new()),
            on_demotion: OnDemotion::Close,
        },
        tls: ClientTlsFiles { certificate: None, client_ca: None },
        limits: Limits {
            connections: 5000,
            per_user: None,
            per_address: None,
            unauthenticated: 500,
            unauthenticated_per_address: Some(250),
            login_time: Duration::from_secs(10),
            login_size: 98_304,
            upstream_logins: 64,
            inspect: 1 << 20,
        },
        probe: None,
        drain: Drain { wait: Duration::from_secs(10), deadline: Duration::from_secs(60) },
        workers: Workers::Auto,
        admin: Admin { http: Some("127.0.0.1:6034".parse().unwrap()), host_names: vec![] },
        log: Log { format: LogFormat::Text, level: LogLevel::Info },
        policy: policy(),
        state_dir: PathBuf::from("./state"),
    }
}

fn policy() -> Policy {
    let heartbeat = |schema: &str| Table { schema: Some(schema.into()), name: "heartbeat".into() };
    Policy {
        identity: identity::Settings {
            name: vec![
                NamePart::Client,
                NamePart::Tag("app".to_owned()),
                NamePart::Attr("program_name".to_owned()),
                NamePart::User,
            ],
            trust_claims_of: Vec::new(),
        },
        defaults: Defaults {
            mode: Mode::Enforce,
            action: Action::Delay,
            max_delay: Duration::from_secs(3),
            max_delay_after_reads: Duration::from_secs(1),
            error: ErrorPreset::Throttled,
            unit_grace: Duration::from_secs(30),
            lock_grace: Duration::from_secs(30),
            lock_grace_statements: 1000,
            reject_pause: Duration::from_millis(150),
        },
        queue: Queue { per_identity: 256, total: 10_000 },
        heartbeat_writers: HeartbeatWriters {
            users: Vec::new(),
            tables: vec![heartbeat("heartbeat"), heartbeat("percona"), heartbeat("tollgate")],
        },
        rules: Vec::new(),
        playbooks: Vec::new(),
        gates: Vec::new(),
        metrics: Vec::new(),
    }
}

#[test]
fn every_default() {
    assert_eq!(plan("upstream: { address: 127.0.0.1 }"), defaults());
}

#[test]
fn the_starter_means_the_defaults() {
    assert_eq!(plan(include_str!("../../../../proxy.yaml")), defaults());
}

/// What the starter shows in comments must be true: as if it were written, it still means the defaults.
#[test]
fn the_starter_shows_the_defaults() {
    let starter = include_str!("../../../../proxy.yaml");
    // The lines below `# listen:` are another way to write the one above.
    let (_, from_upstream) = starter.split_once("# The MySQL server").unwrap();
    // And the gates and rules are examples.
    let (from_upstream, _) = from_upstream.split_once("# ---- Gates").unwrap();
    let written: Vec<String> = from_upstream.lines().filter_map(default_shown).collect();
    assert!(written.len() > 40, "{written:#?}");
    assert_eq!(plan(&written.join("\n")), defaults(), "{written:#?}");
}

/// Of what follows a heading, the lines that are commented out, without the sentences among them.
fn shown_below(heading: &str) -> String {
    let starter = include_str!("../../../../proxy.yaml");
    let (_, examples) = starter.split_once(heading).unwrap();
    let examples = examples.split("# ---- ").next().unwrap();
    let examples = examples.lines().map(|line| line.strip_prefix("# ").unwrap_or(""));
    let is_yaml = |line: &&str| line.starts_with(' ') || line.trim_end().ends_with(':');
    examples.filter(is_yaml).collect::<Vec<_>>().join("\n")
}

/// They must be good ones.
#[test]
fn the_gates_and_rules_of_the_starter_are_accepted() {
    let text = format!(
        "listen: {{ address: 127.0.0.1:6033, name: public }}\nupstream: {{ address: 127.0.0.1, replicas: discover }}\n\
         probe: {{ user: tollgate, password: 'env:PASSWORD', heartbeat: {{ table: tollgate.heartbeat, create: false }} }}\n{}\n{}",
        shown_below("# ---- Gates -"),
        shown_below("rules: []\n"),
    );
    let (plan, warnings) = super::load_text(&text).unwrap();
    let policy = &plan.policy;
    assert_eq!((policy.rules.len(), policy.playbooks.len()), (6, 1));
    assert_eq!((policy.gates.len(), policy.metrics.len()), (4, 2));
    assert!(policy.gates.iter().all(|gate| gate.mode == Some(Mode::Warn)));
    assert_eq!(policy.playbooks[0].rules.len(), 2);
    let warned: Vec<&str> = warnings.iter().map(|warning| warning.key.as_str()).collect();
    assert_eq!(warned, ["rules[2].match.tag.team"], "a claim");
}

/// A line `# key: value` as `key: value`, unless the key has no default and its value is an example.
fn default_shown(line: &str) -> Option<String> {
    // What the probe user is for does nothing without one.
    const EXAMPLES: [&str; 14] = [
        "ca",
        "certificate",
        "key",
        "server_name",
        "source_address",
        "client_ca",
        "user",
        "password",
        "heartbeat",
        "timeout",
        "idle_interval",
        "idle_after",
        "catalogue_interval",
        "on_demotion",
    ];
    let line = if line.trim_start().starts_with('#') { line.replacen("# ", "", 1) } else { line.to_owned() };
    let (key, _) = line.trim_start().split_once(':')?;
    let is_key = key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    (is_key && !EXAMPLES.contains(&key)).then_some(line)
}

#[test]
fn sections_with_all_keys_commented_out_are_empty() {
    let text = "upstream: { address: 127.0.0.1 }\nlimits:\nprobe:\ntls:\nlog:\nadmin:\ndrain:\nrules:\nplaybooks:\nidentity:\nqueue:\ndefaults:\nheartbeat_writers:\ngates:\nmetrics:\nbudgets: {}\n";
    assert_eq!(plan(text), defaults());
    assert_eq!(plan("upstream: { address: 127.0.0.1 }\nrules: []"), defaults());
}

#[test]
fn all_keys_together() {
    let plan = plan(
        "
listen:
  - 0.0.0.0:6033
  - '[::1]:0'
  - address: ./tollgate.sock
    tls: disabled
  - { address: 10.0.0.1:6033, tls: required, proxy_protocol_from: [10.2.3.4/16, fd00::1] }
upstream:
  address: db.example.com:3307
  tls: verify_identity
  ca: Cargo.toml
  certificate: Cargo.toml
  key: Cargo.toml
  server_name: primary.example.com
  proxy_protocol: v2
  source_address: 10.0.0.7
  dial_timeout: 1s500ms
  replicas: ['[fd00::5]:3307', replica, /run/mysqld.sock]
  on_demotion: keep
tls: { certificate: Cargo.toml, key: Cargo.toml, client_ca: Cargo.toml }
limits:
  { connections: 100, per_user: 10, per_address: 20, unauthenticated: 30, unauthenticated_per_address: 0, login_time: 2s, login_size: 4KiB, upstream_logins: 5, inspect: 1MiB }
probe: { user: tollgate, password: 'env:PASSWORD', heartbeat: Ops.HeartBeat, timeout: 500ms, idle_interval: 30s, idle_after: 1m, catalogue_interval: 5s }
drain: { wait: 0s, deadline: 1h }
workers: 3
admin: { http: off, host_names: [proxy-1.internal] }
log: { format: json, level: debug }
",
    );
    let addresses: Vec<&ListenAddress> = plan.listen.iter().map(|listener| &listener.address).collect();
    let socket = ListenAddress::Socket(PathBuf::from("./tollgate.sock"));
    assert_eq!(addresses, [&tcp("0.0.0.0:6033"), &tcp("[::1]:0"), &socket, &tcp("10.0.0.1:6033")]);
    let modes: Vec<ClientTls> = plan.listen.iter().map(|listener| listener.tls).collect();
    assert_eq!(modes, [ClientTls::Optional, ClientTls::Optional, ClientTls::Disabled, ClientTls::Required]);
    assert_eq!(plan.listen[3].proxy_protocol_from, ["10.2.0.0/16".parse().unwrap(), "fd00::1/128".parse().unwrap()]);

    assert_eq!(plan.upstream.address, server("db.example.com", 3307));
    assert_eq!(plan.upstream.tls, UpstreamTls::VerifyIdentity);
    assert_eq!(plan.upstream.ca.as_deref(), Some(Path::new("Cargo.toml")));
    assert!(plan.upstream.certificate.is_some());
    assert_eq!(plan.upstream.server_name.as_deref(), Some("primary.example.com"));
    assert_eq!(plan.upstream.proxy_protocol, ProxyProtocol::V2);
    assert_eq!(plan.upstream.source_address, Some("10.0.0.7".parse().unwrap()));
    assert_eq!(plan.upstream.dial_timeout, Duration::from_millis(1500));
    let replicas =
        [server("fd00::5", 3307), server("replica", 3306), UpstreamAddress::Socket(PathBuf::from("/run/mysqld.sock"))];
    assert_eq!(plan.upstream.replicas, Replicas::Listed(replicas.into()));
    assert!(plan.tls.certificate.is_some() && plan.tls.client_ca.is_some());
    let limits = Limits {
        connections: 100,
        per_user: Some(10),
        per_address: Some(20),
        unauthenticated: 30,
        unauthenticated_per_address: None,
        login_time: Duration::from_secs(2),
        login_size: 4096,
        upstream_logins: 5,
        inspect: 1 << 20,
    };
    assert_eq!(plan.limits, limits);
    let probe = plan.probe.unwrap();
    assert_eq!((probe.user.as_str(), probe.password.expose()), ("tollgate", "from-env"));
    let table = TableName { schema: "Ops".to_owned(), name: "HeartBeat".to_owned() };
    assert_eq!(probe.heartbeat, Some(Heartbeat { table, create: false }));
    let times = [probe.timeout, probe.idle_interval, probe.idle_after, probe.catalogue_interval];
    assert_eq!(times.map(|time| time.as_millis()), [500, 30_000, 60_000, 5_000]);
    assert_eq!(plan.upstream.on_demotion, OnDemotion::Keep);
    let exempt = Table { schema: Some("ops".into()), name: "heartbeat".into() };
    assert!(plan.policy.heartbeat_writers.tables.contains(&exempt));
    assert_eq!(plan.drain, Drain { wait: Duration::ZERO, deadline: Duration::from_secs(3600) });
    assert_eq!(plan.workers, Workers::Exactly(3));
    assert_eq!((plan.admin.http, plan.admin.host_names), (None, vec!["proxy-1.internal".to_owned()]));
    assert_eq!(plan.log, Log { format: LogFormat::Json, level: LogLevel::Debug });
    assert_eq!(plan.log.level.as_str(), "debug");
}

#[test]
fn a_default_gives_way_to_what_is_written_beside_it() {
    let plan =
        plan("upstream: { address: 127.0.0.1 }\nlimits: { connections: 50, per_user: 0 }\ndrain: { deadline: 3s }");
    assert_eq!((plan.limits.unauthenticated, plan.limits.upstream_logins, plan.limits.per_user), (50, 50, None));
    assert_eq!(plan.drain.wait, Duration::from_secs(3));
}

#[test]
fn one_listener_may_stand_alone() {
    for (listen, expected) in [
        ("listen: '[::]:6033'", tcp("[::]:6033")),
        ("listen: localhost:7000", tcp("127.0.0.1:7000")),
        ("listen: /run/tollgate.sock", ListenAddress::Socket(PathBuf::from("/run/tollgate.sock"))),
        ("listen: { address: 127.0.0.1:7000 }", tcp("127.0.0.1:7000")),
    ] {
        let plan = plan(&format!("upstream: {{ address: 127.0.0.1 }}\n{listen}"));
        assert_eq!(plan.listen.len(), 1);
        assert_eq!(plan.listen[0].address, expected);
    }
}

#[test]
fn addresses_print_as_they_are_written() {
    for text in ["db.example.com:3306", "[fd00::5]:3306", "/run/mysqld.sock"] {
        assert_eq!(plan(&format!("upstream: {{ address: '{text}' }}")).upstream.address.to_string(), text);
    }
}
