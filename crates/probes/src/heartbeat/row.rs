//! Our row, as a server shows it.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Value};

use super::{Row, table};
use crate::rows::text;
use crate::settings::Heartbeat;
use crate::trouble::code;

/// `None`: it is not there, as on a replica that has not come so far.
pub(crate) async fn ask(connection: &mut Conn, heartbeat: &Heartbeat) -> mysql_async::Result<Option<Row>> {
    let sql = format!("SELECT run, beat FROM {} WHERE proxy = ?", table::name(heartbeat));
    let row: Result<Option<mysql_async::Row>, _> = connection.exec_first(sql, (table::proxy(heartbeat),)).await;
    match row {
        Ok(row) => Ok(row.and_then(|row| Some(Row { run: number(row.as_ref(0))?, beat: number(row.as_ref(1))? }))),
        // The table's making is on its way too.
        Err(error) if table::is_missing(code(&error)) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn number(value: Option<&Value>) -> Option<u64> {
    value.and_then(text).and_then(|text| text.parse().ok())
}
