//! A condition on what is asked, tables aside.

use statement::{Class, Classes, Fingerprint, Shapes};

use super::fact::Texts;
use crate::matching::{Condition, Key, Value};
use crate::query::{Query, Schema, Truth};

#[derive(Debug)]
pub(crate) enum Asked {
    Class(ClassSet),
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
            Key::Class => Asked::Class(ClassSet::of(values)),
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

    pub(crate) fn holds(&self, query: &impl Query) -> Truth {
        match self {
            Asked::Class(classes) => classes.hold(query.classes()),
            Asked::Shape(shapes) => {
                let shown = query.shapes();
                let any = |of: Shapes| shapes.iter().any(|shape| of.contains(*shape));
                Truth::of(any(shown.certain), any(shown.possible))
            }
            Asked::Schema(schemas) => match query.schema() {
                // Some servers compare names of schemas without their case.
                Schema::Known(schema) => Truth::of(schemas.contain(schema), schemas.contain_ignoring_case(schema)),
                Schema::None => Truth::False,
                Schema::Unknown => Truth::Possible,
            },
            // Digests that are not learnt yet match nothing.
            Asked::Fingerprint(known) if known.is_empty() => Truth::False,
            Asked::Fingerprint(known) => {
                let found = query.fingerprints();
                let is_one = |fingerprint| known.binary_search(&fingerprint).is_ok();
                Truth::of(found.are_certainly(is_one), found.may_be(is_one))
            }
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
            Asked::Class(_) => {
                let names: Vec<&str> = query.classes().iter().map(Class::as_str).collect();
                Some(names.join(" or ")).filter(|names| !names.is_empty())
            }
            Asked::Shape(_) => {
                let shown = query.shapes().possible;
                let shapes = Shapes::NAMES.into_iter().filter(|(_, shape)| shown.contains(*shape));
                let names: Vec<&str> = shapes.map(|(name, _)| name).collect();
                Some(names.join(", ")).filter(|names| !names.is_empty())
            }
            Asked::Schema(_) => match query.schema() {
                Schema::Known(schema) => Some(String::from_utf8_lossy(schema).into_owned()),
                Schema::Unknown => Some("not known".to_owned()),
                Schema::None => None,
            },
            Asked::Fingerprint(_) => query.fingerprints().iter().next().map(|first| first.to_string()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Asked::Class(classes) => classes.named.is_empty(),
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

/// The classes of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassSet {
    /// As they are written: a statement that certainly has one of these fits.
    named: Classes,
    /// Those and what may be one of them.
    possible: Classes,
}

impl ClassSet {
    fn of(values: &[Value]) -> ClassSet {
        let (mut named, mut possible) = (Classes::NONE, Classes::NONE);
        for value in values {
            match value {
                Value::Class(class) => {
                    named.insert(*class);
                    possible = possible.union(Classes::of(*class).with_possible());
                }
                Value::ExactClass(class) => {
                    named.insert(*class);
                    possible.insert(*class);
                }
                _ => {}
            }
        }
        ClassSet { named, possible }
    }

    fn hold(self, classes: Classes) -> Truth {
        Truth::of(!classes.is_empty() && classes.is_within(self.named), classes.intersects(self.possible))
    }

    /// The classes of which a statement may match.
    pub(crate) fn possible(self) -> Classes {
        self.possible
    }

    pub(crate) fn named(self) -> Classes {
        self.named
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
