//! What the file says about who may ask what: the part of the plan that a reload puts in force at once.

use std::collections::HashSet;
use std::time::Duration;

use rules::incident::Opening;
use rules::{Action, GateName, Mode, Rule, Timestamp};
use serde::Deserialize;
use statement::Table;

use crate::gate::{Gate, Metric};
use crate::plan::TableName;
use crate::rule::table;

/// Standing policy. Rules added at run time are in the overlay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    pub identity: identity::Settings,
    pub defaults: Defaults,
    pub queue: Queue,
    pub heartbeat_writers: HeartbeatWriters,
    /// In the order of the file; no id twice. Those that have expired are still in it.
    pub rules: Vec<Rule>,
    /// No name twice.
    pub playbooks: Vec<Playbook>,
    /// In the order of the file; no name twice.
    pub gates: Vec<Gate>,
    /// Those that are not built in; no name twice.
    pub metrics: Vec<Metric>,
}

impl Policy {
    pub fn playbook(&self, name: &str) -> Option<&Playbook> {
        self.playbooks.iter().find(|playbook| playbook.name == name)
    }

    pub fn gate(&self, name: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| *gate.settings.name == *name)
    }

    /// Gates for which a rule gives thresholds and there is no place any more, beside the rules of the file and those `added`.
    pub fn gates_without_place<'r>(&self, added: &[Rule], rule: &'r Rule) -> Vec<&'r GateName> {
        let known: HashSet<&GateName> =
            self.rules.iter().chain(added).flat_map(|known| known.effect.thresholds.keys()).collect();
        let new: Vec<&GateName> = rule.effect.thresholds.keys().filter(|gate| !known.contains(gate)).collect();
        let free = rules::MOST_THRESHOLDS.saturating_sub(known.len());
        new.into_iter().skip(free).collect()
    }

    /// Gates that a rule names and that there are not: it was added when there were. It has no effect on them.
    pub fn missing_gates<'r>(&self, rule: &'r Rule) -> Vec<&'r GateName> {
        let named = rule.effect.thresholds.keys().chain(rule.effect.skip_gates.iter().flatten());
        let mut missing: Vec<&GateName> = named.filter(|gate| self.gate(gate).is_none()).collect();
        missing.sort();
        missing.dedup();
        missing
    }
}

/// What a rule that does not say otherwise does, and the times that no rule sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    pub mode: Mode,
    pub action: Action,
    pub max_delay: Duration,
    /// The most that a transaction is held which has only read.
    pub max_delay_after_reads: Duration,
    pub error: ErrorPreset,
    /// After how long a transaction that has only read is judged again.
    pub unit_grace: Duration,
    /// How long, and for how many statements, what holds locks passes undelayed.
    pub lock_grace: Duration,
    pub lock_grace_statements: u64,
    /// The mean of the random pause before a refusal; zero turns it off.
    pub reject_pause: Duration,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults {
            mode: Mode::Enforce,
            action: Action::Delay,
            max_delay: Duration::from_secs(3),
            max_delay_after_reads: Duration::from_secs(1),
            error: ErrorPreset::Throttled,
            unit_grace: Duration::from_secs(30),
            lock_grace: Duration::from_secs(30),
            lock_grace_statements: 1000,
            reject_pause: Duration::from_millis(150),
        }
    }
}

/// The error that a refused client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorPreset {
    /// 1226, HY000.
    #[default]
    Throttled,
    /// 1205, which frameworks retry.
    Retryable,
    /// 3024.
    Timeout,
    /// 1041, as Vitess answers.
    Vitess,
}

impl ErrorPreset {
    /// As it is written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorPreset::Throttled => "throttled",
            ErrorPreset::Retryable => "retryable",
            ErrorPreset::Timeout => "timeout",
            ErrorPreset::Vitess => "vitess",
        }
    }
}

/// How many queries may be held at once.
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

/// Whose writes measure the lag, and so must not be delayed: the built-in exemption is made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatWriters {
    pub users: Vec<Box<[u8]>>,
    /// In lower case; without a schema, in any.
    pub tables: Vec<Table>,
}

impl HeartbeatWriters {
    /// The built-in rules that exempt them.
    pub fn rules(&self) -> Vec<Rule> {
        rules::builtin::heartbeat(&self.users, &self.tables)
    }

    /// The proxy's own table, unless it is among them.
    pub(crate) fn add(&mut self, table: &TableName) {
        let table = table::in_lower_case(Some(&table.schema), &table.name);
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }
}

impl Default for HeartbeatWriters {
    fn default() -> Self {
        let table = |schema: &str| Table { schema: Some(schema.into()), name: "heartbeat".into() };
        HeartbeatWriters { users: Vec::new(), tables: ["heartbeat", "percona", "tollgate"].map(table).into() }
    }
}

/// A set of rules that an incident puts in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Playbook {
    pub name: String,
    pub rules: Vec<Template>,
}

/// A rule that waits for its incident.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// Without an end, and with an id that is one only within its playbook.
    pub rule: Rule,
    /// From the opening of the incident.
    pub lifetime: Duration,
}

impl Playbook {
    /// Its rules as an incident that is opened `now` puts them in force: `batch-yields` becomes `batch-yields-INC-42`.
    pub fn open(&self, incident: &str, opened_by: Option<&str>, reason: Option<&str>, now: Timestamp) -> Vec<Rule> {
        let opening = Opening { incident, playbook: &self.name, reason, opened_by };
        let rules = self.rules.iter().map(|template| (&template.rule, Some(template.lifetime)));
        rules::incident::open(rules, &opening, now)
    }
}
