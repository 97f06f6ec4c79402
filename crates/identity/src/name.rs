//! A client's name: parts from the most to the least specific, as in `job-42:etl:warehouse`.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Name {
    text: Box<str>,
}

impl Name {
    /// The name of those who said nothing that a name could be made of.
    pub const UNATTRIBUTED: &str = "unattributed";

    /// The name of those for whom there is no more room in a table of names.
    pub const OVERFLOW: &str = "__overflow__";

    /// From text whose parts are separated by `:`; empty parts are left out. Empty gives the name of the unattributed.
    pub fn new(text: &str) -> Name {
        let parts: Vec<&str> = text.split(':').filter(|part| !part.is_empty()).collect();
        let text = if parts.is_empty() { Name::UNATTRIBUTED.to_owned() } else { parts.join(":") };
        Name { text: text.into() }
    }

    pub fn unattributed() -> Name {
        Name { text: Name::UNATTRIBUTED.into() }
    }

    pub fn overflow() -> Name {
        Name { text: Name::OVERFLOW.into() }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Never empty ones.
    pub fn parts(&self) -> impl Iterator<Item = &str> + Clone {
        self.text.split(':').filter(|part| !part.is_empty())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
