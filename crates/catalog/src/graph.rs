//! The objects of an inventory and what each names by itself.

use std::collections::{BTreeSet, HashMap};

use statement::program::{ProgramEffects, effects, mode_of};
use statement::{Mode, Table};

use crate::effects::Effects;
use crate::inventory::{Inventory, RoutineRow, Sight, TriggerRow, ViewRow};

/// By schema and name, both in lower case.
pub(crate) type Names = HashMap<Box<str>, HashMap<Box<str>, usize>>;

/// Schemas whose tables are the server's own: neither views nor triggers of users are in them.
const SERVERS_OWN: [&str; 2] = ["information_schema", "performance_schema"];

#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) tables: Names,
    pub(crate) objects: Vec<Object>,
    pub(crate) routines: Names,
    pub(crate) programs: Vec<Direct>,
    pub(crate) seen: Seen,
}

/// Where everything of a kind is known.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) tables: Sight,
    pub(crate) routines: Sight,
    pub(crate) triggers: Sight,
}

/// A table or a view.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) table: Table,
    /// Of a view.
    pub(crate) view: Option<Direct>,
    /// All triggers together.
    pub(crate) triggers: Option<Direct>,
}

/// What a body names, resolved.
#[derive(Debug, Clone, Default)]
pub(crate) struct Direct {
    /// The flags only.
    pub(crate) flags: Effects,
    /// Positions in [`Graph::objects`].
    pub(crate) tables: BTreeSet<usize>,
    /// Names that may be tables which the probe cannot see.
    pub(crate) unseen: BTreeSet<Table>,
    /// Positions in [`Graph::programs`].
    pub(crate) routines: BTreeSet<usize>,
    /// Some body of this name is known.
    pub(crate) has_body: bool,
}

impl Graph {
    pub(crate) fn new(inventory: &Inventory) -> Graph {
        let mut graph = Graph {
            seen: Seen {
                tables: inventory.tables_seen.clone(),
                routines: inventory.routines_seen.clone(),
                triggers: inventory.triggers_seen.clone(),
            },
            ..Graph::default()
        };
        for row in &inventory.tables {
            graph.object(&row.schema, &row.name);
        }
        for row in &inventory.views {
            graph.object(&row.schema, &row.name);
        }
        for row in &inventory.triggers {
            graph.object(&row.schema, &row.table);
        }
        for row in &inventory.routines {
            graph.program(&row.schema, &row.name);
        }
        inventory.views.iter().for_each(|row| graph.add_view(row, inventory));
        inventory.triggers.iter().for_each(|row| graph.add_trigger(row, inventory));
        inventory.routines.iter().for_each(|row| graph.add_routine(row, inventory));
        graph
    }

    fn object(&mut self, schema: &str, name: &str) -> usize {
        let (schema, name): (Box<str>, Box<str>) = (lower(schema), lower(name));
        let objects = &mut self.objects;
        *self.tables.entry(schema.clone()).or_default().entry(name.clone()).or_insert_with(|| {
            objects.push(Object { table: Table { schema: Some(schema), name }, view: None, triggers: None });
            objects.len() - 1
        })
    }

    fn program(&mut self, schema: &str, name: &str) -> usize {
        let programs = &mut self.programs;
        *self.routines.entry(lower(schema)).or_default().entry(lower(name)).or_insert_with(|| {
            programs.push(Direct::default());
            programs.len() - 1
        })
    }

    fn add_view(&mut self, row: &ViewRow, inventory: &Inventory) {
        // A view's text is printed by the server in its own quotes, whatever the sql_mode of its creator.
        let mode = Mode { server: inventory.server, ..Mode::default() };
        let mut found = row.definition.as_ref().map(|text| effects(text.as_bytes(), mode));
        if let Some(found) = found.as_mut().filter(|_| row.usage_is_complete) {
            found.names.clear();
        }
        let mut direct = self.direct(found.as_ref(), &row.schema);
        direct.flags.unknown_names |= found.is_none();
        for (schema, name) in &row.tables {
            self.add_table(&mut direct, &lower(schema), &lower(name));
        }
        for (schema, name) in &row.routines {
            self.add_call(&mut direct, &lower(schema), &lower(name));
        }
        let at = self.object(&row.schema, &row.name);
        if let Some(object) = self.objects.get_mut(at) {
            object.view.get_or_insert_default().merge(direct);
        }
    }

    fn add_trigger(&mut self, row: &TriggerRow, inventory: &Inventory) {
        let direct = self.of_body(row.body.as_deref(), &row.sql_mode, &row.schema, inventory);
        let at = self.object(&row.schema, &row.table);
        if let Some(object) = self.objects.get_mut(at) {
            object.triggers.get_or_insert_default().merge(direct);
        }
    }

    fn add_routine(&mut self, row: &RoutineRow, inventory: &Inventory) {
        let direct = self.of_body(row.body.as_deref(), &row.sql_mode, &row.schema, inventory);
        let at = self.program(&row.schema, &row.name);
        if let Some(program) = self.programs.get_mut(at) {
            program.merge(direct);
        }
    }

    fn of_body(&self, body: Option<&str>, sql_mode: &str, schema: &str, inventory: &Inventory) -> Direct {
        let mode = mode_of(sql_mode, inventory.server);
        let found = body.map(|body| effects(body.as_bytes(), mode));
        self.direct(found.as_ref(), schema)
    }

    /// `None`: the body is not known.
    fn direct(&self, found: Option<&ProgramEffects>, schema: &str) -> Direct {
        let Some(found) = found else {
            let flags = Effects { calls_unknown: true, ..Effects::default() };
            return Direct { flags, ..Direct::default() };
        };
        let mut direct = Direct { flags: flags(found), has_body: true, ..Direct::default() };
        let own = lower(schema);
        for name in &found.names {
            self.add_table(&mut direct, name.schema.as_deref().unwrap_or(&own), &name.name);
        }
        for call in &found.calls {
            self.add_call(&mut direct, call.schema.as_deref().unwrap_or(&own), &call.name);
        }
        direct
    }

    /// A name in lower case that may be a table. Where all tables are listed, one that is not listed is none.
    fn add_table(&self, direct: &mut Direct, schema: &str, name: &str) {
        match find(&self.tables, schema, name) {
            Some(at) => drop(direct.tables.insert(at)),
            None if self.knows_tables_of(schema) => {}
            None => {
                direct.flags.unknown_names = true;
                direct.unseen.insert(Table { schema: Some(schema.into()), name: name.into() });
            }
        }
    }

    fn add_call(&self, direct: &mut Direct, schema: &str, name: &str) {
        let found = find_routines(&self.routines, schema, name);
        direct.flags.calls_unknown |= found.is_empty() && !self.seen.routines.covers(schema);
        direct.routines.extend(found);
    }

    fn knows_tables_of(&self, schema: &str) -> bool {
        is_servers_own(schema) || self.seen.tables.covers(schema)
    }
}

impl Direct {
    fn merge(&mut self, other: Direct) {
        self.flags.add_flags(&other.flags);
        self.tables.extend(other.tables);
        self.unseen.extend(other.unseen);
        self.routines.extend(other.routines);
        self.has_body |= other.has_body;
    }
}

pub(crate) fn is_servers_own(schema: &str) -> bool {
    SERVERS_OWN.contains(&schema)
}

pub(crate) fn find(names: &Names, schema: &str, name: &str) -> Option<usize> {
    names.get(schema)?.get(name).copied()
}

/// Routines that this name may call. The server compares their names by utf8mb3_general_ci, in which `é` is `e` and `ß` is
/// `s` (checked), so a character beyond ASCII may stand for any other one.
pub(crate) fn find_routines(names: &Names, schema: &str, name: &str) -> Vec<usize> {
    let Some(routines) = names.get(schema) else { return Vec::new() };
    match routines.get(name) {
        Some(at) => vec![*at],
        None => routines.iter().filter(|(known, _)| may_be_equal(known, name)).map(|(_, at)| *at).collect(),
    }
}

fn may_be_equal(one: &str, other: &str) -> bool {
    // The lower case of `İ` has this dot as a character of its own.
    let mut one = one.chars().filter(|c| *c != '\u{307}');
    let mut other = other.chars().filter(|c| *c != '\u{307}');
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || !a.is_ascii() || !b.is_ascii() => {}
            _ => return false,
        }
    }
}

fn flags(found: &ProgramEffects) -> Effects {
    Effects {
        tables: Box::default(),
        reads: found.reads,
        writes: found.writes,
        ddl: found.ddl,
        dynamic: found.dynamic,
        locks: found.locks,
        calls_unknown: found.truncated,
        unknown_names: found.truncated,
    }
}

fn lower(name: &str) -> Box<str> {
    name.to_lowercase().into()
}
