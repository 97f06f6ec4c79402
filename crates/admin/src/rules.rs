//! `/rules`: those of the file, those of the run time, and those that are built in.

pub(crate) mod add;
pub(crate) mod end;
pub(crate) mod extend;
pub(crate) mod list;
