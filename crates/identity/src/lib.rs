//! Who is asking: facts with their sources, and a name made from them.
//!
//! It never decides anything, never looks at a clock and never keeps SQL. Read [`Identity`] first.
#![forbid(unsafe_code)]

mod identity;

mod name;
mod pairs;

pub use identity::Identity;
pub use name::Name;
pub use pairs::Pairs;
