//! Answers as plain text, before anybody believes them.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row, Value};

/// A row by the names of its columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TextRow(pub(crate) Vec<(String, Option<String>)>);

impl TextRow {
    /// The first of these columns that there is: servers have renamed many of them.
    pub(crate) fn column(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|wanted| {
            self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).and_then(|(_, value)| value.as_deref())
        })
    }

    pub(crate) fn text(&self, names: &[&str]) -> &str {
        self.column(names).unwrap_or_default()
    }

    pub(crate) fn number(&self, names: &[&str]) -> Option<f64> {
        self.column(names).and_then(|text| text.trim().parse().ok()).filter(|number: &f64| number.is_finite())
    }
}

pub(crate) async fn rows(connection: &mut Conn, sql: &str) -> mysql_async::Result<Vec<TextRow>> {
    let rows: Vec<Row> = connection.query(sql).await?;
    Ok(rows.into_iter().map(text_row).collect())
}

/// The same for what is asked again and again: prepared once a connection, which halves what it costs the server.
pub(crate) async fn prepared(connection: &mut Conn, sql: &'static str) -> mysql_async::Result<Vec<TextRow>> {
    let rows: Vec<Row> = connection.exec(sql, ()).await?;
    Ok(rows.into_iter().map(text_row).collect())
}

fn text_row(row: Row) -> TextRow {
    let columns = row.columns();
    let names = columns.iter().map(|column| column.name_str().into_owned());
    TextRow(names.zip(row.unwrap_raw().into_iter().map(|value| value.as_ref().and_then(text))).collect())
}

pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Double(number) => Some(number.to_string()),
        // We ask nothing that answers so.
        Value::Date(..) | Value::Time(..) => Some(value.as_sql(true)),
    }
}

/// For names and values, as the two columns of SHOW STATUS and SHOW VARIABLES.
pub(crate) fn pairs(rows: Vec<TextRow>) -> Vec<(String, String)> {
    let pair = |row: TextRow| {
        let mut columns = row.0.into_iter();
        Some((columns.next()?.1?, columns.next()?.1?))
    };
    rows.into_iter().filter_map(pair).collect()
}
