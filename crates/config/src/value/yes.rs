//! `true`, for keys that say something only by being there.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::tree::Complaint;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Yes;

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bool(YesVisitor)
    }
}

struct YesVisitor;

impl Visitor<'_> for YesVisitor {
    type Value = Yes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`true`, or take the key out")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Yes, E> {
        if value { Ok(Yes) } else { Err(E::custom(Complaint::new("`false` says nothing here", "take the key out"))) }
    }
}
