//! How it all stands, for those who look.

use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// Units that wait for it, or for a threshold that a rule sets at it.
    pub waiting: usize,
    /// Logins that it stopped, or would have.
    pub logins_stopped: u64,
    /// How often it was closed for `max_closed` and gave up.
    pub given_up: u64,
    /// When the oldest of what it goes by was measured. `None`: nothing is known.
    pub sampled: Option<Instant>,
    /// Since when its state is what it is. `None`: nobody has told it anything yet.
    pub since: Option<Instant>,
}

/// A gate whose state is another than it was.
#[derive(Debug, Clone)]
pub struct Turned {
    pub gate: Arc<str>,
    pub metric: MetricName,
    pub unit: Unit,
    pub mode: Mode,
    pub state: State,
    pub flow: Flow,
    pub aggregate: Aggregate,
    pub threshold: f64,
    pub waiting: usize,
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
    /// When it was published; ages are of then.
    pub at: Option<Instant>,
    pub metrics: Vec<MetricSeen>,
    pub servers: Vec<ServerSeen>,
    /// There is no traffic, and the servers are asked rarely.
    pub asleep: bool,
    /// Of the statements that ended in the last seconds, how long they took upstream.
    pub latencies: Vec<(Class, Took)>,
    pub commits: Option<Took>,
}

impl Seen {
    /// How much older everything is by now.
    pub fn since(&self, now: Instant) -> Duration {
        self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at))
    }
}
