//! What can be measured.

use std::fmt;
use std::sync::Arc;

/// A built-in metric's name, or one that the configuration gives.
pub type MetricName = Arc<str>;

/// The address of a server as it is written or was discovered; `proxy` and `host` for what is measured here.
pub type ServerName = Arc<str>;

macro_rules! built_in {
    ($($variant:ident $name:literal $unit:ident,)*) => {
        /// Measured whether or not a gate is on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum BuiltIn { $($variant,)* }

        impl BuiltIn {
            pub const ALL: &'static [BuiltIn] = &[$(BuiltIn::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(BuiltIn::$variant => $name,)* }
            }

            pub fn unit(self) -> Unit {
                match self { $(BuiltIn::$variant => Unit::$unit,)* }
            }
        }
    };
}

built_in! {
    ReplicationLag "replication_lag" Seconds,
    ThreadsRunning "threads_running" Count,
    CommitDelay "commit_delay" Seconds,
    ConnectionsUsed "connections_used" Share,
    HistoryListLength "history_list_length" Count,
    LockWaits "lock_waits" Count,
    LoadAverage "load_average" Count,
    QueueLength "queue_length" Count,
}

impl BuiltIn {
    pub fn named(name: &str) -> Option<BuiltIn> {
        BuiltIn::ALL.iter().copied().find(|metric| metric.as_str() == name)
    }

    /// Measured by the proxy on its own traffic: there is nobody to ask, and nothing to wait for.
    pub fn is_our_own(self) -> bool {
        match self {
            BuiltIn::CommitDelay | BuiltIn::QueueLength => true,
            BuiltIn::ReplicationLag
            | BuiltIn::ThreadsRunning
            | BuiltIn::ConnectionsUsed
            | BuiltIn::HistoryListLength
            | BuiltIn::LockWaits
            | BuiltIn::LoadAverage => false,
        }
    }
}

impl fmt::Display for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a value is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Unit {
    Seconds,
    #[default]
    Count,
    /// From 0 to 1.
    Share,
}

impl Unit {
    pub const ALL: [Unit; 3] = [Unit::Seconds, Unit::Count, Unit::Share];

    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Count => "count",
            Unit::Share => "share",
        }
    }

    pub fn named(word: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.as_str() == word)
    }

    /// As an operator would write it.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Seconds if value < 1.0 => format!("{:.0}ms", value * 1000.0),
            Unit::Seconds if value < 100.0 => format!("{value:.1}s"),
            Unit::Seconds => format!("{value:.0}s"),
            Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
            Unit::Count => format!("{value:.2}"),
            Unit::Share => format!("{:.0}%", value * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_they_are_written() {
        for (unit, value, shown) in [
            (Unit::Seconds, 0.25, "250ms"),
            (Unit::Seconds, 5.0, "5.0s"),
            (Unit::Seconds, 600.0, "600s"),
            (Unit::Count, 40.0, "40"),
            (Unit::Count, 1.5, "1.50"),
            (Unit::Share, 0.9, "90%"),
        ] {
            assert_eq!(unit.show(value), shown);
        }
    }

    #[test]
    fn every_built_in_metric_is_found_by_its_name() {
        for metric in BuiltIn::ALL {
            assert_eq!(BuiltIn::named(metric.as_str()), Some(*metric));
        }
        assert_eq!(BuiltIn::named("lag"), None);
    }
}
