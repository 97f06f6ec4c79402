//! Everything that an object reaches, cycles and all.

use std::collections::{BTreeSet, HashSet};

use statement::Table;

use crate::catalog::Access;
use crate::effects::Effects;
use crate::graph::{Direct, Graph};

/// An object that reaches more than this is one of which nothing is known.
const MOST_REACHED: usize = 4096;
/// The limit on the steps of a whole build; objects that are left over then are not known.
const MOST_STEPS: usize = 2_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Table(usize, Access),
    Routine(usize),
}

/// Computes closures within the limits of one build.
#[derive(Debug)]
pub(crate) struct Closures<'g> {
    graph: &'g Graph,
    steps_left: usize,
}

impl<'g> Closures<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Closures<'g> {
        Closures { graph, steps_left: MOST_STEPS }
    }

    pub(crate) fn of(&mut self, start: Node) -> Effects {
        let mut walk = Walk::default();
        walk.reach(start);
        while let Some(node) = walk.waiting.pop() {
            if walk.reached.len() > MOST_REACHED || self.steps_left == 0 {
                walk.effects.calls_unknown = true;
                walk.effects.unknown_names = true;
                break;
            }
            self.steps_left -= 1;
            walk.visit(self.graph, node);
        }
        Effects { tables: walk.tables.into_iter().collect(), ..walk.effects }
    }
}

#[derive(Debug, Default)]
struct Walk {
    reached: HashSet<Node>,
    waiting: Vec<Node>,
    tables: BTreeSet<Table>,
    /// The flags only.
    effects: Effects,
}

impl Walk {
    fn reach(&mut self, node: Node) {
        if self.reached.insert(node) {
            self.waiting.push(node);
        }
    }

    fn visit(&mut self, graph: &Graph, node: Node) {
        match node {
            Node::Routine(at) => {
                let Some(program) = graph.programs.get(at) else { return };
                self.take(program, access_of(program));
            }
            Node::Table(at, access) => {
                let Some(object) = graph.objects.get(at) else { return };
                self.tables.insert(object.table.clone());
                if let Some(view) = &object.view {
                    self.take(view, access);
                }
                if access == Access::Write {
                    let schema = object.table.schema.as_deref().unwrap_or_default();
                    self.effects.calls_unknown |= !graph.seen.triggers.covers(schema);
                    if let Some(triggers) = &object.triggers {
                        self.take(triggers, access_of(triggers));
                    }
                }
            }
        }
    }

    fn take(&mut self, direct: &Direct, access: Access) {
        self.effects.add_flags(&direct.flags);
        self.tables.extend(direct.unseen.iter().cloned());
        direct.tables.iter().for_each(|table| self.reach(Node::Table(*table, access)));
        direct.routines.iter().for_each(|routine| self.reach(Node::Routine(*routine)));
    }
}

/// Which of its tables a body writes is not told apart: all of them, if any.
fn access_of(direct: &Direct) -> Access {
    if direct.flags.writes || direct.flags.ddl { Access::Write } else { Access::Read }
}
