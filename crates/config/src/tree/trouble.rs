//! Something wrong at a place of the tree, before its line is known.

use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};

use super::KeyPath;
use crate::closest::closest;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trouble {
    /// Unknown only while serde hands the error up to the reader.
    path: Option<KeyPath>,
    pub(crate) at: At,
    pub(crate) what: String,
    pub(crate) remedy: String,
    /// The keys that there are, if the trouble is that this one is not among them.
    pub(crate) known_keys: Option<&'static [&'static str]>,
}

/// What the caret points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Key,
    /// The key's second appearance.
    RepeatedKey,
    Value,
}

/// What is wrong with a value, and what to write instead. Crosses serde as text, one line each.
#[derive(Debug)]
pub(crate) struct Complaint {
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Complaint {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Complaint { what: what.into(), remedy: remedy.into() }
    }
}

impl Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.what.replace('\n', " "), self.remedy)
    }
}

impl Trouble {
    pub(crate) fn new(path: KeyPath, at: At, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Trouble { path: Some(path), at, what: what.into(), remedy: remedy.into(), known_keys: None }
    }

    fn nowhere(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Trouble { path: None, at: At::Value, what: what.into(), remedy: remedy.into(), known_keys: None }
    }

    /// The innermost reader that knows the place wins.
    pub(super) fn or_at(mut self, path: &KeyPath, at: At) -> Self {
        if self.path.is_none() {
            self.path = Some(path.clone());
            self.at = at;
        }
        self
    }

    pub(crate) fn path(&self) -> KeyPath {
        self.path.clone().unwrap_or_default()
    }
}

impl Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Trouble {}

impl de::Error for Trouble {
    fn custom<T: Display>(message: T) -> Self {
        let text = message.to_string();
        let (what, remedy) = text.split_once('\n').unwrap_or((&text, ""));
        Trouble::nowhere(what, remedy)
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // The value itself is left out: it stands in the line below, and it may be a password.
        let what = match found {
            Unexpected::Unit | Unexpected::Option => "nothing is written after this key".to_owned(),
            other => format!("{} does not belong here", kind(&other)),
        };
        Trouble::nowhere(what, format!("write {expected}"))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(word: &str, allowed: &'static [&'static str]) -> Self {
        let list = either(allowed);
        let remedy = match closest(word, allowed) {
            Some(near) => format!("did you mean `{near}`? Write {list}"),
            None => format!("write {list}"),
        };
        Trouble::nowhere(format!("`{word}` is not a value of this key"), remedy)
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let remedy = match closest(key, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys here are {}", listed(known, "and")),
        };
        Trouble { known_keys: Some(known), ..Trouble::nowhere("there is no such key", remedy) }
    }
}

/// "`a`, `b` or `c`".
fn either(words: &[&str]) -> String {
    listed(words, "or")
}

fn listed(words: &[&str], last: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

fn kind(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "`true` or `false`",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a number",
        Unexpected::Float(_) => "a number with a fraction",
        Unexpected::Str(_) | Unexpected::Char(_) | Unexpected::Bytes(_) => "a text",
        Unexpected::Seq => "a list",
        Unexpected::Map => "a map of keys",
        Unexpected::Enum => "a YAML tag",
        _ => "this",
    }
}
