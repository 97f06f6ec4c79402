//! What all values written as a text have in common.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

use crate::tree::Complaint;

/// Reads a text with `parse`. `expected` completes "write …" for a value that is no text at all.
pub(crate) fn read_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    parse: fn(&str) -> Result<T, Complaint>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(TextVisitor { expected, parse, numbers: Numbers::Refused })
}

/// Lets `parse` also say what is missing from a bare number.
pub(crate) fn read_measure<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    parse: fn(&str) -> Result<T, Complaint>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(TextVisitor { expected, parse, numbers: Numbers::Parsed })
}

enum Numbers {
    Refused,
    Parsed,
}

struct TextVisitor<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, Complaint>,
    numbers: Numbers,
}

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        match self.numbers {
            Numbers::Parsed => self.visit_str(&number.to_string()),
            Numbers::Refused => Err(E::invalid_type(Unexpected::Unsigned(number), &self)),
        }
    }
}

/// The name of a MySQL user.
pub(crate) struct UserName(pub(crate) String);

impl UserName {
    fn parse(text: &str) -> Result<Self, Complaint> {
        match text.chars().count() {
            0 => Err(Complaint::new("the name is empty", "write the name of a MySQL user, such as `tollgate`")),
            1..=32 => Ok(UserName(text.to_owned())),
            _ => Err(Complaint::new("the name is too long", "MySQL's user names have at most 32 characters")),
        }
    }
}

impl<'de> Deserialize<'de> for UserName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "the name of a MySQL user, such as `tollgate` (a number in quotes)", Self::parse)
    }
}
