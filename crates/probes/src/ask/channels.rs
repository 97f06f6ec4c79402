//! Whether a server follows another, and whether it gets and applies what it should.

use std::time::Duration;

use health::{Reading, Unknown};
use mysql_async::Conn;

use crate::rows::{TextRow, prepared, rows};
use crate::server::{Flavor, ReplicationState};
use crate::trouble::is_syntax;

/// One source that a server follows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) receiver: Receiver,
    pub(crate) applies: bool,
    pub(crate) delay: Duration,
    /// Whole seconds, as the server reckons; NULL where it cannot, or where the answer has no such column.
    pub(crate) seconds_behind: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    On,
    Connecting,
    Off,
}

/// A member that joins a group uses it to catch up; afterwards it rests.
const ONLY_TO_JOIN: &str = "group_replication_recovery";

/// By performance_schema, which knows group replication too.
const TABLES: &str = "SELECT c.CHANNEL_NAME, c.SERVICE_STATE AS receiver, a.SERVICE_STATE AS applier, f.DESIRED_DELAY \
    FROM performance_schema.replication_connection_status c \
    JOIN performance_schema.replication_applier_status a ON a.CHANNEL_NAME = c.CHANNEL_NAME \
    JOIN performance_schema.replication_applier_configuration f ON f.CHANNEL_NAME = c.CHANNEL_NAME";

pub(crate) async fn ask(connection: &mut Conn, flavor: Flavor) -> mysql_async::Result<Vec<Channel>> {
    match flavor {
        Flavor::Mariadb => Ok(shown(&rows(connection, "SHOW ALL SLAVES STATUS").await?)),
        Flavor::Mysql => match prepared(connection, TABLES).await {
            Ok(rows) if !rows.is_empty() => Ok(tabled(&rows)),
            Err(error) if error.is_fatal() => Err(error),
            // Empty also where performance_schema is off, so nobody is said to follow no one by this alone; nor because the
            // statement was refused, or its answer was lost.
            Ok(_) | Err(_) => show(connection).await,
        },
    }
}

/// MySQL's statement, by its new and its old name.
pub(crate) async fn show(connection: &mut Conn) -> mysql_async::Result<Vec<Channel>> {
    match rows(connection, "SHOW REPLICA STATUS").await {
        Err(error) if is_syntax(&error) => Ok(shown(&rows(connection, "SHOW SLAVE STATUS").await?)),
        rows => Ok(shown(&rows?)),
    }
}

fn tabled(rows: &[TextRow]) -> Vec<Channel> {
    let channels = rows.iter().map(|row| Channel {
        name: row.text(&["CHANNEL_NAME"]).to_owned(),
        receiver: match row.text(&["receiver"]) {
            "ON" => Receiver::On,
            "CONNECTING" => Receiver::Connecting,
            _ => Receiver::Off,
        },
        applies: row.text(&["applier"]) == "ON",
        delay: seconds(row.number(&["DESIRED_DELAY"])),
        seconds_behind: None,
    });
    channels.filter(|channel| channel.name != ONLY_TO_JOIN).collect()
}

fn shown(rows: &[TextRow]) -> Vec<Channel> {
    let channels = rows.iter().map(|row| Channel {
        name: row.text(&["Channel_Name", "Connection_name"]).to_owned(),
        receiver: match row.text(&["Replica_IO_Running", "Slave_IO_Running"]) {
            "Yes" => Receiver::On,
            "Connecting" | "Preparing" => Receiver::Connecting,
            _ => Receiver::Off,
        },
        applies: row.text(&["Replica_SQL_Running", "Slave_SQL_Running"]) == "Yes",
        delay: seconds(row.number(&["SQL_Delay"])),
        seconds_behind: row.number(&["Seconds_Behind_Source", "Seconds_Behind_Master"]),
    });
    channels.filter(|channel| channel.name != ONLY_TO_JOIN).collect()
}

fn seconds(number: Option<f64>) -> Duration {
    number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or_default()
}

/// Of several channels, the worst.
pub(crate) fn state(channels: &[Channel]) -> ReplicationState {
    let delay = channels.iter().map(|channel| channel.delay).max().unwrap_or_default();
    let any = |receiver: Receiver| channels.iter().any(|channel| channel.receiver == receiver);
    if channels.is_empty() {
        ReplicationState::NotAReplica
    } else if channels.iter().any(|channel| !channel.applies) {
        ReplicationState::ApplierStopped
    } else if !delay.is_zero() {
        ReplicationState::Delayed(delay)
    } else if any(Receiver::Off) {
        ReplicationState::ReceiverStopped
    } else if any(Receiver::Connecting) {
        ReplicationState::Connecting
    } else {
        ReplicationState::Replicating
    }
}

/// The lag as SHOW REPLICA STATUS has it: whole seconds, 0 while nothing waits to be applied here, even if much waits to
/// be fetched, and by clocks whose difference was taken when the receiver connected. The worst channel; NULL anywhere is
/// NULL.
pub(crate) fn seconds_behind(channels: &[Channel]) -> Reading {
    let worst = channels.iter().map(|channel| channel.seconds_behind).collect::<Option<Vec<f64>>>();
    let worst = worst.and_then(|all| all.into_iter().max_by(f64::total_cmp));
    worst.map_or(Reading::Unknown(Unknown::Null), Reading::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[(&str, &str)]) -> TextRow {
        let value = |value: &str| (value != "NULL").then(|| value.to_owned());
        TextRow(columns.iter().map(|(name, text)| (name.to_string(), value(text))).collect())
    }

    #[test]
    fn every_answer_has_its_state() {
        let tables = |name, receiver, applier, delay| {
            row(&[("CHANNEL_NAME", name), ("receiver", receiver), ("applier", applier), ("DESIRED_DELAY", delay)])
        };
        let good = || tables("", "ON", "ON", "0");
        for (rows, expected) in [
            (vec![good()], ReplicationState::Replicating),
            (vec![], ReplicationState::NotAReplica),
            (vec![tables("", "ON", "OFF", "0")], ReplicationState::ApplierStopped),
            (vec![tables("", "OFF", "OFF", "60")], ReplicationState::ApplierStopped),
            (vec![tables("", "ON", "ON", "60")], ReplicationState::Delayed(Duration::from_secs(60))),
            (vec![tables("", "CONNECTING", "ON", "0")], ReplicationState::Connecting),
            (vec![tables("", "OFF", "ON", "0")], ReplicationState::ReceiverStopped),
            (vec![good(), tables("b", "ON", "OFF", "0")], ReplicationState::ApplierStopped),
            (vec![good(), tables("b", "CONNECTING", "ON", "0")], ReplicationState::Connecting),
            (
                vec![tables("group_replication_applier", "ON", "ON", "0"), tables(ONLY_TO_JOIN, "OFF", "OFF", "0")],
                ReplicationState::Replicating,
            ),
            (vec![tables(ONLY_TO_JOIN, "OFF", "OFF", "0")], ReplicationState::NotAReplica),
            (vec![row(&[])], ReplicationState::ApplierStopped),
        ] {
            assert_eq!(state(&tabled(&rows)), expected, "{rows:?}");
        }
    }

    #[test]
    fn the_statement_says_it_in_the_words_of_each_version() {
        let old = |io, sql, behind, delay| {
            row(&[
                ("Slave_IO_Running", io),
                ("Slave_SQL_Running", sql),
                ("Seconds_Behind_Master", behind),
                ("SQL_Delay", delay),
            ])
        };
        let new = row(&[("Replica_IO_Running", "Yes"), ("Replica_SQL_Running", "Yes"), ("Seconds_Behind_Source", "7")]);
        let null = Reading::Unknown(Unknown::Null);
        for (rows, expected, lag) in [
            (vec![new.clone()], ReplicationState::Replicating, Reading::Value(7.0)),
            (vec![old("Yes", "Yes", "3", "0"), new], ReplicationState::Replicating, Reading::Value(7.0)),
            (vec![old("Connecting", "Yes", "NULL", "0")], ReplicationState::Connecting, null),
            (vec![old("No", "Yes", "NULL", "0")], ReplicationState::ReceiverStopped, null),
            (vec![old("Yes", "No", "NULL", "0")], ReplicationState::ApplierStopped, null),
            (
                vec![old("Yes", "Yes", "60", "60")],
                ReplicationState::Delayed(Duration::from_secs(60)),
                Reading::Value(60.0),
            ),
            (vec![old("Yes", "Yes", "-3", "0")], ReplicationState::Replicating, Reading::Unknown(Unknown::Negative)),
            (vec![old("Yes", "Yes", "soon", "-1")], ReplicationState::Replicating, null),
        ] {
            let channels = shown(&rows);
            assert_eq!((state(&channels), seconds_behind(&channels)), (expected, lag), "{rows:?}");
        }
    }
}
