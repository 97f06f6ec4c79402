//! Which tags and query attributes some rule looks at.

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
            match &condition.key {
                Key::Tag(name) => drop(read.tags.insert(name.as_bytes().into())),
                Key::QueryAttr(name) => drop(read.query_attributes.insert(name.as_bytes().into())),
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
        read
    }

    pub(crate) fn tag(&self, key: &[u8]) -> bool {
        self.tags.contains(key)
    }

    /// One with the key of a tag wins over it: whoever looks at the tag looks at both.
    pub(crate) fn query_attribute(&self, key: &[u8]) -> bool {
        self.query_attributes.contains(key) || self.tags.contains(key)
    }
}
