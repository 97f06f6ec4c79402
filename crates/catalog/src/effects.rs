//! What an object reaches, with everything behind it.

use statement::Table;

/// The possible effects of a view, a routine, or a write to a table, through all objects that it reaches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects {
    /// Tables and views on the way, each once, with their schemas, in order.
    pub tables: Box<[Table]>,
    pub reads: bool,
    /// Something is changed or locked.
    pub writes: bool,
    pub ddl: bool,
    /// Dynamic SQL: the text that runs is nowhere in the catalogue.
    pub dynamic: bool,
    /// GET_LOCK or LOCK TABLES.
    pub locks: bool,
    /// A routine, view or trigger is reached whose body is not known.
    pub calls_unknown: bool,
    /// A name is reached that is not a known table or view.
    pub unknown_names: bool,
}

impl Effects {
    /// Adds the flags of another one; the tables are left to the caller.
    pub(crate) fn add_flags(&mut self, other: &Effects) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.ddl |= other.ddl;
        self.dynamic |= other.dynamic;
        self.locks |= other.locks;
        self.calls_unknown |= other.calls_unknown;
        self.unknown_names |= other.unknown_names;
    }
}
