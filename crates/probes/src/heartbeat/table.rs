//! The table: its name and what makes it.

use crate::settings::{Heartbeat, LONGEST_PROXY};

/// Its full name, quoted.
pub(crate) fn name(heartbeat: &Heartbeat) -> String {
    format!("{}.{}", quoted(&heartbeat.schema), quoted(&heartbeat.table))
}

fn quoted(identifier: &str) -> String {
    format!("`{}`", identifier.replace('`', "``"))
}

/// The statements that make it, each safe where it is there already.
pub fn statements(heartbeat: &Heartbeat) -> [String; 2] {
    [
        format!("CREATE DATABASE IF NOT EXISTS {}", quoted(&heartbeat.schema)),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (proxy VARCHAR({LONGEST_PROXY}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, \
             run BIGINT UNSIGNED NOT NULL, beat BIGINT UNSIGNED NOT NULL, written TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)) \
             ENGINE=InnoDB COMMENT='a row a proxy; see tollgate'",
            name(heartbeat)
        ),
    ]
}

/// What the column takes.
pub(crate) fn proxy(heartbeat: &Heartbeat) -> String {
    heartbeat.proxy.chars().take(LONGEST_PROXY).collect()
}

/// It is not there, or not even its schema.
pub(crate) fn is_missing(code: Option<u16>) -> bool {
    code == Some(1146) || is_schema_missing(code)
}

pub(crate) fn is_schema_missing(code: Option<u16>) -> bool {
    code == Some(1049)
}
