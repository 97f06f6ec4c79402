//! How much old row versions wait to be purged. Needs PROCESS, so it is a question of its own.

use health::{Reading, Unknown};
use mysql_async::Conn;

use crate::rows::{TextRow, rows};

pub(crate) async fn ask(connection: &mut Conn) -> mysql_async::Result<Reading> {
    // The counter is on by default on both. One that was switched off would show its last value for ever.
    let sql = "SELECT COUNT AS value, STATUS AS status FROM information_schema.INNODB_METRICS \
               WHERE NAME = 'trx_rseg_history_len'";
    let counter = reading(&rows(connection, sql).await?);
    if counter != Reading::Unknown(Unknown::Unsupported) {
        return Ok(counter);
    }
    let status = rows(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'").await?;
    Ok(status
        .first()
        .and_then(|row| row.number(&["Value"]))
        .map_or(Reading::Unknown(Unknown::Unsupported), Reading::of))
}

fn reading(rows: &[TextRow]) -> Reading {
    let counter = rows.first().filter(|row| matches!(row.text(&["status"]), "enabled" | "1" | ""));
    let value = counter.and_then(|row| row.number(&["value"]));
    value.map_or(Reading::Unknown(Unknown::Unsupported), Reading::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_is_off_is_not_believed() {
        let row = |value: &str, status: &str| {
            TextRow(vec![("value".into(), Some(value.into())), ("status".into(), Some(status.into()))])
        };
        let unsupported = Reading::Unknown(Unknown::Unsupported);
        for (rows, expected) in [
            (vec![row("17", "enabled")], Reading::Value(17.0)),
            (vec![row("17", "1")], Reading::Value(17.0)),
            (vec![row("17", "disabled")], unsupported),
            (vec![row("17", "0")], unsupported),
            (vec![row("x", "enabled")], unsupported),
            (vec![], unsupported),
        ] {
            assert_eq!(reading(&rows), expected, "{rows:?}");
        }
    }
}
