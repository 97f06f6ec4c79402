//! `match`: keys with one value or a list, and `not`.

use std::fmt;

use rules::{Condition, Key, Value};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};

use super::text::value;
use crate::closest::closest;
use crate::tree::Complaint;

/// What may be written; `*` is a name that clients choose.
pub(crate) const MATCH_KEYS: &[&str] = &[
    "scope",
    "user",
    "address",
    "schema",
    "listener",
    "class",
    "fingerprint",
    "table",
    "shape",
    "tool",
    "attr.*",
    "tag.*",
    "query_attr.*",
    "not",
];

/// Values are not yet known to be there: what was wrong with them has been taken out.
#[derive(Default)]
pub(crate) struct RawMatch {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) not: Option<Vec<Condition>>,
}

impl<'de> Deserialize<'de> for RawMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MatchVisitor { keys: MATCH_KEYS })
    }
}

/// Reads a map of conditions; of the keys, `not` is there only at the top.
struct MatchVisitor {
    keys: &'static [&'static str],
}

impl<'de> Visitor<'de> for MatchVisitor {
    type Value = RawMatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys and values, such as `user: etl`, or `scope: \"*\"` for everyone")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMatch, A::Error> {
        let mut read = RawMatch::default();
        while let Some(key) = map.next_key_seed(KeySeed { keys: self.keys })? {
            match key {
                MatchKey::Not => read.not = Some(map.next_value_seed(NotSeed)?),
                MatchKey::Is(key) => {
                    let values = map.next_value_seed(Values { key: &key })?;
                    read.conditions.push(Condition { key, values });
                }
            }
        }
        Ok(read)
    }
}

struct NotSeed;

impl<'de> DeserializeSeed<'de> for NotSeed {
    type Value = Vec<Condition>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Condition>, D::Error> {
        let keys = MATCH_KEYS.get(..MATCH_KEYS.len() - 1).unwrap_or(MATCH_KEYS);
        deserializer.deserialize_any(MatchVisitor { keys }).map(|read| read.conditions)
    }
}

enum MatchKey {
    Not,
    Is(Key),
}

/// Fails at the key itself, so that the error points at it.
struct KeySeed {
    keys: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = MatchKey;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<MatchKey, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = MatchKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MatchKey, E> {
        if text == "not" && self.keys.contains(&"not") {
            return Ok(MatchKey::Not);
        }
        match Key::named(text) {
            Some(key) => Ok(MatchKey::Is(key)),
            None => Err(named_pair(text).unwrap_or_else(|| E::unknown_field(text, self.keys))),
        }
    }
}

/// `tag` and `tags.team` are near misses of `tag.team`.
fn named_pair<E: Error>(text: &str) -> Option<E> {
    let (kind, name) = text.split_once('.').unwrap_or((text, ""));
    let near = ["attr", "tag", "query_attr"].into_iter().find(|known| *known == kind);
    let near = near.or_else(|| closest(kind, &["attr", "tag", "query_attr"]).filter(|_| !name.is_empty()))?;
    let remedy = match name {
        "" => format!("write the name behind a dot: `{near}.team: …`"),
        name => format!("did you mean `{near}.{name}`?"),
    };
    Some(E::custom(Complaint::new("there is no such key", remedy)))
}

/// One value of the key's kind, or a list of them.
#[derive(Clone, Copy)]
struct Values<'k> {
    key: &'k Key,
}

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Value>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<Value>, E> {
        One { key: self.key }.visit_str(text).map(|value| vec![value])
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Vec<Value>, E> {
        Err(quotes(&value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Vec<Value>, E> {
        Err(quotes(&value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Vec<Value>, E> {
        Err(quotes(&value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Vec<Value>, E> {
        Err(E::invalid_type(Unexpected::Float(value), &"a text, in quotes"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Value>, A::Error> {
        let mut values: Vec<Value> = Vec::new();
        while let Some(value) = list.next_element_seed(One { key: self.key })? {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Ok(values)
    }

    /// `class: { exactly: [write] }`: without the statements that only may be writes.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Value>, A::Error> {
        if *self.key != Key::Class {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        }
        let mut values = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key != EXACTLY {
                return Err(A::Error::unknown_field(&key, &[EXACTLY]));
            }
            let exact = |value| match value {
                Value::Class(class) => Value::ExactClass(class),
                other => other,
            };
            values.extend(map.next_value_seed(self)?.into_iter().map(exact));
        }
        Ok(values)
    }
}

const EXACTLY: &str = "exactly";

#[derive(Clone, Copy)]
struct One<'k> {
    key: &'k Key,
}

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for One<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        value(self.key, text).map_err(E::custom)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Err(quotes(&value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Err(quotes(&value.to_string()))
    }
}

/// YAML takes these for no texts; what a client sends always is one.
fn quotes<E: Error>(word: &str) -> E {
    Error::custom(Complaint::new(format!("{word} is no text"), format!("put it in quotes: `\"{word}\"`")))
}
