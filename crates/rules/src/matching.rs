//! Whom a rule concerns. All conditions must hold; each holds if any of its values fits.

use std::fmt;

use ipnet::IpNet;
use statement::{Class, Fingerprint, Shapes};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Match {
    /// All of them must hold. No key twice.
    pub conditions: Vec<Condition>,
    /// None of them may hold. No key twice.
    pub not: Vec<Condition>,
}

impl Match {
    /// The same conditions and values, in whatever order.
    pub fn is_same(&self, other: &Match) -> bool {
        same_conditions(&self.conditions, &other.conditions) && same_conditions(&self.not, &other.not)
    }
}

fn same_conditions(one: &[Condition], other: &[Condition]) -> bool {
    let has_values = |all: &Condition, of: &Condition| of.values.iter().all(|value| all.values.contains(value));
    let same = |a: &Condition, b: &Condition| a.key == b.key && has_values(a, b) && has_values(b, a);
    one.len() == other.len() && one.iter().all(|a| other.iter().any(|b| same(a, b)))
}

/// One key and its values: it holds if any of them fits. Values are never empty and all of the key's kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub key: Key,
    pub values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    Scope,
    User,
    Address,
    Schema,
    Listener,
    Class,
    Fingerprint,
    Table,
    Shape,
    Tool,
    /// Of the connection.
    Attr(String),
    /// Of a comment.
    Tag(String),
    QueryAttr(String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Scope => f.write_str("scope"),
            Key::User => f.write_str("user"),
            Key::Address => f.write_str("address"),
            Key::Schema => f.write_str("schema"),
            Key::Listener => f.write_str("listener"),
            Key::Class => f.write_str("class"),
            Key::Fingerprint => f.write_str("fingerprint"),
            Key::Table => f.write_str("table"),
            Key::Shape => f.write_str("shape"),
            Key::Tool => f.write_str("tool"),
            Key::Attr(name) => write!(f, "attr.{name}"),
            Key::Tag(name) => write!(f, "tag.{name}"),
            Key::QueryAttr(name) => write!(f, "query_attr.{name}"),
        }
    }
}

impl Key {
    /// As it is written in a rule.
    pub fn named(text: &str) -> Option<Key> {
        Some(match text {
            "scope" => Key::Scope,
            "user" => Key::User,
            "address" => Key::Address,
            "schema" => Key::Schema,
            "listener" => Key::Listener,
            "class" => Key::Class,
            "fingerprint" => Key::Fingerprint,
            "table" => Key::Table,
            "shape" => Key::Shape,
            "tool" => Key::Tool,
            _ => {
                let (kind, name) = text.split_once('.').filter(|(_, name)| !name.is_empty())?;
                match kind {
                    "attr" => Key::Attr(name.to_owned()),
                    "tag" => Key::Tag(name.to_owned()),
                    "query_attr" => Key::QueryAttr(name.to_owned()),
                    _ => return None,
                }
            }
        })
    }

    /// Known at login, before any statement.
    pub fn is_of_connection(&self) -> bool {
        match self {
            Key::User | Key::Address | Key::Schema | Key::Listener | Key::Attr(_) | Key::Scope => true,
            Key::Class | Key::Fingerprint | Key::Table | Key::Shape | Key::Tool | Key::Tag(_) | Key::QueryAttr(_) => {
                false
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Scope(Scope),
    /// Compared byte by byte: user, schema, listener, tool, attributes, tags.
    Text(Box<[u8]>),
    Network(Network),
    /// Of a restricting rule also what may be of this class: see [`statement::Classes::with_possible`].
    Class(Class),
    /// `{ exactly: […] }`: nothing but this class, as far as it shows.
    ExactClass(Class),
    Fingerprint(Fingerprint),
    /// A digest as MySQL prints it, 64 hexadecimal digits in lower case: it stands for a text that has to be learnt from
    /// the server. Until then it matches nothing.
    Digest(Box<str>),
    /// Without a schema it stands for the table in any; names in lower case.
    Table {
        schema: Option<Box<str>>,
        name: Box<str>,
    },
    Shape(Shapes),
}

/// An address is a network of one.
pub type Network = IpNet;

/// A whole name, any one part of it, or a glob over its parts, where `*` is one or more whole parts or the end of a
/// part: `etl`, `job-42:etl:warehouse`, `*:etl:*`, `job-*`, `*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// As it was written, parts separated by `:`. Never empty.
    pub text: Box<str>,
}
