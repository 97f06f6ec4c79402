//! The questions, each with the pure reading of its answer.

pub(crate) mod applier;
pub(crate) mod channels;
pub(crate) mod history;
pub(crate) mod status;
pub(crate) mod variables;
