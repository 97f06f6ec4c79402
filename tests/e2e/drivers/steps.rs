//! What each program must have done. A program that skips more than its driver lacks proves less than it seems to.

use sandbox::Flavor;

use super::Tls;

/// Everything that a client may do; `tests/drivers/lib/dbapi.py` has the list with what each step means.
const ALL: [&str; 21] = [
    "connect",
    "ping",
    "text",
    "prepared",
    "cursor",
    "long_data",
    "transaction",
    "multi_result",
    "large_row",
    "many_rows",
    "error",
    "change_user",
    "reset_connection",
    "local_infile",
    "warnings",
    "pipelining",
    "cancel",
    "wrong_password",
    "unknown_database",
    "attributes",
    "quit",
];

/// A driver does all steps but those that its library has no function for; a tool does its own.
enum Steps {
    AllBut(&'static [&'static str]),
    Only(&'static [&'static str]),
}

fn steps(name: &str, flavor: Flavor, tls: Tls) -> Steps {
    use Steps::{AllBut, Only};
    match (name, flavor, tls) {
        ("c_libmariadb" | "c_libmysqlclient", ..) => AllBut(&["pipelining"]),
        ("connector_python", ..) => AllBut(&["cursor", "pipelining"]),
        // It gives up by itself where it would have to show the password.
        ("connector_python_c", Flavor::Mysql, Tls::Off) => {
            AllBut(&["cursor", "long_data", "pipelining", "wrong_password"])
        }
        ("connector_python_c", ..) => AllBut(&["cursor", "long_data", "pipelining"]),
        ("go", ..) => AllBut(&["cursor", "change_user", "reset_connection", "pipelining", "attributes"]),
        ("java_mariadb", Flavor::Mysql, _) => AllBut(&["cursor", "change_user", "reset_connection"]),
        ("java_mariadb", Flavor::Mariadb, _) => AllBut(&["cursor", "change_user"]),
        ("mysql", ..) => AllBut(&["cursor", "long_data", "change_user", "pipelining"]),
        ("mysqlclient", ..) => AllBut(&["prepared", "cursor", "long_data", "reset_connection", "pipelining"]),
        ("node_mysql2", ..) => AllBut(&["cursor", "long_data", "pipelining"]),
        ("perl_dbd_mariadb" | "perl_dbd_mysql" | "php_pdo", ..) => {
            AllBut(&["cursor", "long_data", "change_user", "reset_connection", "pipelining"])
        }
        ("php_mysqli", ..) => AllBut(&["reset_connection", "pipelining"]),
        ("pymysql", ..) => {
            AllBut(&["prepared", "cursor", "long_data", "change_user", "reset_connection", "pipelining"])
        }
        ("ruby_mysql2", ..) => AllBut(&["long_data", "change_user", "reset_connection", "pipelining"]),

        ("mysqldump", ..) => {
            Only(&["connect", "large_row", "text", "many_rows", "wrong_password", "unknown_database", "quit"])
        }
        ("mysqlslap", ..) => Only(&["connect", "text", "transaction", "many_rows", "wrong_password", "quit"]),
        ("mysqlbinlog", Flavor::Mysql, _) => {
            Only(&["connect", "text", "large_row", "cursor", "error", "wrong_password", "quit"])
        }
        // MySQL's does not read MariaDB's binary log.
        ("mysqlbinlog", Flavor::Mariadb, _) => Only(&[]),
        _ => AllBut(&[]),
    }
}

/// The steps that must have been done.
pub(super) fn required(name: &str, flavor: Flavor, tls: Tls) -> Vec<&'static str> {
    match steps(name, flavor, tls) {
        Steps::AllBut(skipped) => ALL.into_iter().filter(|step| !skipped.contains(step)).collect(),
        Steps::Only(steps) => steps.to_vec(),
    }
}
