//! Keys whose content comes in a later version. Written empty they say what is true today; anything else is refused.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::tree::Complaint;

/// `{}`
#[derive(Debug)]
pub(crate) struct NoEntries;

impl<'de> Deserialize<'de> for NoEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Empty("an empty map, `{}`, or take the key out")).map(|()| NoEntries)
    }
}

struct Empty(&'static str);

impl Empty {
    fn not_yet<E: Error>(&self) -> E {
        let what = "not yet in this version: nothing written here would act";
        E::custom(Complaint::new(what, format!("write {}", self.0)))
    }
}

impl<'de> Visitor<'de> for Empty {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    /// All of its lines are commented out.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() { Err(self.not_yet()) } else { Ok(()) }
    }
}
