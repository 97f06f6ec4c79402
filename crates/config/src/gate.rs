//! Gates and metrics as the rest of the program reads them.

mod write;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use health::{Settings, Unit};
use rules::{Action, Match, Mode};
use statement::Class;

pub(crate) use write::{gate_to_json, metric_to_json};

/// A metric with its threshold, and whom it holds back.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub settings: Settings,
    /// `None`: the default of the configuration.
    pub mode: Option<Mode>,
    /// The statements that it concerns, from mild to strict. Empty if it is on logins only.
    pub classes: Vec<Class>,
    /// It concerns logins.
    pub logins: bool,
    /// `None`: everyone.
    pub matching: Option<Match>,
    /// `None`: the default of the configuration.
    pub action: Option<Action>,
    /// `None`: the default of the configuration.
    pub max_delay: Option<Duration>,
    /// The most that a transaction is held which has only read. `None`: the default of the configuration.
    pub max_delay_after_reads: Option<Duration>,
}

/// There are slots for so many.
pub(crate) const MOST_GATES: usize = 64;

/// Something to measure that is not built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    pub name: Arc<str>,
    pub unit: Unit,
    pub ask: MetricQuestion,
    pub interval: Duration,
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricQuestion {
    /// Gives one number.
    Sql { sql: String, on: On },
    /// Answers with one number.
    Http { url: String },
}

/// Whom to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum On {
    #[default]
    Primary,
    Replicas,
}

impl On {
    pub fn as_str(self) -> &'static str {
        match self {
            On::Primary => "primary",
            On::Replicas => "replicas",
        }
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a rule may say of a gate.
#[derive(Debug, Clone)]
pub(crate) struct KnownGate {
    pub(crate) name: String,
    /// `None`: the gate itself is not in order, and that is said elsewhere.
    pub(crate) unit: Option<Unit>,
    /// Its classes have no statements.
    pub(crate) only_logins: bool,
}

impl KnownGate {
    pub(crate) fn all(gates: &[Gate]) -> Vec<KnownGate> {
        let known = |gate: &Gate| KnownGate {
            name: gate.settings.name.to_string(),
            unit: Some(gate.settings.unit),
            only_logins: gate.classes.is_empty(),
        };
        gates.iter().map(known).collect()
    }
}
