//! The facts of a statement that a rule may match. Each is found only when a rule needs it.
//!
//! A fact has two sides, because the bytes of a statement may have several readings and a packet several statements: what
//! may be true of some statement in some reading, and what is certainly true of all of them in all readings.

use statement::{Classes, Fingerprints, Shapes, Table};

/// A fact may be read more than once in a judgement, except for the tables: facts that are expensive to find should be cached.
pub trait Query {
    /// The default schema of the session.
    fn schema(&self) -> Schema<'_>;

    /// The classes that some statement may have. One class is certain; no class means that nothing is ever delayed.
    fn classes(&self) -> Classes;

    fn shapes(&self) -> QueryShapes;

    /// Read if a rule that may match is on fingerprints.
    fn fingerprints(&self) -> &Fingerprints;

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

/// The default schema of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema<'a> {
    None,
    Known(&'a [u8]),
    /// It may be any, or none.
    Unknown,
}

impl<'a> Schema<'a> {
    pub fn known(schema: Option<&'a [u8]>) -> Schema<'a> {
        schema.map_or(Schema::None, Schema::Known)
    }

    pub(crate) fn name(self) -> Option<&'a [u8]> {
        match self {
            Schema::Known(name) => Some(name),
            Schema::None | Schema::Unknown => None,
        }
    }
}

/// The shapes of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryShapes {
    /// Of every statement in every reading.
    pub certain: Shapes,
    /// Of some statement in some reading.
    pub possible: Shapes,
}

/// Whether a condition, or all conditions of a rule, hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    False,
    /// For some statement in some reading. A rule may restrict by this, and never favour.
    Possible,
    Certain,
}

impl Truth {
    pub(crate) fn of(certain: bool, possible: bool) -> Truth {
        match (certain, possible) {
            (true, _) => Truth::Certain,
            (false, true) => Truth::Possible,
            (false, false) => Truth::False,
        }
    }

    /// The truth of a condition under `not`.
    pub(crate) fn negated(self) -> Truth {
        match self {
            Truth::False => Truth::Certain,
            Truth::Possible => Truth::Possible,
            Truth::Certain => Truth::False,
        }
    }

    pub(crate) fn is_possible(self) -> bool {
        self != Truth::False
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
    /// The same of names that may be tables.
    pub const MOST_POSSIBLE: usize = 512;

    /// What can be known for certain of which tables, within bounds. `None`: nothing.
    pub(crate) fn known(self) -> Option<(&'a [Table], Certainty)> {
        let (tables, certainty, most) = match self {
            Tables::Known(tables) => (tables, Certainty::Known, Tables::MOST),
            Tables::Among(tables) => (tables, Certainty::Among, Tables::MOST_POSSIBLE),
            Tables::Unknown => return None,
        };
        (tables.len() <= most).then_some((tables, certainty))
    }
}

/// Whether a list is of the tables themselves, or only holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    Known,
    Among,
}
