//! What is in force: immutable, one value for all sessions, swapped as a whole.

mod gates;
mod read;

use std::sync::Arc;
use std::time::Duration;

use identity::{Said, Settings};
use rules::{
    Action, CompiledRule, Fields, InTransaction, Judgement, Key, Mode, Query, RuleSet, Share, Timestamp, Value,
};
use statement::{Class, Classes};

use crate::limits::Need;
use crate::refusal::Preset;
use crate::unit::{BRIEF, Graces};

pub(crate) use gates::Concerning;
pub use gates::{Gate, Gates, Placed};
pub(crate) use read::ReadByRules;

#[derive(Debug)]
pub struct Policy {
    /// Counts up with every policy that is put in force.
    pub generation: u64,
    pub identity: Settings,
    pub defaults: Defaults,
    pub queue: Queue,
    pub rules: RuleSet,
    /// Those that are in force, each at its place.
    pub gates: Gates,
    /// As they are written, until the policy is put in force.
    pub(crate) planned: Vec<Gate>,
    /// Some rule says something of transactions that have written.
    pub(crate) rules_on_transactions: bool,
    /// Some rule has a `max_concurrency`.
    limits_concurrency: bool,
    /// Some rule may reject with certainty.
    has_certain_rejections: bool,
    /// Places in `rules` of those with `max_connections`.
    limit_connections: Vec<usize>,
    read_by_rules: ReadByRules,
}

impl Policy {
    pub fn new(generation: u64, identity: Settings, defaults: Defaults, queue: Queue, rules: RuleSet) -> Policy {
        let all = rules.rules();
        let limits = |(at, rule): (usize, &Arc<CompiledRule>)| rule.effect.limits.max_connections.map(|_| at);
        Policy {
            rules_on_transactions: all.iter().any(|rule| rule.in_transaction != InTransaction::Pass),
            limits_concurrency: all.iter().any(|rule| rule.effect.limits.max_concurrency.is_some()),
            has_certain_rejections: all.iter().any(|rule| is_certain(rule, &defaults)),
            limit_connections: all.iter().enumerate().filter_map(limits).collect(),
            read_by_rules: ReadByRules::new(all.iter().map(|rule| &rule.matching)),
            generation,
            identity,
            defaults,
            queue,
            rules,
            gates: Gates::default(),
            planned: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_gates(mut self, gates: Vec<Gate>) -> Policy {
        gates.iter().flat_map(|gate| &gate.reads).for_each(|key| self.read_by_rules.also(key));
        self.planned = gates;
        self
    }

    /// What nobody looks at is left out of who asks: a `request_id` that is new with every query makes no new client.
    pub(crate) fn keep_what_is_read(&self, said: &mut Said<'_>) {
        let read = &self.read_by_rules;
        said.retain(
            |key| self.identity.reads_tag(key) || read.tag(key),
            |key| self.identity.reads_query_attribute(key) || read.query_attribute(key),
        );
    }

    /// Some rule may apply to statements that pass for other reasons, also in a transaction that has written.
    #[inline]
    pub(crate) fn has_certain_rejections(&self) -> bool {
        self.has_certain_rejections
    }

    /// Whether the owner of the share rejects with certainty and names the statement. Such a rejection holds nothing up, so it applies
    /// everywhere: else a harmless write in front would be a way around it.
    pub(crate) fn rejects_certainly(&self, fields: &Fields<'_>, query: &impl Query) -> bool {
        let Some(rule) = fields.share.filter(|rule| is_certain(rule, &self.defaults)) else { return false };
        rule.matching.conditions.iter().any(|condition| match condition.key {
            Key::Table | Key::Fingerprint | Key::Shape => true,
            Key::Class => condition.values.iter().any(is_ddl) && query.classes().intersects(MAY_DEFINE),
            Key::Scope
            | Key::User
            | Key::Address
            | Key::Schema
            | Key::Listener
            | Key::Tool
            | Key::Attr(_)
            | Key::Tag(_)
            | Key::QueryAttr(_) => false,
        })
    }

    #[inline]
    pub(crate) fn limits_concurrency(&self) -> bool {
        self.limits_concurrency
    }

    pub(crate) fn limits_connections(&self) -> bool {
        !self.limit_connections.is_empty()
    }

    /// The next moment at which a rule on connections begins or ends to count.
    pub(crate) fn connections_change(&self, now: Timestamp) -> Option<Timestamp> {
        let rules = self.limit_connections.iter().filter_map(|at| self.rules.rules().get(*at));
        let changes =
            rules.flat_map(|rule| [rule.expires, rule.active.as_ref().and_then(|hours| hours.next_change(now))]);
        changes.flatten().filter(|moment| *moment > now).min()
    }

    /// Nothing can come of judging.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.rules.is_empty() || self.defaults.mode == Mode::Off
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
            Some(Need::rule(rule.id.clone(), limit, self.generation))
        })
    }
}

impl Policy {
    /// The gates whose leave a unit needs: all that concern it, if one of them restricts anything, so that who waits for one does not
    /// slip past another; and the thresholds that rules set for it.
    pub(crate) fn gate_needs(&self, fields: &Fields<'_>, concerning: u64, restricting: bool) -> Vec<Need> {
        if fields.exempt() || !(restricting || fields.has_thresholds()) {
            return Vec::new();
        }
        let mut needs = Vec::new();
        for placed in self.gates.iter().filter(|placed| concerning & placed.slot.bit() != 0) {
            let (name, own) = (placed.name(), placed.gate.settings.threshold);
            if fields.skips(name) {
                continue;
            }
            needs.extend(placed.needs(fields.threshold(name, own), restricting));
        }
        needs
    }
}

/// The classes of statements that may be DDL.
const MAY_DEFINE: Classes = Classes::of(Class::Ddl).with_possible();

fn is_ddl(value: &Value) -> bool {
    matches!(value, Value::Class(Class::Ddl) | Value::ExactClass(Class::Ddl))
}

fn is_certain(rule: &CompiledRule, defaults: &Defaults) -> bool {
    let certain = rule.effect.share.is_some_and(|share| matches!(share, Share::Ratio(ratio) if ratio >= 1.0));
    certain && rule.action.unwrap_or(defaults.action) == Action::Reject
}

/// What a rule that does not say otherwise does, and the times that no rule sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Defaults {
    /// Of the whole proxy: a rule's own mode counts as far as this allows.
    pub mode: Mode,
    pub action: Action,
    pub max_delay: Duration,
    /// The most that a transaction is held which has only read.
    pub max_delay_after_reads: Duration,
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
            max_delay_after_reads: BRIEF,
            error: Preset::Throttled,
            graces: Graces::default(),
            reject_pause: Duration::from_millis(150),
        }
    }
}

/// How many units may wait at once.
///
/// Of one user, whatever it calls itself, at most a quarter of all wait, or as many as one identity may if those are more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    pub per_identity: usize,
    pub total: usize,
}

impl Queue {
    pub fn per_user(&self) -> usize {
        (self.total / 4).max(self.per_identity).min(self.total)
    }
}

impl Default for Queue {
    fn default() -> Self {
        Queue { per_identity: 256, total: 10_000 }
    }
}
