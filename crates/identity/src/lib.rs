//! Who is asking: facts with their sources, and a name made from them.
//!
//! It never decides anything, never looks at a clock and never keeps SQL. Read [`Identity`] first.
#![forbid(unsafe_code)]

mod identity;

mod identities;
mod settings;

mod comments;
mod said;
mod tool;

mod limits;
mod name;
mod naming;
mod pairs;

mod clients;

pub use clients::{Client, Clients, Counts};
pub use comments::read_comments;
pub use identities::{Connection, Identities, of_connection, of_query};
pub use identity::Identity;
pub use name::Name;
pub use pairs::Pairs;
pub use said::{Kept, Said};
pub use settings::{NamePart, Settings, Trust};
