//! What is in force: immutable, one value for all sessions, swapped as a whole.

use std::time::Duration;

use identity::Settings;
use rules::{Action, Fields, InTransaction, Judgement, Mode, RuleSet};

use crate::limits::Need;
use crate::refusal::Preset;
use crate::unit::Graces;

#[derive(Debug)]
pub struct Policy {
    /// Counts up with every policy that is put in force.
    pub generation: u64,
    pub identity: Settings,
    pub defaults: Defaults,
    pub queue: Queue,
    pub rules: RuleSet,
    /// Some rule says something of transactions that have written.
    pub(crate) rules_on_transactions: bool,
}

impl Policy {
    pub fn new(generation: u64, identity: Settings, defaults: Defaults, queue: Queue, rules: RuleSet) -> Policy {
        let rules_on_transactions = rules.rules().iter().any(|rule| rule.in_transaction != InTransaction::Pass);
        Policy { generation, identity, defaults, queue, rules, rules_on_transactions }
    }

    /// What acts, and what is only counted: the whole proxy may be set to warn.
    pub(crate) fn in_force<'a>(&self, judgement: Judgement<'a>) -> (Fields<'a>, Option<Fields<'a>>) {
        let Judgement { enforced, with_warned, .. } = judgement;
        match self.defaults.mode {
            Mode::Enforce => (enforced, with_warned),
            Mode::Warn | Mode::Off => (Fields::default(), Some(with_warned.unwrap_or(enforced))),
        }
    }

    /// The limits on what runs at once.
    pub(crate) fn needs(&self, fields: &Fields<'_>) -> impl Iterator<Item = Need> {
        fields.concurrency.iter().filter_map(|rule| {
            let limit = rule.effect.limits.max_concurrency?;
            Some(Need { rule: rule.id.clone(), limit, generation: self.generation })
        })
    }
}

/// What a rule that does not say otherwise does, and the times that no rule sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Defaults {
    /// Of the whole proxy: a rule's own mode counts as far as this allows.
    pub mode: Mode,
    pub action: Action,
    pub max_delay: Duration,
    pub error: Preset,
    pub graces: Graces,
    /// The mean of the random pause before a refusal.
    pub reject_pause: Duration,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults {
            mode: Mode::Enforce,
            action: Action::Delay,
            max_delay: Duration::from_secs(3),
            error: Preset::Throttled,
            graces: Graces::default(),
            reject_pause: Duration::from_millis(150),
        }
    }
}

/// How many units may wait at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    pub per_identity: usize,
    pub total: usize,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { per_identity: 256, total: 10_000 }
    }
}
