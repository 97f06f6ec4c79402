//! `key=value` on a command line.

use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Pair, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Pair { key: key.to_owned(), value: value.to_owned() }),
            Some(_) | None => Err("write it as key=value".to_owned()),
        }
    }
}
