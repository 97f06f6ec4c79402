//! What a probe read from a server's catalogue, as it was read.

use std::collections::BTreeSet;

use statement::Server;

/// The rows of one pass over the catalogue. Names are as the server spells them.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    pub server: Server,
    /// Tables and views.
    pub tables: Vec<TableRow>,
    pub views: Vec<ViewRow>,
    pub routines: Vec<RoutineRow>,
    pub triggers: Vec<TriggerRow>,
    /// Where all tables are listed.
    pub tables_seen: Sight,
    /// Where the definitions of all views are shown.
    pub views_seen: Sight,
    /// Where all routines are listed with their bodies.
    pub routines_seen: Sight,
    /// Where all triggers are listed.
    pub triggers_seen: Sight,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    pub schema: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRow {
    pub schema: String,
    pub name: String,
    /// `None`: not shown to the probe's user.
    pub definition: Option<String>,
    /// What the server itself says that the view uses; empty where it does not say.
    pub tables: Vec<(String, String)>,
    /// Routines, in the same way.
    pub routines: Vec<(String, String)>,
    /// Whether `tables` are all: then the names in the definition are not searched for others.
    pub usage_is_complete: bool,
}

/// A procedure, a function, or MariaDB's package body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutineRow {
    pub schema: String,
    pub name: String,
    pub sql_mode: String,
    /// `None`: not shown to the probe's user, too long, or in another language than SQL.
    pub body: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerRow {
    pub schema: String,
    pub table: String,
    pub sql_mode: String,
    /// `None`: too long.
    pub body: Option<String>,
}

/// The schemas in which everything of a kind is visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    Everywhere,
    /// In these, in lower case.
    In(BTreeSet<String>),
}

impl Sight {
    pub fn nowhere() -> Sight {
        Sight::In(BTreeSet::new())
    }

    /// `schema` is in lower case.
    pub fn covers(&self, schema: &str) -> bool {
        match self {
            Sight::Everywhere => true,
            Sight::In(schemas) => schemas.contains(schema),
        }
    }

    pub fn is_everywhere(&self) -> bool {
        *self == Sight::Everywhere
    }
}

impl Default for Sight {
    fn default() -> Sight {
        Sight::nowhere()
    }
}

/// What a catalogue does not show, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// The catalogue has not been read.
    Everything,
    /// Tables of some schemas are not listed.
    Tables,
    /// So many views are listed without their definition, and views may exist that are not listed.
    Views { listed: usize },
    /// So many routines are listed without their body, and routines may exist that are not listed.
    Routines { listed: usize },
    /// Triggers of some schemas are not listed.
    Triggers,
    /// More objects than a catalogue holds.
    TooMany { limit: usize },
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unseen::Everything => f.write_str("the catalogue has not been read"),
            Unseen::Tables => f.write_str("tables of some schemas: their names are unknown"),
            Unseen::Views { listed: 0 } => f.write_str("views of some schemas"),
            Unseen::Views { listed } => write!(f, "the definitions of views ({listed} are listed without one)"),
            Unseen::Routines { listed: 0 } => f.write_str("routines of some schemas"),
            Unseen::Routines { listed } => write!(f, "the bodies of routines ({listed} are listed without one)"),
            Unseen::Triggers => f.write_str("triggers of some schemas"),
            Unseen::TooMany { limit } => write!(f, "objects beyond the first {limit}"),
        }
    }
}
