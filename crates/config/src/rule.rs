//! One rule: from YAML in proxy.yaml, from JSON at run time, and back to JSON. All go through the same reader.

mod active;
mod effect;
mod end;
mod id;
mod matching;
mod raw;
mod resolve;
pub(crate) mod table;
mod text;
mod write;

use std::fmt;
use std::time::Duration;

use rules::{Rule, Timestamp};
use serde::Deserialize;

use crate::gate::{Gate, KnownGate};
use crate::load::explain_unknown_key;
use crate::tree::{KeyPath, Node, Trouble, read_at};

pub(crate) use matching::{MATCH_KEYS, RawMatch};
pub(crate) use raw::{RawActive, RawDo, RawRule};
pub(crate) use resolve::matching as resolve_matching;
pub use write::shown as shown_json;
pub(crate) use write::{matching as matching_to_json, to_json};

/// Where a rule stands, which decides what it says about its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In proxy.yaml: `expires` or `permanent: true`.
    File,
    /// In a playbook: `for`, counted from the opening of the incident.
    Template,
    /// Added while running: `for` or `expires`, else the default.
    Runtime,
    /// Read back from `state_dir`: `expires`, whatever the time is now.
    Stored,
}

/// What is wrong with a rule that came as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProblem {
    /// As in `do.rejection_ratio`; empty if the rule as a whole is meant.
    pub key: String,
    pub what: String,
    pub remedy: String,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

/// A rule to be added at run time, where there are these gates. It says `for` or `expires`, or has the default lifetime of
/// what it does; without an `id` it gets one. All that is wrong is said at once.
pub fn from_json(json: &serde_json::Value, gates: &[Gate], now: Timestamp) -> Result<Rule, Vec<RuleProblem>> {
    from_node(Node::deserialize(json), Kind::Runtime, Some(&KnownGate::all(gates)), now)
}

/// The same from a text, where a key that is written twice is seen too.
pub fn from_json_text(text: &str, gates: &[Gate], now: Timestamp) -> Result<Rule, Vec<RuleProblem>> {
    from_node(serde_json::from_str(text), Kind::Runtime, Some(&KnownGate::all(gates)), now)
}

/// A rule as [`to_json`] wrote it, also if it has ended since.
pub(crate) fn from_stored(json: &serde_json::Value, now: Timestamp) -> Result<Rule, Vec<RuleProblem>> {
    from_node(Node::deserialize(json), Kind::Stored, None, now)
}

fn from_node(
    node: serde_json::Result<Node>,
    kind: Kind,
    gates: Option<&[KnownGate]>,
    now: Timestamp,
) -> Result<Rule, Vec<RuleProblem>> {
    let mut node = node.map_err(|error| {
        let remedy = "write `{ \"match\": { … }, \"do\": { … } }`".to_owned();
        vec![RuleProblem { key: String::new(), what: format!("this is not JSON: {error}"), remedy }]
    })?;
    // As if it stood in a file, so that the words on unknown keys are the same.
    let base = KeyPath::of("rules").item(0);
    let mut troubles = Vec::new();
    node.take_out_repeated(&base, &mut troubles);
    let read = read_rule(&node, &base, kind, gates, now, &mut troubles);
    match read {
        Some((rule, _)) if troubles.is_empty() => Ok(rule),
        _ => Err(troubles.into_iter().map(|trouble| problem(trouble, &base)).collect()),
    }
}

fn problem(mut trouble: Trouble, base: &KeyPath) -> RuleProblem {
    explain_unknown_key(&mut trouble);
    RuleProblem { key: trouble.path().below(base), what: trouble.what, remedy: trouble.remedy }
}

/// The rule at the place `base`, and how long it lasts if that is how its end is given. Where the gates are not known, any
/// name is one.
pub(crate) fn read_rule(
    node: &Node,
    base: &KeyPath,
    kind: Kind,
    gates: Option<&[KnownGate]>,
    now: Timestamp,
    troubles: &mut Vec<Trouble>,
) -> Option<(Rule, Option<Duration>)> {
    let mut found = Vec::new();
    let raw: Option<RawRule> = read_at(node, base, &mut found);
    // A rule that was read only in part would be blamed for what was taken out of it.
    let rule =
        raw.filter(|_| found.is_empty()).and_then(|raw| resolve::resolve(raw, base, kind, gates, now, &mut found));
    troubles.extend(found);
    rule
}

#[cfg(test)]
pub(crate) mod tests;
