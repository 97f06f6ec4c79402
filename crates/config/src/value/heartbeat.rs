//! `probe.heartbeat`: a table, or the keys of one.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::read_text;
use crate::plan::TableName;
use crate::rule::table;
use crate::tree::Complaint;

#[derive(Default)]
pub(crate) struct RawHeartbeat {
    pub(crate) table: Option<WholeTable>,
    pub(crate) create: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table, such as `tollgate.heartbeat`, or its keys")]
struct HeartbeatKeys {
    table: Option<WholeTable>,
    create: Option<YesOrNo>,
}

impl<'de> Deserialize<'de> for RawHeartbeat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeartbeatVisitor)
    }
}

struct HeartbeatVisitor;

impl<'de> Visitor<'de> for HeartbeatVisitor {
    type Value = RawHeartbeat;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table, such as `tollgate.heartbeat`, or `{ table: tollgate.heartbeat, create: true }`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawHeartbeat, E> {
        let table = WholeTable::parse(text).map_err(E::custom)?;
        Ok(RawHeartbeat { table: Some(table), create: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawHeartbeat, A::Error> {
        let HeartbeatKeys { table, create } = HeartbeatKeys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RawHeartbeat { table, create: create.map(|create| create.0) })
    }
}

/// With its schema, in the case in which it was written: it is asked for.
pub(crate) struct WholeTable(pub(crate) TableName);

impl WholeTable {
    fn parse(text: &str) -> Result<Self, Complaint> {
        match table::as_written(text)? {
            (Some(schema), name) => Ok(WholeTable(TableName { schema, name })),
            (None, name) => {
                let what = format!("`{text}` does not say in which schema it is");
                Err(Complaint::new(what, format!("write it too, as in `tollgate.{name}`")))
            }
        }
    }
}

impl<'de> Deserialize<'de> for WholeTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a table with its schema, such as `tollgate.heartbeat`", Self::parse)
    }
}

struct YesOrNo(bool);

impl<'de> Deserialize<'de> for YesOrNo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bool(YesOrNoVisitor)
    }
}

struct YesOrNoVisitor;

impl Visitor<'_> for YesOrNoVisitor {
    type Value = YesOrNo;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`true` or `false`")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<YesOrNo, E> {
        Ok(YesOrNo(value))
    }
}
