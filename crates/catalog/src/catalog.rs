//! The snapshot, and the questions that it answers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use statement::Table;

use crate::closure::{Closures, Node};
use crate::effects::Effects;
use crate::graph::{Graph, Names, Seen, find, find_routines, is_servers_own};
use crate::inventory::{Inventory, Sight, Unseen};

/// The tables that the views, routines and triggers of one server touch. Immutable.
#[derive(Debug, Default)]
pub struct Catalog {
    /// `None`: nothing is known.
    known: Option<Box<Known>>,
}

/// How a statement uses its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    Read,
    /// It may change them, so that their triggers may run.
    Write,
}

/// What a statement touches and does beyond its own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion<'a> {
    /// The tables of the statement, as written, and those behind them, with their schemas.
    pub tables: Cow<'a, [Table]>,
    /// A view, routine or trigger may change something.
    pub writes: bool,
    pub ddl: bool,
    /// A routine may run SQL that is in no body.
    pub dynamic: bool,
    /// A view or routine may take a lock by GET_LOCK or LOCK TABLES.
    pub locks: bool,
    /// A routine, view or trigger may run whose body is not known.
    pub calls_unknown: bool,
    /// A name is not a known table or view.
    pub unknown_names: bool,
}

/// The limit on the objects of a catalogue; what is beyond is unknown.
pub(crate) const MOST_OBJECTS: usize = 100_000;

#[derive(Debug)]
struct Known {
    tables: Names,
    objects: Vec<Entry>,
    routines: Names,
    /// `None`: its body is not known.
    programs: Vec<Option<Effects>>,
    seen: Seen,
    reads_may_write: bool,
    unseen: Vec<Unseen>,
}

#[derive(Debug)]
struct Entry {
    is_view: bool,
    /// `None`: nothing but itself.
    read: Option<Box<Effects>>,
    write: Option<Box<Effects>>,
}

impl Catalog {
    /// Nothing is known: every name is unknown.
    pub const fn unknown() -> Catalog {
        Catalog { known: None }
    }

    pub fn build(mut inventory: Inventory) -> Catalog {
        let mut unseen = unseen(&inventory);
        if bound(&mut inventory) {
            unseen.push(Unseen::TooMany { limit: MOST_OBJECTS });
        }
        let graph = Graph::new(&inventory);
        let mut closures = Closures::new(&graph);
        let objects: Vec<Entry> = (0..graph.objects.len()).map(|at| entry(&graph, &mut closures, at)).collect();
        let programs = graph.programs.iter().enumerate();
        let programs = programs.map(|(at, row)| row.has_body.then(|| closures.of(Node::Routine(at)))).collect();
        let writes = |effects: &Effects| effects.writes || effects.ddl || effects.locks;
        let reads_may_write = objects.iter().filter_map(|entry| entry.read.as_deref()).any(writes);
        let Graph { tables, routines, seen, .. } = graph;
        Catalog { known: Some(Box::new(Known { tables, objects, routines, programs, seen, reads_may_write, unseen })) }
    }

    pub fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// What the catalogue does not show; empty if it shows everything.
    pub fn unseen(&self) -> &[Unseen] {
        self.known.as_ref().map_or(&[Unseen::Everything], |known| &known.unseen)
    }

    /// Tables and views, of them views, and routines.
    pub fn counts(&self) -> (usize, usize, usize) {
        self.known.as_ref().map_or((0, 0, 0), |known| {
            let views = known.objects.iter().filter(|entry| entry.is_view).count();
            (known.objects.len(), views, known.programs.len())
        })
    }

    /// Whether a read of some view changes or locks something. If not, no read needs its tables only for its class.
    pub fn reads_may_write(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.reads_may_write)
    }

    /// Base tables stand for themselves and, if the access writes, for what their triggers touch; views also for all that
    /// they read.
    ///
    /// [`Table::ANY`] stands for all tables of its schema, where all of them are known.
    ///
    /// `session_schema` is that of names without a schema. If it is not known, such a name stands for the tables of that
    /// name in every schema.
    pub fn tables_behind<'a>(
        &self,
        tables: &'a [Table],
        session_schema: Option<&[u8]>,
        access: Access,
    ) -> Expansion<'a> {
        let mut found = Found::default();
        match &self.known {
            Some(known) => {
                let session = session_schema.map(lower);
                tables.iter().for_each(|table| known.add_table(&mut found, table, session.as_deref(), access));
            }
            None => found.flags.unknown_names = !tables.is_empty(),
        }
        found.expansion(tables)
    }

    /// What calls of these names do, beside the tables of the statement itself. A name that is no stored routine is one of
    /// the server's own, or a loadable function, and touches no table; where not all routines can be seen, it is unknown.
    pub fn routines_behind<'a>(&self, calls: &BTreeSet<Table>, session_schema: Option<&[u8]>) -> Expansion<'a> {
        let mut found = Found::default();
        match &self.known {
            Some(known) => {
                let session = session_schema.map(lower);
                calls.iter().for_each(|call| known.add_call(&mut found, call, session.as_deref()));
            }
            None => found.flags.calls_unknown = !calls.is_empty(),
        }
        found.expansion(&[])
    }

    /// What a procedure or function does, if its body is known.
    pub fn routine(&self, schema: &str, name: &str) -> Option<&Effects> {
        let known = self.known.as_ref()?;
        match find_routines(&known.routines, &schema.to_lowercase(), &name.to_lowercase()).as_slice() {
            [at] => known.programs.get(*at)?.as_ref(),
            _ => None,
        }
    }
}

impl Known {
    fn add_table<'k>(&'k self, found: &mut Found<'k>, table: &Table, session: Option<&str>, access: Access) {
        let schema = table.schema.as_deref().or(session);
        if &*table.name == Table::ANY {
            return self.add_schema(found, table);
        }
        let mut any = false;
        for at in candidates(&self.tables, schema, &table.name) {
            any = true;
            let Some(entry) = self.objects.get(at) else { continue };
            let effects = match access {
                Access::Read => &entry.read,
                Access::Write => &entry.write,
            };
            found.add(effects.as_deref());
        }
        let is_known = any && schema.is_some();
        found.flags.unknown_names |= !is_known && !schema.is_some_and(is_servers_own);
    }

    /// All tables of a schema, where all are known. A DROP DATABASE runs no triggers.
    fn add_schema(&self, found: &mut Found<'_>, any: &Table) {
        let Some(schema) = any.schema.as_deref().filter(|schema| self.seen.tables.covers(schema)) else { return };
        let names = self.tables.get(schema).into_iter().flat_map(|objects| objects.keys());
        let mut names: Vec<&str> = names.map(|name| &**name).collect();
        names.sort_unstable();
        let table = |name: &str| Table { schema: Some(schema.into()), name: name.into() };
        found.dropped.extend(names.into_iter().map(table));
        found.resolved.push(any.clone());
    }

    fn add_call<'k>(&'k self, found: &mut Found<'k>, call: &Table, session: Option<&str>) {
        let schema = call.schema.as_deref().or(session);
        let found_in = |schema: &str| find_routines(&self.routines, schema, &call.name);
        let routines: Vec<usize> = match schema {
            Some(schema) => found_in(schema),
            None => self.routines.keys().flat_map(|schema| found_in(schema)).collect(),
        };
        let any = !routines.is_empty();
        for at in routines {
            match self.programs.get(at).and_then(Option::as_ref) {
                Some(effects) => found.add(Some(effects)),
                None => found.flags.calls_unknown = true,
            }
        }
        let sees_all = match schema {
            Some(schema) => self.seen.routines.covers(schema),
            None => self.seen.routines.is_everywhere(),
        };
        found.flags.calls_unknown |= !any && !sees_all;
    }
}

/// The objects that a name may stand for: of all schemas, if its own is not known.
fn candidates<'n>(names: &'n Names, schema: Option<&'n str>, name: &'n str) -> impl Iterator<Item = usize> + 'n {
    let one = schema.and_then(|schema| find(names, schema, name));
    let all = schema.is_none().then(|| names.values().filter_map(|objects| objects.get(name).copied()));
    one.into_iter().chain(all.into_iter().flatten())
}

/// What has been found behind the names of a statement.
#[derive(Debug, Default)]
struct Found<'k> {
    tables: BTreeSet<&'k Table>,
    /// Tables of whole schemas, and the names that stood for them.
    dropped: Vec<Table>,
    resolved: Vec<Table>,
    flags: Effects,
}

impl<'k> Found<'k> {
    fn add(&mut self, effects: Option<&'k Effects>) {
        if let Some(effects) = effects {
            self.flags.add_flags(effects);
            self.tables.extend(effects.tables.iter());
        }
    }

    fn expansion(self, written: &[Table]) -> Expansion<'_> {
        let Effects { writes, ddl, dynamic, locks, calls_unknown, unknown_names, .. } = self.flags;
        let behind = self.tables.into_iter().filter(|table| !written.contains(table)).cloned();
        let mut behind = behind.chain(self.dropped).peekable();
        let is_same = behind.peek().is_none() && self.resolved.is_empty();
        let tables = if is_same {
            Cow::Borrowed(written)
        } else {
            let written = written.iter().filter(|table| !self.resolved.contains(table));
            written.cloned().chain(behind).collect()
        };
        Expansion { tables, writes, ddl, dynamic, locks, calls_unknown, unknown_names }
    }
}

fn entry(graph: &Graph, closures: &mut Closures<'_>, at: usize) -> Entry {
    let is_view = graph.objects.get(at).is_some_and(|object| object.view.is_some());
    let mut of = |access| Some(closures.of(Node::Table(at, access))).filter(|effects| !is_plain(effects)).map(Box::new);
    Entry { is_view, read: if is_view { of(Access::Read) } else { None }, write: of(Access::Write) }
}

/// A table and nothing behind it.
fn is_plain(effects: &Effects) -> bool {
    effects.tables.len() == 1 && Effects { tables: Box::default(), ..effects.clone() } == Effects::default()
}

/// Drops what is over the limit. Whether there was anything.
fn bound(inventory: &mut Inventory) -> bool {
    let mut room = MOST_OBJECTS;
    let mut any = false;
    let mut keep = |length: usize, seen: &mut Sight| {
        let kept = length.min(room);
        room -= kept;
        if kept < length {
            any = true;
            *seen = Sight::nowhere();
        }
        kept
    };
    let kept = keep(inventory.views.len(), &mut inventory.views_seen);
    inventory.views.truncate(kept);
    let kept = keep(inventory.routines.len(), &mut inventory.routines_seen);
    inventory.routines.truncate(kept);
    let kept = keep(inventory.triggers.len(), &mut inventory.triggers_seen);
    inventory.triggers.truncate(kept);
    let kept = keep(inventory.tables.len(), &mut inventory.tables_seen);
    inventory.tables.truncate(kept);
    if !inventory.views_seen.is_everywhere() && any {
        // A name may be that of a view that was dropped.
        inventory.tables_seen = Sight::nowhere();
    }
    any
}

fn unseen(inventory: &Inventory) -> Vec<Unseen> {
    let mut unseen = Vec::new();
    if !inventory.tables_seen.is_everywhere() {
        unseen.push(Unseen::Tables);
    }
    let views = inventory.views.iter().filter(|view| view.definition.is_none()).count();
    if views > 0 || !inventory.views_seen.is_everywhere() {
        unseen.push(Unseen::Views { listed: views });
    }
    let routines = inventory.routines.iter().filter(|routine| routine.body.is_none()).count();
    if routines > 0 || !inventory.routines_seen.is_everywhere() {
        unseen.push(Unseen::Routines { listed: routines });
    }
    if !inventory.triggers_seen.is_everywhere() {
        unseen.push(Unseen::Triggers);
    }
    unseen
}

fn lower(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_lowercase()
}

#[cfg(test)]
mod tests;
