//! The policy: defaults filled in, rules and playbooks read one by one.

use std::collections::HashSet;

use super::gates::Gates;
use super::{Resolver, Surrounding};
use crate::gate::KnownGate;
use crate::policy::{Defaults, HeartbeatWriters, Playbook, Policy, Queue, Template};
use crate::raw::{Raw, RawDefaults, RawHeartbeatWriters, RawIdentity, RawQueue};
use crate::rule::{Kind, read_rule};
use crate::tree::{At, KeyPath, Node};
use crate::value::{Id, NamedPart};

/// What `Raw` has for the policy.
pub(super) struct RawPolicy {
    identity: RawIdentity,
    defaults: RawDefaults,
    queue: RawQueue,
    heartbeat_writers: RawHeartbeatWriters,
    rules: Option<Node>,
    playbooks: Option<Node>,
    gates: Option<Node>,
    metrics: Option<Node>,
}

impl RawPolicy {
    pub(super) fn take_from(raw: &mut Raw) -> Self {
        RawPolicy {
            identity: std::mem::take(&mut raw.identity),
            defaults: std::mem::take(&mut raw.defaults),
            queue: std::mem::take(&mut raw.queue),
            heartbeat_writers: std::mem::take(&mut raw.heartbeat_writers),
            rules: raw.rules.take(),
            playbooks: raw.playbooks.take(),
            gates: raw.gates.take(),
            metrics: raw.metrics.take(),
        }
    }
}

impl Resolver<'_> {
    pub(super) fn policy(&mut self, raw: RawPolicy, around: &Surrounding) -> Policy {
        let metrics = self.metrics(raw.metrics.as_ref(), around);
        let Gates { gates, known } = self.gates(raw.gates.as_ref(), &metrics, around);
        let rules = self.rules(raw.rules.as_ref(), &known);
        let playbooks = self.playbooks(raw.playbooks.as_ref(), &known);
        self.refuse_many_thresholds(&rules, &playbooks);
        Policy {
            identity: self.identity(raw.identity),
            defaults: defaults(&raw.defaults),
            queue: queue(&raw.queue),
            heartbeat_writers: heartbeat_writers(raw.heartbeat_writers),
            rules,
            playbooks,
            gates,
            metrics,
        }
    }

    fn identity(&mut self, raw: RawIdentity) -> identity::Settings {
        let usual = identity::Settings::default();
        let trusted = raw.trust_claims_of.map(|list| list.0.into_iter().map(|trust| trust.0).collect());
        let name = raw.name.map_or(usual.name, |list| self.name_parts(list.0));
        identity::Settings { name, trust_claims_of: trusted.unwrap_or(usual.trust_claims_of) }
    }

    fn name_parts(&mut self, parts: Vec<NamedPart>) -> Vec<identity::NamePart> {
        let place = KeyPath::of("identity.name");
        if parts.is_empty() {
            let what = "the list is empty: all clients would have the same name";
            self.refuse_at(place.clone(), At::Value, what, "write at least one fact, such as `[user]`");
        }
        let mut kept = Vec::new();
        for (index, NamedPart(part)) in parts.into_iter().enumerate() {
            if kept.contains(&part) {
                self.refuse_at(place.item(index), At::Value, format!("`{part}` is in the list already"), "take it out");
            }
            kept.push(part);
        }
        kept
    }

    fn rules(&mut self, node: Option<&Node>, gates: &[KnownGate]) -> Vec<rules::Rule> {
        let place = KeyPath::of("rules");
        let mut ids = HashSet::new();
        let mut rules = Vec::new();
        for (index, node) in self.items(node, &place).iter().enumerate() {
            let place = place.item(index);
            let read = read_rule(node, &place, Kind::File, Some(gates), self.now, &mut self.troubles);
            let Some((rule, _)) = read else { continue };
            if ids.insert(rule.id.clone()) {
                rules.push(rule);
            } else {
                let what = format!("a rule above has the id `{}` already", rule.id);
                self.refuse_at(place.key("id"), At::Value, what, "give this one another id");
            }
        }
        rules
    }

    fn playbooks(&mut self, node: Option<&Node>, gates: &[KnownGate]) -> Vec<Playbook> {
        let place = KeyPath::of("playbooks");
        let remedy = "write names and the rules of each, such as `write-overload: [ … ]`";
        let entries = self.entries(node, &place, "playbooks", remedy);
        let mut playbooks = Vec::new();
        for (name, node) in entries {
            let place = place.key(name);
            if let Err(complaint) = Id::parse(name) {
                self.refuse_at(place.clone(), At::Key, complaint.what, complaint.remedy);
            }
            let rules = self.templates(node, &place, gates);
            playbooks.push(Playbook { name: name.clone(), rules });
        }
        playbooks
    }

    fn templates(&mut self, node: &Node, place: &KeyPath, gates: &[KnownGate]) -> Vec<Template> {
        let nodes = self.items(Some(node), place);
        if nodes.is_empty() {
            self.refuse_at(place.clone(), At::Key, "the playbook has no rules", "add one, or take the playbook out");
        }
        let mut templates: Vec<Template> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let place = place.item(index);
            let read = read_rule(node, &place, Kind::Template, Some(gates), self.now, &mut self.troubles);
            let Some((rule, lifetime)) = read else { continue };
            if templates.iter().any(|earlier| earlier.rule.id == rule.id) {
                let what = format!("a rule above has the id `{}` already", rule.id);
                self.refuse_at(place.key("id"), At::Value, what, "give this one another id");
            }
            templates.push(Template { rule, lifetime: lifetime.unwrap_or_default() });
        }
        templates
    }

    /// Who owns a threshold is known without allocation, so there are places for a few gates.
    fn refuse_many_thresholds(&mut self, rules: &[rules::Rule], playbooks: &[Playbook]) {
        let at = |place: KeyPath, rule: &rules::Rule| {
            let place = place.key("do").key("thresholds");
            rule.effect.thresholds.keys().map(|gate| (gate.clone(), place.key(gate))).collect::<Vec<_>>()
        };
        let rules = rules.iter().enumerate().flat_map(|(index, rule)| at(KeyPath::of("rules").item(index), rule));
        let templates = playbooks.iter().flat_map(|playbook| {
            let place = KeyPath::of("playbooks").key(&playbook.name);
            let one = |(index, template): (usize, &Template)| at(place.item(index), &template.rule);
            playbook.rules.iter().enumerate().flat_map(one).collect::<Vec<_>>()
        });
        let mut named = HashSet::new();
        for (gate, place) in rules.chain(templates) {
            if named.insert(gate) && named.len() > rules::MOST_THRESHOLDS {
                let what = format!("rules give thresholds for more than {} gates", rules::MOST_THRESHOLDS);
                self.refuse_at(place, At::Key, what, "take it out, or write a gate of its own with a `match`");
            }
        }
    }

    /// The items of a list; nothing at all is an empty list.
    fn items<'n>(&mut self, node: Option<&'n Node>, place: &KeyPath) -> &'n [Node] {
        match node {
            None | Some(Node::Null) => &[],
            Some(Node::List(items)) => items,
            Some(_) => {
                let remedy = "write a list, each rule with a dash before it: `- id: batch-yields`";
                self.refuse_at(place.clone(), At::Value, "this is not a list of rules", remedy);
                &[]
            }
        }
    }
}

fn defaults(raw: &RawDefaults) -> Defaults {
    let usual = Defaults::default();
    Defaults {
        mode: raw.mode.map_or(usual.mode, |word| word.0),
        action: raw.action.map_or(usual.action, |word| word.0),
        max_delay: raw.max_delay.map_or(usual.max_delay, |span| span.0),
        max_delay_after_reads: raw.max_delay_after_reads.map_or(usual.max_delay_after_reads, |span| span.0),
        error: raw.error.unwrap_or(usual.error),
        unit_grace: raw.unit_grace.map_or(usual.unit_grace, |span| span.0),
        lock_grace: raw.lock_grace.map_or(usual.lock_grace, |span| span.0),
        lock_grace_statements: raw
            .lock_grace_statements
            .map_or(usual.lock_grace_statements, |count| u64::try_from(count.0).unwrap_or(u64::MAX)),
        reject_pause: raw.reject_pause.map_or(usual.reject_pause, |span| span.0),
    }
}

fn queue(raw: &RawQueue) -> Queue {
    let usual = Queue::default();
    let total = raw.total.map_or(usual.total, |count| count.0);
    // A small total brings the other down with it.
    Queue { per_identity: raw.per_identity.map_or(usual.per_identity.min(total), |count| count.0), total }
}

fn heartbeat_writers(raw: RawHeartbeatWriters) -> HeartbeatWriters {
    let usual = HeartbeatWriters::default();
    HeartbeatWriters {
        users: raw
            .users
            .map_or(usual.users, |list| list.0.into_iter().map(|user| user.0.into_bytes().into()).collect()),
        tables: raw.tables.map_or(usual.tables, |list| list.0.into_iter().map(|table| table.0).collect()),
    }
}
