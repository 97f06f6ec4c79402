//! The path of a file, not yet joined to the folder of proxy.yaml.

use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer};

use super::read_text;
use crate::tree::Complaint;

#[derive(Debug)]
pub(crate) struct FilePath(pub(crate) PathBuf);

impl FilePath {
    pub(crate) fn parse(text: &str) -> Result<Self, Complaint> {
        if text.is_empty() {
            return Err(Complaint::new("the path is empty", "write a path, such as `certificates/server.pem`"));
        }
        if text.starts_with('~') {
            let remedy = "write the whole path, or one from the folder of this file";
            return Err(Complaint::new("`~` is not expanded here", remedy));
        }
        Ok(FilePath(PathBuf::from(text)))
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "the path of a file, such as `certificates/server.pem`", Self::parse)
    }
}
