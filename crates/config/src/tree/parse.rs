//! YAML text → tree.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::depth;
use super::{At, KeyPath, Node, Trouble};

/// Why a text gives no tree.
#[derive(Debug)]
pub(crate) enum Unparsed {
    /// In the words of the YAML reader.
    Yaml(serde_yaml::Error),
    /// Lists and maps in brackets are nested too deep, from this byte of the text on.
    TooDeep(usize),
}

impl Node {
    pub(crate) fn parse(text: &str) -> Result<Node, Unparsed> {
        match depth::too_deep(text).and_then(|length| text.get(..length)).and_then(refused_beginning) {
            Some(unparsed) => Err(unparsed),
            None => serde_yaml::from_str(text).map_err(Unparsed::Yaml),
        }
    }

    /// Takes out the second of two equal keys of a map, and says so.
    pub(crate) fn take_out_repeated(&mut self, path: &KeyPath, troubles: &mut Vec<Trouble>) {
        match self {
            Node::Map(entries) => {
                let mut kept: Vec<(String, Node)> = Vec::with_capacity(entries.len());
                let mut known = HashSet::with_capacity(entries.len());
                for (key, mut value) in entries.drain(..) {
                    let path = path.key(&key);
                    if !known.insert(key.clone()) {
                        let what = format!("the key `{key}` is written twice");
                        troubles.push(Trouble::new(path, At::RepeatedKey, what, "keep one of the two"));
                        continue;
                    }
                    value.take_out_repeated(&path, troubles);
                    kept.push((key, value));
                }
                *entries = kept;
            }
            Node::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    item.take_out_repeated(&path.item(index), troubles);
                }
            }
            Node::Null
            | Node::Bool(_)
            | Node::Whole(_)
            | Node::Negative(_)
            | Node::Fraction(_)
            | Node::Text(_)
            | Node::Tagged => {}
        }
    }
}

/// What is wrong with the beginning of a text that ends with a bracket too many: that, or something before it.
fn refused_beginning(beginning: &str) -> Option<Unparsed> {
    let error = serde_yaml::from_str::<Node>(beginning).err()?;
    let last = beginning.len().saturating_sub(1);
    match error.location() {
        // Levels outside of brackets count too, so the reader's limit may be reached before the last bracket.
        Some(place) if is_too_deep(&error) => Some(Unparsed::TooDeep(place.index())),
        // The reader misses what follows.
        Some(place) if place.index() >= last => Some(Unparsed::TooDeep(last)),
        Some(_) | None => Some(Unparsed::Yaml(error)),
    }
}

/// The reader's error for values that are nested too deep.
pub(crate) fn is_too_deep(error: &serde_yaml::Error) -> bool {
    error.to_string().contains("recursion limit exceeded")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(u64::try_from(value).map_or(Node::Negative(value), Node::Whole))
    }

    // Too large for every key; the range check of the key says so.
    fn visit_u128<E>(self, _: u128) -> Result<Node, E> {
        Ok(Node::Whole(u64::MAX))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Node, E> {
        Ok(Node::Negative(i64::MIN))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Fraction(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            entries.push((key, map.next_value()?));
        }
        Ok(Node::Map(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Node, A::Error> {
        let (_, content) = tagged.variant::<IgnoredAny>()?;
        content.newtype_variant::<IgnoredAny>()?;
        Ok(Node::Tagged)
    }
}
