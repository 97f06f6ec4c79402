//! What the user wrote, key by key: each value is checked by itself, none is filled in, none compared with another.
//!
//! A new key starts here. `docs/configuration.md` must name it: a test compares the two.

mod gate;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, de};

use rules::{Action, Mode};

use crate::plan::{LogFormat, LogLevel, OnDemotion, ProxyProtocol, UpstreamTls};
use crate::policy::ErrorPreset;
use crate::tree::{Complaint, Node};
pub(crate) use gate::{Concerned, RawGate, RawMetric};

use crate::value::{
    Count, DialAt, FilePath, HostName, HttpAt, List, NamedPart, NoEntries, RawHeartbeat, RawListen, SecretRef, Size,
    SourceAddress, Span, TableRef, TrustOf, UserName, Word, WorkerCount,
};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "keys and values, such as `listen: 127.0.0.1:6033`")]
pub(crate) struct Raw {
    pub(crate) listen: Option<RawListen>,
    pub(crate) upstream: RawUpstream,
    pub(crate) tls: RawTls,
    pub(crate) limits: RawLimits,
    pub(crate) probe: RawProbe,
    pub(crate) drain: RawDrain,
    pub(crate) workers: Option<WorkerCount>,
    pub(crate) admin: RawAdmin,
    pub(crate) log: RawLog,
    pub(crate) identity: RawIdentity,
    pub(crate) defaults: RawDefaults,
    pub(crate) queue: RawQueue,
    pub(crate) heartbeat_writers: RawHeartbeatWriters,
    /// Read one by one, so that one bad rule does not hide what is wrong with another.
    pub(crate) rules: Option<Node>,
    pub(crate) playbooks: Option<Node>,
    pub(crate) state_dir: Option<FilePath>,
    /// Each by itself, as rules are.
    pub(crate) gates: Option<Node>,
    pub(crate) metrics: Option<Node>,
    #[serde(rename = "budgets")]
    _budgets: Option<NoEntries>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `address: 127.0.0.1:3306`")]
pub(crate) struct RawUpstream {
    pub(crate) address: Option<DialAt>,
    pub(crate) tls: Option<UpstreamTls>,
    pub(crate) ca: Option<FilePath>,
    pub(crate) certificate: Option<FilePath>,
    pub(crate) key: Option<FilePath>,
    pub(crate) server_name: Option<HostName>,
    pub(crate) proxy_protocol: Option<ProxyProtocol>,
    pub(crate) source_address: Option<SourceAddress>,
    pub(crate) dial_timeout: Option<Span<1, 600_000>>,
    pub(crate) replicas: Option<RawReplicas>,
    pub(crate) on_demotion: Option<OnDemotion>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `certificate: server.pem`")]
pub(crate) struct RawTls {
    pub(crate) certificate: Option<FilePath>,
    pub(crate) key: Option<FilePath>,
    pub(crate) client_ca: Option<FilePath>,
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
pub(crate) const MOST_CONNECTIONS: usize = 1_000_000;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `connections: 5000`")]
pub(crate) struct RawLimits {
    pub(crate) connections: Option<Count<1, MOST_CONNECTIONS>>,
    pub(crate) per_user: Option<Count<0, MOST_CONNECTIONS>>,
    pub(crate) per_address: Option<Count<0, MOST_CONNECTIONS>>,
    pub(crate) unauthenticated: Option<Count<1, MOST_CONNECTIONS>>,
    pub(crate) unauthenticated_per_address: Option<Count<0, MOST_CONNECTIONS>>,
    pub(crate) login_time: Option<Span<100, 3_600_000>>,
    pub(crate) login_size: Option<Size<{ 4 * KIB }, MIB>>,
    pub(crate) upstream_logins: Option<Count<1, MOST_CONNECTIONS>>,
    pub(crate) inspect: Option<Size<KIB, { 16 * MIB }>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it: `user` and `password`")]
pub(crate) struct RawProbe {
    pub(crate) user: Option<UserName>,
    pub(crate) password: Option<SecretRef>,
    pub(crate) heartbeat: Option<RawHeartbeat>,
    pub(crate) timeout: Option<Span<10, 60_000>>,
    pub(crate) idle_interval: Option<Span<100, AN_HOUR>>,
    pub(crate) idle_after: Option<Span<1000, AN_HOUR>>,
    pub(crate) catalogue_interval: Option<Span<100, AN_HOUR>>,
}

pub(crate) const AN_HOUR: u64 = 3_600_000;
pub(crate) const A_DAY: u64 = 24 * AN_HOUR;
pub(crate) const A_YEAR: u64 = 365 * A_DAY;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `deadline: 60s`")]
pub(crate) struct RawDrain {
    pub(crate) wait: Option<Span<0, A_DAY>>,
    pub(crate) deadline: Option<Span<0, A_DAY>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `http: 127.0.0.1:6034`")]
pub(crate) struct RawAdmin {
    pub(crate) http: Option<HttpAt>,
    pub(crate) host_names: Option<List<HostName>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `level: info`")]
pub(crate) struct RawLog {
    pub(crate) format: Option<LogFormat>,
    pub(crate) level: Option<LogLevel>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `name: [client, user]`")]
pub(crate) struct RawIdentity {
    pub(crate) name: Option<List<NamedPart>>,
    pub(crate) trust_claims_of: Option<List<TrustOf>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `max_delay: 3s`")]
pub(crate) struct RawDefaults {
    pub(crate) mode: Option<Word<Mode>>,
    pub(crate) action: Option<Word<Action>>,
    pub(crate) max_delay: Option<Span<0, AN_HOUR>>,
    pub(crate) max_delay_after_reads: Option<Span<0, AN_HOUR>>,
    pub(crate) error: Option<ErrorPreset>,
    pub(crate) unit_grace: Option<Span<1000, A_DAY>>,
    pub(crate) lock_grace: Option<Span<0, A_DAY>>,
    pub(crate) lock_grace_statements: Option<Count<0, 1_000_000_000>>,
    pub(crate) reject_pause: Option<Span<0, 10_000>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `total: 10000`")]
pub(crate) struct RawQueue {
    pub(crate) per_identity: Option<Count<1, MOST_CONNECTIONS>>,
    pub(crate) total: Option<Count<1, MOST_CONNECTIONS>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `users: [pt_heartbeat]`")]
pub(crate) struct RawHeartbeatWriters {
    pub(crate) users: Option<List<UserName>>,
    pub(crate) tables: Option<List<TableRef>>,
}

/// A list of addresses, or `discover`.
pub(crate) enum RawReplicas {
    Listed(Vec<DialAt>),
    Discover,
}

impl<'de> Deserialize<'de> for RawReplicas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReplicasVisitor)
    }
}

struct ReplicasVisitor;

impl<'de> Visitor<'de> for ReplicasVisitor {
    type Value = RawReplicas;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of addresses, such as `[127.0.0.1:3307]`, or `discover`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RawReplicas, E> {
        let remedy = format!("write {}", &self as &dyn de::Expected);
        match text {
            "discover" => Ok(RawReplicas::Discover),
            _ => Err(E::custom(Complaint::new("a text does not belong here", remedy))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawReplicas, A::Error> {
        let mut replicas = Vec::new();
        while let Some(replica) = list.next_element()? {
            replicas.push(replica);
        }
        Ok(RawReplicas::Listed(replicas))
    }
}
