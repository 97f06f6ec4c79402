//! Which tags and query attributes some rule or gate looks at.

use std::collections::HashSet;

use rules::{Key, Match};

#[derive(Debug, Default)]
pub(crate) struct ReadByRules {
    tags: HashSet<Box<[u8]>>,
    query_attributes: HashSet<Box<[u8]>>,
}

impl ReadByRules {
    pub(crate) fn new<'a>(matches: impl Iterator<Item = &'a Match>) -> ReadByRules {
        let mut read = ReadByRules::default();
        for condition in matches.flat_map(|matching| matching.conditions.iter().chain(&matching.not)) {
            read.also(&condition.key);
        }
        read
    }

    pub(crate) fn also(&mut self, key: &Key) {
        match key {
            Key::Tag(name) => drop(self.tags.insert(name.as_bytes().into())),
            Key::QueryAttr(name) => drop(self.query_attributes.insert(name.as_bytes().into())),
            Key::Scope
            | Key::User
            | Key::Address
            | Key::Schema
            | Key::Listener
            | Key::Class
            | Key::Fingerprint
            | Key::Table
            | Key::Shape
            | Key::Tool
            | Key::Attr(_) => {}
        }
    }

    pub(crate) fn tag(&self, key: &[u8]) -> bool {
        self.tags.contains(key)
    }

    /// One with the key of a tag wins over it: whoever looks at the tag looks at both.
    pub(crate) fn query_attribute(&self, key: &[u8]) -> bool {
        self.query_attributes.contains(key) || self.tags.contains(key)
    }
}
