//! Which rule owns a query: rules are compiled into an index, and the facts of a query find the few that match.
//!
//! It never rolls dice, never waits, never looks at a clock (`now` is an argument) and never reads a file. Read [`Rule`]
//! first: it is what an operator writes, with nothing left to parse. Then [`RuleSet`]: all of them, and their judgement.
#![forbid(unsafe_code)]

mod rule;

mod matching;

mod timestamp;

mod ruleset;

mod possible;
mod query;

mod judgement;

mod gates;

mod matcher;

mod compiled;

mod index;

mod scope;

mod specificity;

mod standing;

mod activity;

mod tables;

mod explain;

mod warnings;

pub mod builtin;
pub mod incident;
pub mod lifetime;

#[cfg(test)]
mod samples;

pub use compiled::{CompiledRule, Hits};
pub use explain::{Because, Considered, Field, Outcome, Shielded};
pub use gates::MOST_THRESHOLDS;
pub use judgement::{Fields, Judgement, LoginJudgement, MatchingLimits};
pub use matcher::Matcher;
pub use matching::{Condition, Key, Match, Network, Scope, Value};
pub use query::{Query, QueryShapes, Schema, Tables};
pub use rule::{
    Action, Active, Days, Do, GateName, InTransaction, Limits, Mode, Origin, Rule, RuleId, Share, UnknownTables,
};
pub use ruleset::{Candidates, RuleSet};
pub use timestamp::Timestamp;
pub use warnings::{Warning, WarningKind};
