//! The user that the probes need, with no more than they need.

use std::fmt::Write;

use crate::heartbeat::table::quoted;
use crate::server::Flavor;
use crate::settings::{Heartbeat, MissingTable};

/// For what the user is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants<'s> {
    pub user: &'s str,
    /// From where the proxy connects, as MySQL writes it: `10.0.0.%`.
    pub host: &'s str,
    pub heartbeat: Option<&'s Heartbeat>,
    pub discover: bool,
}

/// The tables of performance_schema that are read, and why.
const REPLICATION: &[&str] = &[
    "replication_connection_status",
    "replication_applier_status",
    "replication_applier_configuration",
    "replication_applier_status_by_worker",
];

/// The statements, a line each with what it is for. To be run on the primary; the replicas get them by replication.
pub fn grants(flavor: Flavor, wanted: &Grants<'_>) -> String {
    let account = format!("{}@{}", text(wanted.user), text(wanted.host));
    let mut sql = String::new();
    let mut line = |statement: String, why: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(sql, "{statement}; -- {why}");
    };
    line(
        format!("CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '<password>'"),
        "the proxy's own user; the password as under `probe`",
    );
    let mut global = |privilege: &str, why: &str| line(format!("GRANT {privilege} ON *.* TO {account}"), why);
    global("PROCESS", "history_list_length");
    match flavor {
        Flavor::Mysql => {
            global("REPLICATION CLIENT", "the state of replicas: SHOW REPLICA STATUS");
            if wanted.discover {
                global("REPLICATION SLAVE", "replicas: discover, by SHOW REPLICAS");
            }
            global("CONNECTION_ADMIN", "KILL QUERY for statements whose client has left");
        }
        Flavor::Mariadb => {
            global("REPLICA MONITOR", "the state and lag of replicas: SHOW ALL REPLICAS STATUS");
            if wanted.discover {
                global("REPLICATION MASTER ADMIN", "replicas: discover, by SHOW REPLICA HOSTS");
            }
            global("CONNECTION ADMIN", "KILL QUERY for statements whose client has left");
        }
    }
    let mut table = |name: &str, why: &str| {
        line(format!("GRANT SELECT ON performance_schema.{name} TO {account}"), why);
    };
    if flavor == Flavor::Mysql {
        for name in REPLICATION {
            table(name, "the state of replicas, and their lag where there is no heartbeat");
        }
        if wanted.discover {
            table("replication_group_members", "replicas: discover, in a group");
        }
    }
    if wanted.discover {
        table("threads", "replicas: discover, of those that do not report their address");
    }
    table("events_statements_summary_by_digest", "rules that name a statement by MySQL's digest");
    if let Some(heartbeat) = wanted.heartbeat {
        let schema = pattern(&heartbeat.schema);
        line(format!("GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.* TO {account}"), "the heartbeat's rows");
        match heartbeat.missing {
            MissingTable::Create => {
                line(format!("GRANT CREATE ON {schema}.* TO {account}"), "to make the heartbeat's table")
            }
            MissingTable::SayHow => {}
        }
    }
    sql
}

/// A schema's name in a GRANT is a pattern.
fn pattern(schema: &str) -> String {
    quoted(&schema.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%"))
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_says_what_it_is_for_and_nothing_is_asked_for_that_is_not_wanted() {
        let heartbeat = Heartbeat {
            schema: "toll_gate".into(),
            table: "beats".into(),
            proxy: "p".into(),
            missing: MissingTable::SayHow,
        };
        for flavor in [Flavor::Mysql, Flavor::Mariadb] {
            let least = grants(flavor, &Grants { user: "toll'gate", host: "%", heartbeat: None, discover: false });
            assert!(least.lines().all(|line| line.contains("; -- ")), "{least}");
            assert!(least.starts_with("CREATE USER IF NOT EXISTS 'toll''gate'@'%'"), "{least}");
            for unwanted in ["SLAVE", "MASTER", "INSERT", "CREATE ON", "threads"] {
                assert!(!least.contains(unwanted), "{unwanted}: {least}");
            }
            let all = grants(flavor, &Grants { user: "t", host: "%", heartbeat: Some(&heartbeat), discover: true });
            assert!(all.contains("DELETE ON `toll\\_gate`.* TO 't'@'%'"), "{all}");
            assert!(!all.contains("CREATE ON"), "{all}");
        }
    }
}
