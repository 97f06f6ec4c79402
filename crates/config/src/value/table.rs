//! `table` or `schema.table`.

use serde::de::{Deserialize, Deserializer};

use super::read_text;
use crate::rule::table;

#[derive(Debug, Clone)]
pub(crate) struct TableRef(pub(crate) statement::Table);

impl<'de> Deserialize<'de> for TableRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a table, such as `heartbeat.heartbeat`", table::parse).map(TableRef)
    }
}
