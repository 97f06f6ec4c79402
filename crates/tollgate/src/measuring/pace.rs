//! How often each metric is asked for: as often as a gate looks at it. What nobody gates on is only shown.

use std::time::Duration;

use admission::gates::Gates;
use health::{BuiltIn, Settings};
use probes::Pace;

use super::traffic::Traffic;

/// All of them come with one look at the primary.
const STATUS: [BuiltIn; 4] =
    [BuiltIn::ThreadsRunning, BuiltIn::ConnectionsUsed, BuiltIn::LockWaits, BuiltIn::LoadAverage];

/// One look costs the primary as much as all of its status, and what it shows moves in minutes.
const HISTORY_SHOWN: Duration = Duration::from_secs(5);

pub(super) fn of(gates: &Gates, traffic: &Traffic) -> Pace {
    let asked = |metrics: &[BuiltIn]| gates.interval(metrics).map(|interval| interval.min(Settings::SLOW_INTERVAL));
    let history = asked(&[BuiltIn::HistoryListLength]);
    let status = asked(&STATUS).into_iter().chain(history).min();
    Pace {
        status: traffic.interval(status.unwrap_or(Settings::SLOW_INTERVAL)),
        history: traffic.interval(history.unwrap_or(HISTORY_SHOWN)),
        lag: traffic.interval(asked(&[BuiltIn::ReplicationLag]).unwrap_or(Settings::SLOW_INTERVAL)),
        // They have intervals of their own.
        custom: traffic.interval(Duration::ZERO),
        wakes: traffic.wakes(),
    }
}
