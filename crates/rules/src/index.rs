//! From facts to the few rules that they can match: one look-up a fact, however many rules there are.
//!
//! A rule stands under each value of one of its conditions, the one whose values it shares with the fewest other rules, or
//! of several rare ones the one that is cheapest to look up.
//! What no condition narrows down (`scope: "*"` alone, or only `not`) concerns everybody, so everybody's candidates hold it:
//! these are the only rules whose number costs.

mod anchor;
mod build;
mod networks;

use std::collections::HashMap;

use identity::{Identity, Pairs};
use smallvec::SmallVec;
use statement::{Class, Classes, Fingerprint, Shapes};

use crate::compiled::CompiledRule;
use crate::query::{Query, Schema};
use networks::Networks;

/// Seeded anew in every process: nobody outside can choose values that collide.
type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
type Bytes = Box<[u8]>;
type Prefixes = Map<Box<str>, Vec<u32>>;
type PairMap = Map<Bytes, Map<Bytes, Vec<u32>>>;

/// Every set of shapes that a statement can have.
const SHAPE_SETS: usize = Shapes::all().bits() as usize + 1;

/// Rules are told by their place in the set.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// A part of a name or, if it has several parts, a whole one.
    names: Map<Box<str>, Vec<u32>>,
    /// The beginnings of parts, by their length.
    prefixes: Vec<(usize, Prefixes)>,
    users: Map<Bytes, Vec<u32>>,
    listeners: Map<Bytes, Vec<u32>>,
    tools: Map<Bytes, Vec<u32>>,
    networks: Networks,
    attrs: PairMap,
    tags: PairMap,
    query_attrs: PairMap,
    always: Vec<u32>,
    classes: [List; Class::ALL.len()],
    /// For each set of shapes all rules that it fits.
    shapes: [List; SHAPE_SETS],
    /// By their names in lower case.
    schemas: Map<Bytes, List>,
    fingerprints: Map<Fingerprint, List>,
    /// The classes that a rule under a fingerprint can have: for others no fingerprint is made.
    fingerprint_classes: Classes,
    pub(crate) tables: ByTable,
}

/// Rules that one value finds, those that must also know the tables apart.
#[derive(Debug, Default, Clone)]
pub(crate) struct List {
    pub(crate) plain: Vec<u32>,
    pub(crate) with_tables: Vec<u32>,
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.with_tables.is_empty()
    }
}

/// Those that a statement finds: four, unless its facts are in doubt.
pub(crate) type Lists<'a> = SmallVec<[&'a List; 4]>;

/// Rules that only their tables narrow down.
#[derive(Debug, Default)]
pub(crate) struct ByTable {
    names: Map<Box<str>, Vec<u32>>,
    /// All of them.
    pub(crate) rules: Vec<u32>,
    /// The classes for which the tables are worth looking at: to restrict, and to favour.
    restricting: Classes,
    favouring: Classes,
}

impl Index {
    pub(crate) fn new<'a>(rules: impl Iterator<Item = &'a CompiledRule> + Clone) -> Index {
        build::build(rules)
    }

    /// Calls back with the rules that who asks can match. A rule may come more than once.
    pub(crate) fn by_identity(&self, identity: &Identity, mut found: impl FnMut(&[u32])) {
        found(&self.always);
        self.by_name(identity, &mut found);
        let mut one = |map: &Map<Bytes, Vec<u32>>, value: &[u8]| {
            map.get(value).into_iter().for_each(|rules| found(rules));
        };
        one(&self.users, &identity.user);
        one(&self.listeners, identity.listener.as_bytes());
        if let Some(tool) = &identity.tool {
            one(&self.tools, tool);
        }
        if let Some(address) = identity.address {
            self.networks.find(address, &mut found);
        }
        by_pairs(&self.attrs, &identity.attrs, &mut found);
        by_pairs(&self.tags, &identity.tags, &mut found);
        by_pairs(&self.query_attrs, &identity.query_attrs, &mut found);
    }

    fn by_name(&self, identity: &Identity, found: &mut impl FnMut(&[u32])) {
        if !self.names.is_empty() {
            let whole = identity.name.as_str();
            for name in identity.name.parts().chain(Some(whole).filter(|whole| whole.contains(':'))) {
                self.names.get(name).into_iter().for_each(|rules| found(rules));
            }
        }
        for (length, prefixes) in &self.prefixes {
            for prefix in identity.name.parts().filter_map(|part| part.get(..*length)) {
                prefixes.get(prefix).into_iter().for_each(|rules| found(rules));
            }
        }
    }

    /// The rules that the statement may match, tables aside. Where its facts are in doubt, a rule may come more than once.
    #[inline]
    pub(crate) fn by_query(&self, query: &impl Query) -> Lists<'_> {
        let classes = query.classes();
        let mut lists = Lists::new();
        let by_class = classes.iter().filter_map(|class| self.classes.get(class as usize));
        let by_shape = self.shapes.get(usize::from(query.shapes().possible.bits()));
        lists.extend(by_class.chain(by_shape).filter(|list| !list.is_empty()));
        if !self.schemas.is_empty() {
            match query.schema() {
                Schema::Known(schema) => lists.extend(self.by_schema(Some(schema))),
                Schema::Unknown => lists.extend(self.schemas.values()),
                Schema::None => {}
            }
        }
        if self.fingerprint_classes.intersects(classes) {
            let found = query.fingerprints();
            if found.is_complete() {
                lists.extend(found.iter().filter_map(|fingerprint| self.fingerprints.get(&fingerprint)));
            } else {
                lists.extend(self.fingerprints.values());
            }
        }
        lists
    }

    pub(crate) fn by_schema(&self, schema: Option<&[u8]>) -> Option<&List> {
        if self.schemas.is_empty() {
            return None;
        }
        let schema = schema?;
        let mut lower = [0; LONGEST_SCHEMA];
        let lower = lower.get_mut(..schema.len())?;
        lower.copy_from_slice(schema);
        lower.make_ascii_lowercase();
        self.schemas.get(&*lower)
    }
}

/// In bytes; a server allows 64 characters.
const LONGEST_SCHEMA: usize = 256;

impl ByTable {
    pub(crate) fn find(&self, name: &str) -> &[u32] {
        if name == statement::Table::ANY {
            return &self.rules;
        }
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether some rule could make it stricter for a statement of one of these classes.
    pub(crate) fn can_restrict(&self, classes: Classes) -> bool {
        self.restricting.intersects(classes)
    }

    pub(crate) fn can_favour(&self, classes: Classes) -> bool {
        self.favouring.intersects(classes)
    }
}

fn by_pairs(map: &PairMap, pairs: &Pairs, found: &mut impl FnMut(&[u32])) {
    if map.is_empty() {
        return;
    }
    for (key, value) in pairs.iter() {
        map.get(key).and_then(|values| values.get(value)).into_iter().for_each(|rules| found(rules));
    }
}
