//! The tables that the views, routines and triggers of a server touch, as an immutable snapshot.
//!
//! [`Catalog::build`] takes what a probe read from the server's catalogue ([`Inventory`]), reads the bodies, and computes
//! once what each object reaches. A statement's tables are then looked up with [`Catalog::tables_behind`].
//!
//! Every answer is an over-approximation: a body may touch less than it is said to touch. That is right for restricting
//! rules; a favouring rule must hold for all tables of an answer. What the probe could not see is reported as unknown and
//! never guessed. The crate has no socket and no clock, and knows no rule. Start with [`Catalog`].
//!
//! Names are compared in lower case, whatever `lower_case_table_names` is: where a server tells `T` from `t`, the two count
//! as one object that touches what either touches.
#![forbid(unsafe_code)]

mod effects;
mod inventory;

mod catalog;
mod closure;
mod graph;

pub use catalog::{Access, Catalog, Expansion};
pub use effects::Effects;
pub use inventory::{Inventory, RoutineRow, Sight, TableRow, TriggerRow, Unseen, ViewRow};
