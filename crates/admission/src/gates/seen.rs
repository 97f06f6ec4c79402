//! How it all stands, for those who look.

use std::time::Duration;

use health::{Aggregate, Flow, MetricName, Reading, ServerName, Settings, State, Unit};
use rules::Mode;
use statement::Class;

use super::latency::Took;

/// One gate.
#[derive(Debug, Clone)]
pub struct GateSeen {
    pub settings: Settings,
    pub mode: Mode,
    pub aggregate: Aggregate,
    pub state: State,
    pub flow: Flow,
    /// Statements that it concerns and that run.
    pub in_flight: f64,
    /// Units that wait for it.
    pub waiting: usize,
    /// Logins that it stopped, or would have.
    pub logins_stopped: u64,
}

/// One metric on one server.
#[derive(Debug, Clone)]
pub struct MetricSeen {
    pub metric: MetricName,
    pub unit: Unit,
    pub server: ServerName,
    pub reading: Reading,
    pub age: Duration,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSeen {
    pub name: ServerName,
    pub role: String,
    pub version: String,
    pub read_only: bool,
    /// Of a replica, in words.
    pub replication: Option<String>,
}

/// Everything that is measured.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub metrics: Vec<MetricSeen>,
    pub servers: Vec<ServerSeen>,
    /// There is no traffic, and the servers are asked rarely.
    pub asleep: bool,
    /// Of the statements that ended in the last seconds, how long they took upstream.
    pub latencies: Vec<(Class, Took)>,
    pub commits: Option<Took>,
}
