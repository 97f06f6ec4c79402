//! A gate as an operator means it, less whom it concerns, which is `admission`'s business.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::metric::{BuiltIn, MetricName, Unit};

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub name: Arc<str>,
    pub metric: MetricName,
    pub unit: Unit,
    /// In the metric's unit. Over it nothing passes but the trickle.
    pub threshold: f64,
    pub scope: Scope,
    pub control: Control,
    pub on_stale: OnStale,
    /// How long a value counts.
    pub stale_after: Duration,
    /// How long it may be closed without the metric improving. `None`: for ever.
    pub max_closed: Option<Duration>,
    /// Units a second that pass while it is closed. 0: none.
    pub trickle: f64,
    /// Between two samples while there is traffic.
    pub interval: Duration,
}

impl Settings {
    pub const STALE_AFTER: Duration = Duration::from_secs(5);
    pub const MAX_CLOSED: Duration = Duration::from_secs(600);
    pub const TRICKLE: f64 = 1.0;
    pub const INTERVAL: Duration = Duration::from_millis(250);
    /// Of what moves slowly, and of what nobody gates on.
    pub const SLOW_INTERVAL: Duration = Duration::from_secs(1);
    /// No finer than this, whatever the threshold.
    pub const FINEST: Duration = Duration::from_millis(20);

    /// A gate with every default.
    pub fn new(metric: BuiltIn, threshold: f64) -> Settings {
        Settings {
            name: metric.as_str().into(),
            metric: metric.as_str().into(),
            unit: metric.unit(),
            threshold,
            scope: Scope::default(),
            control: Control::usual(metric),
            on_stale: OnStale::Open,
            stale_after: Settings::STALE_AFTER,
            max_closed: Some(Settings::MAX_CLOSED),
            trickle: Settings::TRICKLE,
            interval: Settings::usual_interval(metric, threshold),
        }
    }

    /// Of a time, a tenth of the threshold if that is less: lag must be seen much finer than it is judged.
    pub fn usual_interval(metric: BuiltIn, threshold: f64) -> Duration {
        match metric {
            BuiltIn::ReplicationLag | BuiltIn::CommitDelay => Duration::try_from_secs_f64(threshold / 10.0)
                .unwrap_or(Settings::INTERVAL)
                .clamp(Settings::FINEST, Settings::INTERVAL),
            BuiltIn::ThreadsRunning | BuiltIn::ConnectionsUsed | BuiltIn::LockWaits | BuiltIn::QueueLength => {
                Settings::INTERVAL
            }
            BuiltIn::HistoryListLength | BuiltIn::LoadAverage => Settings::SLOW_INTERVAL,
        }
    }
}

/// How the values of several servers become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scope {
    pub over: Over,
    /// So many of the highest values do not count, as long as one is left.
    pub ignore_worst: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Over {
    #[default]
    Max,
    Min,
    Avg,
}

impl Over {
    /// One number of several. `None`: there are none.
    pub fn of(self, values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
        let count = values.len() as f64;
        match self {
            Over::Max => values.reduce(f64::max),
            Over::Min => values.reduce(f64::min),
            Over::Avg => values.reduce(|sum, value| sum + value).map(|sum| sum / count),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Control {
    /// By the known backlog of the replicas.
    Paced,
    /// So many at once, by how the metric moves.
    Permits,
    /// Open or closed.
    Binary,
}

impl Control {
    pub fn usual(metric: BuiltIn) -> Control {
        match metric {
            BuiltIn::ReplicationLag => Control::Paced,
            BuiltIn::ThreadsRunning | BuiltIn::CommitDelay => Control::Permits,
            BuiltIn::ConnectionsUsed
            | BuiltIn::HistoryListLength
            | BuiltIn::LockWaits
            | BuiltIn::LoadAverage
            | BuiltIn::QueueLength => Control::Binary,
        }
    }
}

/// What a gate does when nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnStale {
    #[default]
    Open,
    Closed,
    /// What it did when somebody knew.
    HoldLast,
}

macro_rules! words {
    ($type:ident $($variant:ident $word:literal)*) => {
        impl $type {
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $word,)* }
            }

            pub fn named(word: &str) -> Option<$type> {
                match word { $($word => Some($type::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! { Over Max "max" Min "min" Avg "avg" }
words! { Control Paced "paced" Permits "permits" Binary "binary" }
words! { OnStale Open "open" Closed "closed" HoldLast "hold_last" }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_looked_at_ten_times_as_finely_as_it_is_judged() {
        for (metric, threshold, ms) in [
            (BuiltIn::ReplicationLag, 5.0, 250),
            (BuiltIn::ReplicationLag, 2.5, 250),
            (BuiltIn::ReplicationLag, 1.0, 100),
            (BuiltIn::ReplicationLag, 0.5, 50),
            (BuiltIn::ReplicationLag, 0.01, 20),
            (BuiltIn::CommitDelay, 0.05, 20),
            (BuiltIn::ThreadsRunning, 1.0, 250),
            (BuiltIn::ConnectionsUsed, 0.9, 250),
            (BuiltIn::HistoryListLength, 1e6, 1000),
            (BuiltIn::LoadAverage, 4.0, 1000),
        ] {
            assert_eq!(Settings::new(metric, threshold).interval, Duration::from_millis(ms), "{metric:?} {threshold}");
        }
    }
}
