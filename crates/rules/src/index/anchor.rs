//! The values under which a rule can stand in the index.

use ipnet::IpNet;
use statement::{Class, Fingerprint, Shapes};

use crate::compiled::{Asked, CompiledRule, Fact};
use crate::scope::{Pattern, Piece};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Anchor<'a> {
    Name(&'a str),
    Prefix(&'a str),
    User(&'a [u8]),
    Listener(&'a [u8]),
    Tool(&'a [u8]),
    Network(IpNet),
    Attr(&'a [u8], &'a [u8]),
    Tag(&'a [u8], &'a [u8]),
    QueryAttr(&'a [u8], &'a [u8]),
    Class(Class),
    Shape(Shapes),
    Schema(&'a [u8]),
    Fingerprint(Fingerprint),
    Table(&'a str),
}

/// A condition as the index could hold it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    /// For each value of the condition the anchors any one of which finds it.
    pub(super) values: Vec<Vec<Anchor<'a>>>,
    /// Of rare ones the lowest is taken. Who asks is looked up once a session, what is asked for every query; a
    /// fingerprint has to be made, and tables have to be parsed.
    pub(super) cost: u8,
}

/// All conditions of a rule that narrow it down.
pub(super) fn places(rule: &CompiledRule) -> impl Iterator<Item = Place<'_>> {
    let holds = rule.holds();
    let facts = holds.facts.iter().filter_map(|fact| Some(Place { values: of_fact(fact)?, cost: 0 }));
    let asked = holds.asked.iter().map(|asked| Place { values: of_asked(asked), cost: asked.cost() + 1 });
    let tables = holds
        .tables
        .iter()
        .map(|tables| Place { values: tables.names().map(|name| vec![Anchor::Table(name)]).collect(), cost: u8::MAX });
    facts.chain(asked).chain(tables)
}

/// `None` if some value fits everybody.
fn of_fact(fact: &Fact) -> Option<Vec<Vec<Anchor<'_>>>> {
    Some(match fact {
        Fact::Scope(patterns) => {
            return patterns.iter().filter(|pattern| **pattern != Pattern::Nobody).map(of_pattern).collect();
        }
        Fact::User(texts) => texts.iter().map(|text| vec![Anchor::User(text)]).collect(),
        Fact::Address(networks) => networks.iter().map(|network| vec![Anchor::Network(*network)]).collect(),
        Fact::Listener(texts) => texts.iter().map(|text| vec![Anchor::Listener(text)]).collect(),
        Fact::Tool(texts) => texts.iter().map(|text| vec![Anchor::Tool(text)]).collect(),
        Fact::Attr(key, texts) => texts.iter().map(|text| vec![Anchor::Attr(key, text)]).collect(),
        Fact::Tag(key, texts) => texts.iter().map(|text| vec![Anchor::Tag(key, text)]).collect(),
        Fact::QueryAttr(key, texts) => texts.iter().map(|text| vec![Anchor::QueryAttr(key, text)]).collect(),
    })
}

/// A glob stands under one of its literal parts or, if it has none, under the beginning of one. `None`: it has only stars.
fn of_pattern(pattern: &Pattern) -> Option<Vec<Anchor<'_>>> {
    match pattern {
        Pattern::Anybody | Pattern::Nobody => None,
        Pattern::Part(name) | Pattern::Whole(name) => Some(vec![Anchor::Name(name)]),
        Pattern::Prefix(prefix) => Some(vec![Anchor::Prefix(prefix)]),
        Pattern::Glob(pieces) => {
            let parts: Vec<Anchor<'_>> = pieces.iter().filter_map(of_part).collect();
            let anchors = if parts.is_empty() { pieces.iter().filter_map(of_prefix).collect() } else { parts };
            Some(anchors).filter(|anchors| !anchors.is_empty())
        }
    }
}

fn of_part(piece: &Piece) -> Option<Anchor<'_>> {
    match piece {
        Piece::Part(part) => Some(Anchor::Name(part)),
        Piece::Prefix(_) | Piece::Star => None,
    }
}

fn of_prefix(piece: &Piece) -> Option<Anchor<'_>> {
    match piece {
        Piece::Prefix(prefix) => Some(Anchor::Prefix(prefix)),
        Piece::Part(_) | Piece::Star => None,
    }
}

fn of_asked(asked: &Asked) -> Vec<Vec<Anchor<'_>>> {
    match asked {
        Asked::Class(classes) => {
            classes.possible().including_calls().iter().map(|class| vec![Anchor::Class(class)]).collect()
        }
        Asked::Shape(shapes) => shapes.iter().map(|shape| vec![Anchor::Shape(*shape)]).collect(),
        Asked::Schema(texts) => texts.iter().map(|text| vec![Anchor::Schema(text)]).collect(),
        Asked::Fingerprint(known) => known.iter().map(|one| vec![Anchor::Fingerprint(*one)]).collect(),
    }
}
