//! `table` or `schema.table`.

use serde::de::{Deserialize, Deserializer};

use super::read_text;
use crate::policy::TableName;
use crate::rule::Table;

#[derive(Debug, Clone)]
pub(crate) struct TableRef(pub(crate) TableName);

impl<'de> Deserialize<'de> for TableRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = read_text(deserializer, "a table, such as `heartbeat.heartbeat`", Table::parse)?;
        Ok(TableRef(TableName { schema: table.schema, name: table.name }))
    }
}
