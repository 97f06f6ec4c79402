//! Which rule owns a query: rules are compiled into an index, and the facts of a query find the few that match.
//!
//! It never rolls dice, never waits, never looks at a clock (`now` is an argument) and never reads a file. Read [`Rule`]
//! first: it is what an operator writes, with nothing left to parse.
#![forbid(unsafe_code)]

mod rule;

mod matching;

mod timestamp;

pub use matching::{Condition, Key, Match, Network, Scope, Value};
pub use rule::{Action, Active, Days, Do, InTransaction, Limits, Mode, Origin, Rule, RuleId, Share};
pub use timestamp::Timestamp;
