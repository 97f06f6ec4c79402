//! How it all stands, for those who look.

use std::time::Duration;

use health::{Aggregate, Flow, MetricName, Reading, ServerName, Settings, State, Unit};
use rules::Mode;

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

/// Everything that is measured.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub metrics: Vec<MetricSeen>,
}
