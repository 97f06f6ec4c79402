//! The user that the probes need, with no more than they need.

use std::fmt::Write;

use crate::heartbeat::table;
use crate::server::Flavor;
use crate::settings::{Heartbeat, MissingTable};

/// For what the user is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants<'s> {
    pub user: &'s str,
    /// From where the proxy connects, as MySQL writes it: `10.0.0.%`.
    pub host: &'s str,
    /// `None`: to be written in. Until then the first statement is none, so that nothing is run.
    pub password: Option<&'s str>,
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

/// The statements, a line each with what it is for. To be run on the primary; the replicas get them by replication. The
/// heartbeat's table must be there ([`heartbeat_statements`](crate::heartbeat_statements)), unless the proxy is to make it.
pub fn grants(flavor: Flavor, wanted: &Grants<'_>) -> String {
    let account = format!("{}@{}", text(wanted.user), text(wanted.host));
    let mut sql = String::new();
    let mut line = |statement: String, why: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(sql, "{statement}; -- {why}");
    };
    let (password, why) = match wanted.password {
        Some(password) => (text(password), "the proxy's own user"),
        None => ("<password>".to_owned(), "the proxy's own user: write the password here, in quotes, as under `probe`"),
    };
    line(format!("CREATE USER IF NOT EXISTS {account} IDENTIFIED BY {password}"), why);
    line(format!("ALTER USER {account} IDENTIFIED BY {password}"), "also if the user was there");
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
    let mut read = |name: &str, why: &str| {
        line(format!("GRANT SELECT ON performance_schema.{name} TO {account}"), why);
    };
    if flavor == Flavor::Mysql {
        for name in REPLICATION {
            read(name, "the state of replicas, and their lag where there is no heartbeat");
        }
        if wanted.discover {
            read("replication_group_members", "replicas: discover, in a group");
        }
    }
    if wanted.discover {
        read("threads", "replicas: discover, of those that do not report their address");
    }
    read("events_statements_summary_by_digest", "rules that name a statement by MySQL's digest");
    if let Some(heartbeat) = wanted.heartbeat {
        // On the table alone: in its schema there may be others. The schema's name is no pattern then.
        let name = table::name(heartbeat);
        let rows = "SELECT, INSERT, UPDATE, DELETE";
        match heartbeat.missing {
            MissingTable::SayHow => line(format!("GRANT {rows} ON {name} TO {account}"), "the heartbeat's rows"),
            MissingTable::Create => {
                let [schema, _] = table::statements(heartbeat);
                line(schema, "the heartbeat's schema: the proxy could make it only if it might make any table in it");
                // In one statement: on a table that is not there yet only what contains CREATE can be granted.
                let grant = format!("GRANT CREATE, {rows} ON {name} TO {account}");
                line(grant, "to make the heartbeat's table, and its rows");
            }
        }
    }
    sql.push_str(&optional(flavor, &account));
    sql
}

/// What shows views, routines and triggers, commented out: SELECT also reads the data.
fn optional(flavor: Flavor, account: &str) -> String {
    let (routines, name) = match flavor {
        Flavor::Mysql => ("SHOW_ROUTINE ON *.*", "the bodies of routines"),
        Flavor::Mariadb => ("SELECT ON mysql.proc", "the bodies of routines; from 11.3 on SHOW CREATE ROUTINE ON *.*"),
    };
    format!(
        "-- Optional; without it, rules on tables do not see through views, routines and triggers:\n\
         -- GRANT SELECT, SHOW VIEW ON *.* TO {account}; -- the definitions of views. The server shows them only to who \
         may read their data; a schema instead of *.* shows those of the schema\n\
         -- GRANT TRIGGER ON *.* TO {account}; -- triggers\n\
         -- GRANT {routines} TO {account}; -- {name}\n"
    )
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
        let made = Heartbeat { missing: MissingTable::Create, ..heartbeat.clone() };
        for flavor in [Flavor::Mysql, Flavor::Mariadb] {
            let least = grants(
                flavor,
                &Grants { user: "toll'gate", host: "%", password: None, heartbeat: None, discover: false },
            );
            assert!(least.lines().all(|line| line.contains("; -- ") || line.starts_with("-- ")), "{least}");
            assert!(least.contains("\n-- GRANT SELECT, SHOW VIEW ON *.* TO 'toll''gate'@'%'; -- "), "{least}");
            assert!(!least.lines().any(|line| line.starts_with("GRANT SELECT ON *.*")), "{least}");
            assert!(
                least.starts_with("CREATE USER IF NOT EXISTS 'toll''gate'@'%' IDENTIFIED BY <password>; "),
                "{least}"
            );
            assert!(least.contains("\nALTER USER 'toll''gate'@'%' IDENTIFIED BY <password>; "), "{least}");
            for unwanted in ["SLAVE", "MASTER", "INSERT", "CREATE ON", "threads"] {
                assert!(!least.contains(unwanted), "{unwanted}: {least}");
            }
            let all = |heartbeat| Grants {
                user: "t",
                host: "%",
                password: Some("o'k"),
                heartbeat: Some(heartbeat),
                discover: true,
            };
            for (heartbeat, wanted, unwanted) in [
                (
                    &heartbeat,
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON `toll_gate`.`beats` TO 't'@'%'; -- ",
                    "CREATE DATABASE",
                ),
                (
                    &made,
                    "GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON `toll_gate`.`beats` TO 't'@'%'; -- ",
                    "gate`.*",
                ),
            ] {
                let all = grants(flavor, &all(heartbeat));
                assert!(all.contains(wanted) && !all.contains(unwanted), "{all}");
                assert!(all.matches(" IDENTIFIED BY 'o''k'; ").count() == 2 && !all.contains('<'), "{all}");
            }
        }
    }
}
