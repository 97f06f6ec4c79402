//! Where a secret is: `env:NAME`, `file:path`, or the text itself.

use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer};

use super::{FilePath, read_text};
use crate::tree::Complaint;

pub(crate) enum SecretRef {
    Environment(String),
    File(PathBuf),
    Plain(String),
}

impl SecretRef {
    fn parse(text: &str) -> Result<Self, Complaint> {
        if let Some(name) = text.strip_prefix("env:") {
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(letters) {
                let remedy = "write `env:` and the variable's name with nothing between, such as `env:PROBE_PASSWORD`";
                return Err(Complaint::new("after `env:` comes no name of a variable", remedy));
            }
            return Ok(SecretRef::Environment(name.to_owned()));
        }
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(SecretRef::File(FilePath::parse(path)?.0));
        }
        Ok(SecretRef::Plain(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for SecretRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "`env:NAME`, `file:path`, or the secret itself in quotes", Self::parse)
    }
}
