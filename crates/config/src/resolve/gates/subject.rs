//! What a gate is on, and what follows from that.

use std::time::Duration;

use health::{BuiltIn, Control, Settings, Unit};
use statement::Class;

use crate::gate::{Metric, MetricQuestion, On};

/// From mild to strict.
pub(super) const STATEMENTS: [Class; 5] = [Class::Read, Class::Write, Class::Call, Class::Unparsed, Class::Ddl];

pub(super) enum Subject<'m> {
    BuiltIn(BuiltIn),
    Custom(&'m Metric),
}

impl<'m> Subject<'m> {
    pub(super) fn named(name: &str, metrics: &'m [Metric]) -> Option<Subject<'m>> {
        let custom = || metrics.iter().find(|metric| *metric.name == *name).map(Subject::Custom);
        BuiltIn::named(name).map(Subject::BuiltIn).or_else(custom)
    }

    pub(super) fn names(metrics: &'m [Metric]) -> Vec<&'m str> {
        let built_in = BuiltIn::ALL.iter().map(|metric| metric.as_str());
        built_in.chain(metrics.iter().map(|metric| &*metric.name)).collect()
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Subject::BuiltIn(metric) => metric.as_str(),
            Subject::Custom(metric) => &metric.name,
        }
    }

    pub(super) fn custom(&self) -> Option<&'m Metric> {
        match self {
            Subject::BuiltIn(_) => None,
            Subject::Custom(metric) => Some(metric),
        }
    }

    pub(super) fn unit(&self) -> Unit {
        match self {
            Subject::BuiltIn(metric) => metric.unit(),
            Subject::Custom(metric) => metric.unit,
        }
    }

    fn is(&self, built_in: BuiltIn) -> bool {
        matches!(self, Subject::BuiltIn(metric) if *metric == built_in)
    }

    pub(super) fn is_lag(&self) -> bool {
        self.is(BuiltIn::ReplicationLag)
    }

    pub(super) fn is_on_logins(&self) -> bool {
        self.is(BuiltIn::ConnectionsUsed)
    }

    pub(super) fn is_of_host(&self) -> bool {
        self.is(BuiltIn::LoadAverage)
    }

    /// Of more than one server.
    pub(super) fn is_of_several(&self) -> bool {
        let on_replicas = |metric: &Metric| matches!(metric.ask, MetricQuestion::Sql { on: On::Replicas, .. });
        self.is_lag() || self.custom().is_some_and(on_replicas)
    }

    /// With the probe user.
    pub(super) fn asks_server(&self) -> bool {
        match self {
            Subject::BuiltIn(metric) => !metric.is_our_own() && !self.is_of_host(),
            // That is said at the metric.
            Subject::Custom(_) => false,
        }
    }

    pub(super) fn usual_control(&self) -> Control {
        match self {
            Subject::BuiltIn(metric) => Control::usual(*metric),
            Subject::Custom(_) => Control::Binary,
        }
    }

    pub(super) fn usual_interval(&self, threshold: f64) -> Duration {
        match self {
            Subject::BuiltIn(metric) => Settings::usual_interval(*metric, threshold),
            Subject::Custom(metric) => metric.interval,
        }
    }

    /// Statements, and whether logins.
    pub(super) fn usual_classes(&self) -> (Vec<Class>, bool) {
        match self {
            Subject::BuiltIn(BuiltIn::ConnectionsUsed) => (Vec::new(), true),
            Subject::BuiltIn(BuiltIn::ReplicationLag | BuiltIn::CommitDelay) => {
                (STATEMENTS.into_iter().filter(|class| *class != Class::Read).collect(), false)
            }
            Subject::BuiltIn(
                BuiltIn::ThreadsRunning
                | BuiltIn::HistoryListLength
                | BuiltIn::LockWaits
                | BuiltIn::LoadAverage
                | BuiltIn::QueueLength,
            )
            | Subject::Custom(_) => (STATEMENTS.into(), false),
        }
    }

    /// A threshold that many would choose.
    pub(super) fn example(&self) -> &'static str {
        match self {
            Subject::BuiltIn(BuiltIn::CommitDelay) => "50ms",
            Subject::BuiltIn(BuiltIn::HistoryListLength) => "1000000",
            Subject::BuiltIn(_) | Subject::Custom(_) => match self.unit() {
                Unit::Seconds => "5s",
                Unit::Count => "40",
                Unit::Share => "90%",
            },
        }
    }
}
