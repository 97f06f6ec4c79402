//! What only a parser can tell: which tables a text touches, and whether it calls a function that is not the server's own.

mod cache;

pub use cache::ParseCache;

use crate::{Class, Mode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub outcome: Outcome,
    /// Each once, in the order of their names.
    pub tables: Box<[Table]>,
    /// A function is called that is neither MySQL's nor MariaDB's own, or may be.
    pub foreign_functions: bool,
    /// The class of the text with all that is known of it: the scanner's, made stricter by what the parser found.
    pub class: Class,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    Read,
    /// The parser does not know this grammar: the tables are not known, and the class is at least `unparsed`.
    Failed,
}

/// Names in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Table {
    /// As far as it is written.
    pub schema: Option<Box<str>>,
    pub name: Box<str>,
}

/// Slow, and it allocates: see [`ParseCache`].
pub fn parse(sql: &[u8], mode: Mode) -> Parsed {
    let scan = crate::scan(sql, mode);
    Parsed {
        outcome: Outcome::Failed,
        tables: Box::default(),
        foreign_functions: false,
        class: scan.class.or_stricter(Class::Unparsed),
    }
}
