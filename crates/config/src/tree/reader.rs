//! Tree → anything that serde can read, with the place of every error, and all of them.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{At, KeyPath, Node, Trouble};

/// More than this many wrong values are one wrong file.
const MAX_TROUBLES: usize = 30;

/// Reads the tree again and again, each time without the values that were found wrong before. `None` if nothing is left.
pub(crate) fn read<T: DeserializeOwned>(root: &Node, troubles: &mut Vec<Trouble>) -> Option<T> {
    read_at(root, &KeyPath::default(), troubles)
}

/// The same for a part of the file, whose place in it is `base`.
pub(crate) fn read_at<T: DeserializeOwned>(root: &Node, base: &KeyPath, troubles: &mut Vec<Trouble>) -> Option<T> {
    let mut skip = Vec::new();
    loop {
        match T::deserialize(Reader { node: root, path: base.clone(), skip: &skip }) {
            Ok(read) => return Some(read),
            Err(trouble) => {
                let path = trouble.path();
                troubles.push(trouble);
                if path == *base || skip.len() >= MAX_TROUBLES {
                    return None;
                }
                skip.push(path);
            }
        }
    }
}

struct Reader<'t> {
    node: &'t Node,
    path: KeyPath,
    /// Places to act as if nothing were written there.
    skip: &'t [KeyPath],
}

impl<'t> Reader<'t> {
    fn at<T>(path: &KeyPath, node: &Node, result: Result<T, Trouble>) -> Result<T, Trouble> {
        // An empty value has no place that could be pointed at.
        let at = if matches!(node, Node::Null) { At::Key } else { At::Value };
        result.map_err(|trouble| trouble.or_at(path, at))
    }

    fn map(&self) -> Entries<'t> {
        let entries = if let Node::Map(entries) = self.node { entries.as_slice() } else { &[] };
        Entries { entries: entries.iter(), value: None, path: self.path.clone(), skip: self.skip }
    }
}

impl<'t> Deserializer<'t> for Reader<'t> {
    type Error = Trouble;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Trouble> {
        let result = match self.node {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Whole(value) => visitor.visit_u64(*value),
            Node::Negative(value) => visitor.visit_i64(*value),
            Node::Fraction(value) => visitor.visit_f64(*value),
            Node::Text(value) => visitor.visit_borrowed_str(value),
            Node::List(items) => {
                visitor.visit_seq(Items { items: items.iter().enumerate(), path: self.path.clone(), skip: self.skip })
            }
            Node::Map(_) => visitor.visit_map(self.map()),
            Node::Tagged => Err(Trouble::invalid_type(serde::de::Unexpected::Enum, &visitor)),
        };
        Self::at(&self.path, self.node, result)
    }

    /// A key that is there has a value: `key:` with nothing after it is an error, not an absent key.
    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Trouble> {
        visitor.visit_some(self)
    }

    /// But a section with all of its keys commented out is an empty section.
    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Trouble> {
        match self.node {
            Node::Null | Node::Map(_) => {
                let result = visitor.visit_map(self.map());
                Self::at(&self.path, self.node, result)
            }
            // A list would be taken for the fields in their order.
            Node::List(_) => {
                Err(Trouble::invalid_type(serde::de::Unexpected::Seq, &visitor).or_at(&self.path, At::Value))
            }
            Node::Bool(_) | Node::Whole(_) | Node::Negative(_) | Node::Fraction(_) | Node::Text(_) | Node::Tagged => {
                self.deserialize_any(visitor)
            }
        }
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        allowed: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Trouble> {
        let result = match self.node {
            Node::Text(word) => {
                let word: StrDeserializer<'_, Trouble> = word.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            Node::Bool(value) => Err(Trouble::unknown_variant(&value.to_string(), allowed)),
            Node::Whole(value) => Err(Trouble::unknown_variant(&value.to_string(), allowed)),
            Node::Negative(value) => Err(Trouble::unknown_variant(&value.to_string(), allowed)),
            Node::Fraction(value) => Err(Trouble::unknown_variant(&value.to_string(), allowed)),
            Node::Null => Err(Trouble::unknown_variant("", allowed).nothing_written()),
            Node::List(_) => Err(Trouble::unknown_variant("[…]", allowed)),
            Node::Map(_) => Err(Trouble::unknown_variant("{…}", allowed)),
            Node::Tagged => Err(Trouble::unknown_variant("!…", allowed)),
        };
        Self::at(&self.path, self.node, result)
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(self, _: &'static str, visitor: V) -> Result<V::Value, Trouble> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        <V: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

impl Trouble {
    fn nothing_written(mut self) -> Self {
        "nothing is written after this key".clone_into(&mut self.what);
        self
    }
}

struct Entries<'t> {
    entries: std::slice::Iter<'t, (String, Node)>,
    value: Option<Reader<'t>>,
    path: KeyPath,
    skip: &'t [KeyPath],
}

impl<'t> MapAccess<'t> for Entries<'t> {
    type Error = Trouble;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Trouble> {
        for (key, node) in self.entries.by_ref() {
            let path = self.path.key(key);
            if self.skip.contains(&path) {
                continue;
            }
            let deserializer: StrDeserializer<'_, Trouble> = key.as_str().into_deserializer();
            let read = seed.deserialize(deserializer).map_err(|trouble| trouble.or_at(&path, At::Key))?;
            self.value = Some(Reader { node, path, skip: self.skip });
            return Ok(Some(read));
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Trouble> {
        match self.value.take() {
            Some(reader) => seed.deserialize(reader),
            None => Err(Trouble::custom("a value was asked for before its key")),
        }
    }
}

struct Items<'t> {
    items: std::iter::Enumerate<std::slice::Iter<'t, Node>>,
    path: KeyPath,
    skip: &'t [KeyPath],
}

impl<'t> SeqAccess<'t> for Items<'t> {
    type Error = Trouble;

    fn next_element_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, Trouble> {
        for (index, node) in self.items.by_ref() {
            let path = self.path.item(index);
            if !self.skip.contains(&path) {
                return seed.deserialize(Reader { node, path, skip: self.skip }).map(Some);
            }
        }
        Ok(None)
    }
}
