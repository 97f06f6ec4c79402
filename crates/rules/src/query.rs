//! What a rule may ask about a statement. Every answer is asked for only when a rule needs it.

use statement::{Class, Fingerprint, Shapes, Table};

/// A fact may be asked for more than once in a judgement, but for the tables: what is dear to find should be remembered.
pub trait Query {
    /// The session's default schema. `None` if it has none, or if nobody knows.
    fn schema(&self) -> Option<&[u8]>;

    fn class(&self) -> Class;

    fn shapes(&self) -> Shapes;

    /// Asked for if a rule that may match is on fingerprints.
    fn fingerprint(&self) -> Fingerprint;

    /// Asked for, at most once a judgement, if a rule on tables could change the outcome.
    fn tables(&self) -> Tables<'_>;

    /// Whether the statement may touch tables that are not among [`Query::tables`], because a name in it is not known or
    /// because something that it runs is not known.
    fn tables_in_doubt(&self) -> bool {
        false
    }

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

impl<'a> Tables<'a> {
    /// Tables beyond these are not looked at one by one: such a statement is like one whose tables are unknown.
    pub const MOST: usize = 128;

    /// What can be known for certain of which tables, within bounds. `None`: nothing.
    pub(crate) fn known(self) -> Option<(&'a [Table], Certainty)> {
        let (tables, certainty) = match self {
            Tables::Known(tables) => (tables, Certainty::Known),
            Tables::Among(tables) => (tables, Certainty::Among),
            Tables::Unknown => return None,
        };
        (tables.len() <= Tables::MOST).then_some((tables, certainty))
    }
}

/// Whether a list is of the tables themselves, or only holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    Known,
    Among,
}
