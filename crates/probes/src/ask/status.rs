//! Threads, connections and lock waits, by one statement.

use health::{BuiltIn, Reading, Unknown};
use mysql_async::Conn;

use crate::rows::{pairs, prepared, rows};
use crate::server::Flavor;

/// The metrics that every sample of the primary has.
pub(crate) const METRICS: [BuiltIn; 3] = [BuiltIn::ThreadsRunning, BuiltIn::ConnectionsUsed, BuiltIn::LockWaits];

/// Our own, which is running while it asks.
const OURS: f64 = 1.0;

/// What of the status is read. `None`: the server did not tell, or told no number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Status {
    pub(crate) running: Option<f64>,
    pub(crate) connected: Option<f64>,
    pub(crate) lock_waits: Option<f64>,
}

pub(crate) async fn ask(connection: &mut Conn, flavor: Flavor) -> mysql_async::Result<Status> {
    // The table costs the server a quarter of SHOW, which is all that MariaDB has.
    let told = match flavor {
        Flavor::Mysql => prepared(connection, TABLE).await?,
        Flavor::Mariadb => rows(connection, SHOW).await?,
    };
    Ok(Status::of(&pairs(told)))
}

const TABLE: &str = "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_status \
    WHERE VARIABLE_NAME IN ('Threads_running', 'Threads_connected', 'Innodb_row_lock_current_waits')";
const SHOW: &str = "SHOW GLOBAL STATUS \
    WHERE Variable_name IN ('Threads_running', 'Threads_connected', 'Innodb_row_lock_current_waits')";

impl Status {
    pub(crate) fn of(variables: &[(String, String)]) -> Status {
        let named = |wanted: &str| {
            let value = variables.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            value.and_then(|(_, value)| value.trim().parse::<f64>().ok())
        };
        Status {
            running: named("Threads_running"),
            connected: named("Threads_connected"),
            lock_waits: named("Innodb_row_lock_current_waits"),
        }
    }

    pub(crate) fn readings(&self, most_connections: Option<f64>) -> [(BuiltIn, Reading); 3] {
        let used = match (self.connected, most_connections) {
            (Some(connected), Some(most)) if most > 0.0 => Some(connected / most),
            _ => None,
        };
        [
            (BuiltIn::ThreadsRunning, told(self.running.map(|running| (running - OURS).max(0.0)))),
            (BuiltIn::ConnectionsUsed, told(used)),
            (BuiltIn::LockWaits, told(self.lock_waits)),
        ]
    }
}

fn told(value: Option<f64>) -> Reading {
    value.map_or(Reading::Unknown(Unknown::Unsupported), Reading::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(variables: &[(&str, &str)], most: Option<f64>) -> [Reading; 3] {
        let owned: Vec<_> = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Status::of(&owned).readings(most).map(|(_, reading)| reading)
    }

    #[test]
    fn what_is_told_is_read_and_what_is_not_is_unknown() {
        let not_told = Reading::Unknown(Unknown::Unsupported);
        let all =
            [("threads_running", "5"), ("Threads_connected", "30"), ("Innodb_row_lock_current_waits", "2")].as_slice();
        for (variables, most, expected) in [
            (all, Some(60.0), [Reading::Value(4.0), Reading::Value(0.5), Reading::Value(2.0)]),
            (all, None, [Reading::Value(4.0), not_told, Reading::Value(2.0)]),
            (all, Some(0.0), [Reading::Value(4.0), not_told, Reading::Value(2.0)]),
            (&[("Threads_running", "0")], Some(9.0), [Reading::Value(0.0), not_told, not_told]),
            (&[("Threads_running", "many")], Some(9.0), [not_told; 3]),
            (
                &[("Innodb_row_lock_current_waits", "-1")],
                None,
                [not_told, not_told, Reading::Unknown(Unknown::Negative)],
            ),
        ] {
            assert_eq!(readings(variables, most), expected, "{variables:?}");
        }
    }
}
