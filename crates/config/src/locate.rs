//! A place of the tree → its line and column in the text.
//!
//! The YAML reader says where it is only in its errors. So the text is read once more by a visitor that walks to the place
//! and fails there on purpose. That costs a reading of the file for each thing that is wrong with it, and nothing otherwise.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::tree::{At, KeyPath, Step};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Both count from one, the column in characters.
    pub(crate) line: usize,
    pub(crate) column: usize,
}

pub(crate) const START: Place = Place { line: 1, column: 1 };

/// Where `path` is, or the nearest place above it that is in the file.
pub(crate) fn locate(text: &str, path: &KeyPath, at: At) -> Place {
    if let Some(place) = find(text, path, at) {
        return place;
    }
    let mut steps = path.0.clone();
    while steps.pop().is_some() && !steps.is_empty() {
        if let Some(place) = find(text, &KeyPath(steps.clone()), At::Key) {
            return place;
        }
    }
    START
}

fn find(text: &str, path: &KeyPath, at: At) -> Option<Place> {
    let error = Walk { steps: &path.0, at }.deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
    let location = error.location()?;
    Some(Place { line: location.line(), column: location.column() })
}

#[derive(Clone, Copy)]
struct Walk<'p> {
    steps: &'p [Step],
    at: At,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.steps.is_empty() { deserializer.deserialize_any(Here) } else { deserializer.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a place")
    }

    // An empty file, or an empty section, has nothing in it to be found.
    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), rest)) = self.steps.split_first() else { return Err(A::Error::custom("above")) };
        let stop = rest.is_empty() && self.at != At::Value;
        let mut pass = usize::from(rest.is_empty() && self.at == At::RepeatedKey);
        while let Some(found) = map.next_key_seed(Key { wanted, stop: stop && pass == 0 })? {
            if found && !stop {
                map.next_value_seed(Walk { steps: rest, at: self.at })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            pass = pass.saturating_sub(usize::from(found));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Some((Step::Item(index), rest)) = self.steps.split_first() else { return Err(A::Error::custom("above")) };
        for _ in 0..*index {
            list.next_element::<IgnoredAny>()?;
        }
        list.next_element_seed(Walk { steps: rest, at: self.at })?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// Reads a key; fails at the wanted one if that is where to stop, else says whether it is the one.
#[derive(Clone, Copy)]
struct Key<'p> {
    wanted: &'p str,
    stop: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        if key == self.wanted && self.stop { Err(E::custom("here")) } else { Ok(key == self.wanted) }
    }
}

/// Takes no value at all: serde's own default of every visit is an error, which then knows its place.
struct Here;

impl Visitor<'_> for Here {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the place looked for")
    }
}
