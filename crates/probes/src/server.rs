//! What a server is: its make and version, its identity, and whether it follows another.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use health::{Reading, Unknown};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    Mysql,
    Mariadb,
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flavor::Mysql => "MySQL",
            Flavor::Mariadb => "MariaDB",
        })
    }
}

/// What stays the same for as long as a connection lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) flavor: Flavor,
    pub(crate) version: Arc<str>,
    pub(crate) id: Arc<str>,
    /// Of what this connection writes the binlog has the rows, at least of what statements cannot say; else a replica runs
    /// the statement anew, with its own settings.
    pub(crate) logs_rows: bool,
}

/// One statement that every server understands, whatever variables it has.
pub(crate) const IDENTITY: &str = "SHOW SESSION VARIABLES WHERE Variable_name IN \
    ('version', 'version_comment', 'server_uuid', 'server_uid', 'server_id', 'hostname', 'port', 'binlog_format')";

impl Identity {
    pub(crate) fn of(variables: &[(String, String)]) -> Identity {
        let named = |wanted: &str| {
            variables.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map_or("", |(_, value)| value.as_str())
        };
        let version = named("version");
        let maria = |text: &str| text.to_ascii_lowercase().contains("mariadb");
        let flavor = if maria(version) || maria(named("version_comment")) { Flavor::Mariadb } else { Flavor::Mysql };
        // MariaDB has no uuid, and from 10.11.9 on a uid. Without it: what nobody gives to two servers at once.
        let id = [named("server_uuid"), named("server_uid")]
            .into_iter()
            .find(|id| !id.is_empty())
            .map_or_else(|| format!("{}@{}:{}", named("server_id"), named("hostname"), named("port")), str::to_owned);
        let logs_rows = !named("binlog_format").eq_ignore_ascii_case("statement");
        Identity { flavor, version: version.into(), id: id.into(), logs_rows }
    }
}

/// What a server that should follow another does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplicationState {
    Replicating,
    /// It applies what it has, and has lost its source.
    Connecting,
    /// It applies what it has, and is not told to get more.
    ReceiverStopped,
    ApplierStopped,
    /// Behind on purpose.
    Delayed(Duration),
    NotAReplica,
}

impl fmt::Display for ReplicationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReplicationState::Replicating => "replicating",
            ReplicationState::Connecting => "connecting to its source",
            ReplicationState::ReceiverStopped => "receiver stopped",
            ReplicationState::ApplierStopped => "applier stopped",
            ReplicationState::Delayed(by) => return write!(f, "delayed on purpose by {} s", by.as_secs()),
            ReplicationState::NotAReplica => "not a replica",
        })
    }
}

impl ReplicationState {
    /// What it says of the lag by itself, whatever else is measured.
    pub(crate) fn verdict(&self) -> Option<Reading> {
        match self {
            ReplicationState::NotAReplica => Some(Reading::Unknown(Unknown::NotAReplica)),
            ReplicationState::ApplierStopped => Some(Reading::Unknown(Unknown::Stopped)),
            ReplicationState::Delayed(_) => Some(Reading::Delayed),
            ReplicationState::Replicating | ReplicationState::Connecting | ReplicationState::ReceiverStopped => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(variables: &[(&str, &str)]) -> Identity {
        let owned: Vec<_> = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Identity::of(&owned)
    }

    #[test]
    fn a_server_is_told_by_what_it_has() {
        for (variables, flavor, id) in [
            (&[("version", "9.7.4"), ("server_uuid", "u-1"), ("server_id", "1")][..], Flavor::Mysql, "u-1"),
            (&[("version", "10.11.18-MariaDB-log"), ("server_uid", "abc=")], Flavor::Mariadb, "abc="),
            (
                &[("version", "10.6.2-MariaDB"), ("server_id", "3"), ("hostname", "db"), ("port", "3306")],
                Flavor::Mariadb,
                "3@db:3306",
            ),
            (&[("version", "11.4.2"), ("version_comment", "mariadb.org binary distribution")], Flavor::Mariadb, "@:"),
            (&[], Flavor::Mysql, "@:"),
        ] {
            let found = identity(variables);
            assert_eq!((found.flavor, &*found.id), (flavor, id), "{variables:?}");
        }
    }

    #[test]
    fn whether_a_replica_runs_our_statements_is_told() {
        for (format, logs_rows) in [("ROW", true), ("MIXED", true), ("STATEMENT", false), ("statement", false)] {
            assert_eq!(identity(&[("binlog_format", format)]).logs_rows, logs_rows, "{format}");
        }
        assert!(identity(&[]).logs_rows, "from some version on there will be no other");
    }
}
