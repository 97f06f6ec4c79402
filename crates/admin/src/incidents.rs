//! `/incidents`: those that are open.

pub(crate) mod close;
pub(crate) mod list;
pub(crate) mod open;
