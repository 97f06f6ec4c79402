//! Where each rule stands.

use statement::{Class, Shapes};

use super::anchor::{Anchor, places};
use super::{ByTable, Index, List, Map, PairMap, Prefixes};
use crate::compiled::CompiledRule;
use crate::rule::Mode;

pub(super) fn build<'a>(rules: impl Iterator<Item = &'a CompiledRule> + Clone) -> Index {
    let rules = rules.filter(|rule| !rule.matches_nothing() && rule.mode != Some(Mode::Off));
    let mut shared: Map<Anchor<'_>, u32> = Map::default();
    for anchor in rules.clone().flat_map(places).flat_map(|place| place.values).flatten() {
        *shared.entry(anchor).or_default() += 1;
    }
    let mut index = Index::default();
    for rule in rules {
        match rarest(rule, &shared) {
            Some(anchors) => anchors.into_iter().for_each(|anchor| index.insert(anchor, rule)),
            None => index.always.push(rule.index()),
        }
    }
    index
}

/// A value that so few rules share is rare enough: checking them all costs less than a dearer look-up would.
const RARE: u32 = 16;

/// An anchor for each value of the condition whose most common value is the least common; of rare ones the cheapest.
fn rarest<'a>(rule: &'a CompiledRule, shared: &Map<Anchor<'_>, u32>) -> Option<Vec<Anchor<'a>>> {
    let sharers = |anchor: &Anchor<'_>| shared.get(anchor).copied().unwrap_or_default();
    let rarest = places(rule).map(|place| {
        let anchors: Vec<Anchor<'_>> =
            place.values.into_iter().filter_map(|any| any.into_iter().min_by_key(sharers)).collect();
        (anchors.iter().map(sharers).max().unwrap_or_default(), place.cost, anchors)
    });
    rarest.min_by_key(|(most, cost, _)| (RARE.max(*most), *cost, *most)).map(|(_, _, anchors)| anchors)
}

impl Index {
    fn insert(&mut self, anchor: Anchor<'_>, rule: &CompiledRule) {
        let place = rule.index();
        match anchor {
            Anchor::Name(name) => push(self.names.entry(name.into()).or_default(), place),
            Anchor::Prefix(prefix) => push(prefixes(&mut self.prefixes, prefix), place),
            Anchor::User(user) => push(self.users.entry(user.into()).or_default(), place),
            Anchor::Listener(listener) => push(self.listeners.entry(listener.into()).or_default(), place),
            Anchor::Tool(tool) => push(self.tools.entry(tool.into()).or_default(), place),
            Anchor::Network(network) => push(self.networks.entry(network), place),
            Anchor::Attr(key, value) => push(pair(&mut self.attrs, key, value), place),
            Anchor::Tag(key, value) => push(pair(&mut self.tags, key, value), place),
            Anchor::QueryAttr(key, value) => push(pair(&mut self.query_attrs, key, value), place),
            Anchor::Class(class) => {
                self.classes.get_mut(class as usize).into_iter().for_each(|list| list.push(rule));
            }
            Anchor::Shape(shape) => {
                let fits = |set: u8| Shapes::from_bits_retain(set).contains(shape);
                let sets = (0..=Shapes::all().bits()).zip(&mut self.shapes);
                sets.filter(|(set, _)| fits(*set)).for_each(|(_, list)| list.push(rule));
            }
            Anchor::Schema(schema) => {
                self.schemas.entry(schema.to_ascii_lowercase().into()).or_default().push(rule);
            }
            Anchor::Fingerprint(fingerprint) => {
                self.fingerprints.entry(fingerprint).or_default().push(rule);
                let classes = Class::ALL.into_iter().filter(|class| rule.allows_class(*class));
                classes.for_each(|class| self.fingerprint_classes.insert(class));
            }
            Anchor::Table(name) => self.tables.insert(name, rule),
        }
    }
}

impl List {
    fn push(&mut self, rule: &CompiledRule) {
        let list = if rule.needs_tables() { &mut self.with_tables } else { &mut self.plain };
        push(list, rule.index());
    }
}

impl ByTable {
    fn insert(&mut self, name: &str, rule: &CompiledRule) {
        push(self.names.entry(name.into()).or_default(), rule.index());
        push(&mut self.rules, rule.index());
        for class in Class::ALL.into_iter().filter(|class| rule.allows_class(*class)) {
            if rule.restricts() {
                self.restricting.insert(class);
            }
            if rule.favours() {
                self.favouring.insert(class);
            }
        }
    }
}

/// Rules come in order, so one that is there already is the last.
fn push(rules: &mut Vec<u32>, rule: u32) {
    if rules.last() != Some(&rule) {
        rules.push(rule);
    }
}

fn pair<'a>(map: &'a mut PairMap, key: &[u8], value: &[u8]) -> &'a mut Vec<u32> {
    map.entry(key.into()).or_default().entry(value.into()).or_default()
}

fn prefixes<'a>(lengths: &'a mut Vec<(usize, Prefixes)>, prefix: &str) -> &'a mut Vec<u32> {
    let place = lengths.binary_search_by_key(&prefix.len(), |(length, _)| *length);
    let place = place.unwrap_or_else(|free| {
        lengths.insert(free, (prefix.len(), Map::default()));
        free
    });
    lengths[place].1.entry(prefix.into()).or_default()
}
