//! The accounts and databases that every server of the sandbox has from the start.

use crate::Flavor;

/// A name and its password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login {
    pub user: &'static str,
    pub password: &'static str,
}

/// All privileges, with grant option.
pub const APP: Login = Login { user: "app", password: "app-pw" };
/// All privileges; a second application for rules to tell apart.
pub const ETL: Login = Login { user: "etl", password: "etl-pw" };
/// REPLICATION CLIENT, PROCESS and reading performance_schema.
pub const MONITOR: Login = Login { user: "monitor", password: "monitor-pw" };
/// The proxy's own user: may send KILL QUERY for others (CONNECTION_ADMIN).
pub const TOLLGATE: Login = Login { user: "tollgate", password: "tollgate-pw" };
/// The replica's user on its primary.
pub(crate) const REPLICATION: Login = Login { user: "repl", password: "repl-pw" };

/// The statements that make them, one a line: MySQL's `--init-file` takes one statement a line before 8.0.34.
pub(crate) fn bootstrap_sql(flavor: Flavor) -> String {
    let mut lines = Vec::new();
    if flavor == Flavor::Mariadb {
        // In --bootstrap mode the grant tables are not loaded; this loads them, so that CREATE USER works.
        lines.push("FLUSH PRIVILEGES".to_owned());
    }
    for Login { user, password } in [APP, ETL, MONITOR, TOLLGATE, REPLICATION] {
        lines.push(format!("CREATE USER {user}@'%' IDENTIFIED BY '{password}'"));
    }
    let kill_others = match flavor {
        Flavor::Mysql => "CONNECTION_ADMIN",
        Flavor::Mariadb => "CONNECTION ADMIN",
    };
    let process_list = match flavor {
        Flavor::Mysql => "REPLICATION CLIENT, PROCESS",
        // MariaDB split what SHOW REPLICA STATUS needs from REPLICATION CLIENT.
        Flavor::Mariadb => "REPLICATION CLIENT, REPLICA MONITOR, PROCESS",
    };
    for (privileges, objects, account) in [
        ("ALL", "*.*", "app@'%' WITH GRANT OPTION"),
        ("ALL", "*.*", "etl@'%'"),
        (process_list, "*.*", "monitor@'%'"),
        ("SELECT", "performance_schema.*", "monitor@'%'"),
        (kill_others, "*.*", "tollgate@'%'"),
        ("REPLICATION SLAVE", "*.*", "repl@'%'"),
    ] {
        lines.push(format!("GRANT {privileges} ON {objects} TO {account}"));
    }
    lines.push("CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4".to_owned());
    lines.iter().map(|line| format!("{line};\n")).collect()
}
