//! Whether a statement touches the tables of a rule.

use statement::Table;

use crate::matching::Value;

/// Tables beyond these are not looked at one by one: the statement is then like one whose tables are unknown.
pub(crate) const MOST: usize = 128;

/// The tables of one condition.
#[derive(Debug, Clone)]
pub(crate) struct TableSet(Box<[(Option<Box<str>>, Box<str>)]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touch {
    No,
    /// The statement leaves its schema to the session, whose schema is not known.
    Maybe,
    Yes,
}

impl TableSet {
    pub(crate) fn new(values: &[Value]) -> TableSet {
        let table = |value: &Value| match value {
            Value::Table { schema, name } => Some((schema.clone(), name.clone())),
            _ => None,
        };
        TableSet(values.iter().filter_map(table).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, name)| &**name)
    }

    pub(crate) fn touch(&self, table: &Table, session_schema: Option<&[u8]>) -> Touch {
        let schema = table.schema.as_deref().map(str::as_bytes).or(session_schema);
        let one = |(wanted, name): &(Option<Box<str>>, Box<str>)| {
            if *name != table.name {
                return Touch::No;
            }
            match (wanted, schema) {
                (None, _) => Touch::Yes,
                (Some(_), None) => Touch::Maybe,
                (Some(wanted), Some(schema)) if wanted.as_bytes().eq_ignore_ascii_case(schema) => Touch::Yes,
                (Some(_), Some(_)) => Touch::No,
            }
        };
        self.0.iter().map(one).max().unwrap_or(Touch::No)
    }

    /// The strongest touch of any of the statement's tables.
    pub(crate) fn touch_any(&self, tables: &[Table], session_schema: Option<&[u8]>) -> Touch {
        tables.iter().map(|table| self.touch(table, session_schema)).max().unwrap_or(Touch::No)
    }

    /// All of the statement's tables, and it has some.
    pub(crate) fn covers(&self, tables: &[Table], session_schema: Option<&[u8]>) -> bool {
        !tables.is_empty() && tables.iter().all(|table| self.touch(table, session_schema) == Touch::Yes)
    }
}
