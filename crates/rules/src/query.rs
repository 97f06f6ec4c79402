//! What a rule may ask about a statement. Every answer is asked for only when a rule needs it.

use statement::{Class, Fingerprint, Shapes, Table};

pub trait Query {
    /// The session's default schema. `None` if it has none, or if nobody knows.
    fn schema(&self) -> Option<&[u8]>;

    fn class(&self) -> Class;

    fn shapes(&self) -> Shapes;

    /// Asked for if a rule that may match is on fingerprints.
    fn fingerprint(&self) -> Fingerprint;

    /// Asked for, at most once a judgement, if a rule on tables could change the outcome.
    fn tables(&self) -> Tables<'_>;

    /// Whether something other than a rule could still hold it, so that it matters to be exempt even where no rule
    /// restricts it. If not, tables are never looked at only to find an exemption.
    fn exemption_matters(&self) -> bool {
        true
    }
}

/// What is known of the tables that a statement touches. Names are in lower case.
#[derive(Debug, Clone, Copy)]
pub enum Tables<'a> {
    /// These and no others.
    Known(&'a [Table]),
    /// Some of these, or none: say, every identifier in a text that nobody can parse. Any of them can make things
    /// stricter, none can make them easier.
    Among(&'a [Table]),
    /// Any. Every rule on tables can make things stricter, none can make them easier.
    Unknown,
}
