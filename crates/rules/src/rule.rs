//! A rule as an operator means it: every value parsed, every default of its own filled in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::matching::Match;
use crate::timestamp::Timestamp;

/// Unique among all rules of the file and of the run time together.
pub type RuleId = Arc<str>;

#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub id: RuleId,
    pub origin: Origin,
    pub matching: Match,
    pub effect: Do,
    /// `None`: the default of the configuration.
    pub action: Option<Action>,
    /// `None`: the default of the configuration.
    pub max_delay: Option<Duration>,
    /// `None`: the default of the configuration.
    pub mode: Option<Mode>,
    /// Higher owns. 0 if it is not written.
    pub priority: i32,
    /// Of a run-time rule: it stands even where a rule of the file is stricter.
    pub overrides: bool,
    pub in_transaction: InTransaction,
    pub unknown_tables: UnknownTables,
    pub active: Option<Active>,
    /// `None`: permanent, which only a rule of the file or a built-in one can be.
    pub expires: Option<Timestamp>,
    pub created: Option<Timestamp>,
    pub created_by: Option<String>,
    pub reason: Option<String>,
    pub incident: Option<String>,
    /// The playbook that put it in force with its incident.
    pub playbook: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Ours, such as the exemption of heartbeat writers. Shown like any other. It competes with the rules of the file and with
    /// those of the run time.
    BuiltIn,
    File,
    /// Added while running, kept in `state_dir`.
    Runtime,
}

/// A gate as the configuration calls it.
pub type GateName = Arc<str>;

/// What a rule does. At least one is set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Do {
    pub share: Option<Share>,
    pub limits: Limits,
    /// By gate, in the unit of its metric. Each gate's is a field of its own.
    pub thresholds: BTreeMap<GateName, f64>,
    /// Gates that it passes. An empty list is one: it skips none, also where a less specific rule does.
    pub skip_gates: Option<BTreeSet<GateName>>,
    /// Its part when what waits takes turns, from 0.01 to 100.
    pub weight: Option<f64>,
}

impl Do {
    /// What nobody has said anything about weighs.
    pub const WEIGHT: f64 = 1.0;
}

/// `exempt`, `rejection_ratio` and `hold` are one field: of what asks, what part passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    Exempt,
    /// From 0 (all pass) to 1 (none does).
    Ratio(f64),
    /// Held until the rule ends or `max_delay`, then rejected.
    Hold,
}

impl Share {
    /// Larger is stricter.
    pub fn strictness(self) -> f64 {
        match self {
            Share::Exempt => -1.0,
            Share::Ratio(ratio) => ratio,
            Share::Hold => 2.0,
        }
    }
}

/// 0 is allowed and means none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Units that run at once, of all that match the rule together.
    pub max_concurrency: Option<u32>,
    /// Sessions of all that match the rule together. Decided at login, so on facts of the connection only.
    pub max_connections: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Action {
    #[default]
    Delay,
    Reject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    Off,
    /// Passes, and counts what it would have done.
    Warn,
    #[default]
    Enforce,
}

/// What becomes of the later statements of a transaction that has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum InTransaction {
    #[default]
    Pass,
    /// A bounded delay, then they pass.
    Delay,
    Reject,
}

/// What a name that is not a known table or view means to a restricting rule on tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UnknownTables {
    /// It is the table that it is called.
    #[default]
    Ignore,
    /// It may stand for any table, so that the rule applies.
    Match,
}

/// The hours of the week in which a rule is in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Active {
    pub days: Days,
    /// Minutes since midnight; `to` may be 1440. If `from` is not before `to`, it reaches into the next day.
    pub from: u16,
    pub to: u16,
    /// An IANA name, known to be in the database.
    pub tz: jiff::tz::TimeZone,
}

/// Bit 0 is Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days(pub u8);

impl Days {
    pub const ALL: Days = Days(0b111_1111);
}

macro_rules! words {
    ($type:ident $($variant:ident $word:literal)*) => {
        impl $type {
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $word,)* }
            }

            pub fn named(word: &str) -> Option<$type> {
                match word { $($word => Some($type::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! { Action Delay "delay" Reject "reject" }
words! { Mode Off "off" Warn "warn" Enforce "enforce" }
words! { InTransaction Pass "pass" Delay "delay" Reject "reject" }
words! { UnknownTables Ignore "ignore" Match "match" }
words! { Origin BuiltIn "built-in" File "file" Runtime "runtime" }
