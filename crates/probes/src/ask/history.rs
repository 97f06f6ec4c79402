//! How much old row versions wait to be purged. Needs PROCESS, so it is a question of its own.

use health::{Reading, Unknown};
use mysql_async::Conn;

use crate::rows::{TextRow, prepared, rows};

pub(crate) async fn ask(connection: &mut Conn) -> mysql_async::Result<Reading> {
    // Whether it is on stands in STATUS or, on newer MariaDB, in ENABLED, so all columns are asked for.
    let sql = "SELECT * FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";
    let counter = reading(&prepared(connection, sql).await?);
    if counter != Reading::Unknown(Unknown::Unsupported) {
        return Ok(counter);
    }
    let status = rows(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'").await?;
    Ok(status
        .first()
        .and_then(|row| row.number(&["Value"]))
        .map_or(Reading::Unknown(Unknown::Unsupported), Reading::of))
}

/// A counter that was switched off would show its last value for ever.
fn reading(rows: &[TextRow]) -> Reading {
    let counter = rows.first().filter(|row| matches!(row.text(&["STATUS", "ENABLED"]), "enabled" | "1" | ""));
    let value = counter.and_then(|row| row.number(&["COUNT"]));
    value.map_or(Reading::Unknown(Unknown::Unsupported), Reading::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_is_off_is_not_believed() {
        let row = |value: &str, column: &str, status: &str| {
            TextRow(vec![("COUNT".into(), Some(value.into())), (column.into(), Some(status.into()))])
        };
        let unsupported = Reading::Unknown(Unknown::Unsupported);
        for (rows, expected) in [
            (vec![row("17", "STATUS", "enabled")], Reading::Value(17.0)),
            (vec![row("17", "ENABLED", "1")], Reading::Value(17.0)),
            (vec![row("17", "STATUS", "disabled")], unsupported),
            (vec![row("17", "ENABLED", "0")], unsupported),
            (vec![row("x", "STATUS", "enabled")], unsupported),
            (vec![], unsupported),
        ] {
            assert_eq!(reading(&rows), expected, "{rows:?}");
        }
    }
}
