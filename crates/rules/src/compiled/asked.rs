//! A condition on what is asked, tables aside.

use statement::{Class, Fingerprint, Shapes};

use super::fact::Texts;
use crate::matching::{Condition, Key, Value};
use crate::query::Query;

#[derive(Debug)]
pub(crate) enum Asked {
    Class(Classes),
    Shape(Box<[Shapes]>),
    Schema(Texts),
    /// In order.
    Fingerprint(Box<[Fingerprint]>),
}

impl Asked {
    /// `None` for a key that is about who asks, or about tables. A digest that is not learnt yet is no value.
    pub(crate) fn new(condition: &Condition, digests: &dyn Fn(&str) -> Option<Fingerprint>) -> Option<Asked> {
        let values = &condition.values;
        Some(match &condition.key {
            Key::Class => Asked::Class(Classes::of(values)),
            Key::Shape => Asked::Shape(values.iter().filter_map(shape).collect()),
            Key::Schema => Asked::Schema(Texts::new(values)),
            Key::Fingerprint => Asked::Fingerprint(fingerprints(values, digests)),
            Key::Scope
            | Key::User
            | Key::Address
            | Key::Listener
            | Key::Table
            | Key::Tool
            | Key::Attr(_)
            | Key::Tag(_)
            | Key::QueryAttr(_) => return None,
        })
    }

    pub(crate) fn fits(&self, query: &impl Query) -> bool {
        match self {
            Asked::Class(classes) => classes.contains(query.class()),
            Asked::Shape(shapes) => {
                let shown = query.shapes();
                shapes.iter().any(|shape| shown.contains(*shape))
            }
            Asked::Schema(schemas) => query.schema().is_some_and(|schema| schemas.contain(schema)),
            Asked::Fingerprint(fingerprints) => fingerprints.binary_search(&query.fingerprint()).is_ok(),
        }
    }

    pub(crate) fn key(&self) -> Key {
        match self {
            Asked::Class(_) => Key::Class,
            Asked::Shape(_) => Key::Shape,
            Asked::Schema(_) => Key::Schema,
            Asked::Fingerprint(_) => Key::Fingerprint,
        }
    }

    /// What the query has for the key, for people.
    pub(crate) fn found(&self, query: &impl Query) -> Option<String> {
        match self {
            Asked::Class(_) => Some(query.class().to_string()),
            Asked::Shape(_) => {
                let shown = query.shapes();
                let shapes = Shapes::NAMES.into_iter().filter(|(_, shape)| shown.contains(*shape));
                let names: Vec<&str> = shapes.map(|(name, _)| name).collect();
                Some(names.join(", ")).filter(|names| !names.is_empty())
            }
            Asked::Schema(_) => query.schema().map(|schema| String::from_utf8_lossy(schema).into_owned()),
            Asked::Fingerprint(_) => Some(query.fingerprint().to_string()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Asked::Class(classes) => *classes == Classes::default(),
            Asked::Shape(shapes) => shapes.is_empty(),
            Asked::Schema(schemas) => schemas.is_empty(),
            Asked::Fingerprint(fingerprints) => fingerprints.is_empty(),
        }
    }

    /// What the answer costs, roughly.
    pub(crate) fn cost(&self) -> u8 {
        match self {
            Asked::Class(_) => 0,
            Asked::Shape(_) => 1,
            Asked::Schema(_) => 2,
            Asked::Fingerprint(_) => 3,
        }
    }
}

/// A bit for each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Classes(u8);

impl Classes {
    fn of(values: &[Value]) -> Classes {
        let mut classes = Classes::default();
        for value in values {
            if let Value::Class(class) = value {
                classes.insert(*class);
            }
        }
        classes
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| self.contains(*class))
    }

    pub(crate) fn insert(&mut self, class: Class) {
        self.0 |= 1 << class as u8;
    }

    pub(crate) fn contains(self, class: Class) -> bool {
        self.0 & (1 << class as u8) != 0
    }
}

fn shape(value: &Value) -> Option<Shapes> {
    match value {
        Value::Shape(shape) => Some(*shape),
        _ => None,
    }
}

fn fingerprints(values: &[Value], digests: &dyn Fn(&str) -> Option<Fingerprint>) -> Box<[Fingerprint]> {
    let fingerprint = |value: &Value| match value {
        Value::Fingerprint(fingerprint) => Some(*fingerprint),
        Value::Digest(digest) => digests(digest),
        _ => None,
    };
    let mut found: Vec<Fingerprint> = values.iter().filter_map(fingerprint).collect();
    found.sort_unstable();
    found.dedup();
    found.into()
}
