//! Whether a statement touches the tables of a rule.

use statement::Table;

use crate::compiled::CompiledRule;
use crate::matching::Value;
use crate::query::{Certainty, Schema};

/// The tables of one condition.
#[derive(Debug, Clone)]
pub(crate) struct TableSet(Box<[Table]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touch {
    No,
    /// The statement leaves its schema to the session, whose schema is not known; or it touches whatever is in a schema.
    Maybe,
    Yes,
}

impl TableSet {
    pub(crate) fn new(values: &[Value]) -> TableSet {
        let table = |value: &Value| match value {
            Value::Table { schema, name } => Some(Table { schema: schema.clone(), name: name.clone() }),
            _ => None,
        };
        TableSet(values.iter().filter_map(table).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|table| &*table.name)
    }

    pub(crate) fn touch(&self, table: &Table, session_schema: Schema<'_>) -> Touch {
        let schema = table.schema.as_deref().map(str::as_bytes).or(session_schema.name());
        let one = |wanted: &Table| {
            let is_any = &*table.name == Table::ANY;
            if wanted.name != table.name && !is_any {
                return Touch::No;
            }
            match (&wanted.schema, schema) {
                (None, _) if is_any => Touch::Maybe,
                (None, _) => Touch::Yes,
                (Some(_), None) => Touch::Maybe,
                (Some(wanted), Some(schema)) if wanted.as_bytes().eq_ignore_ascii_case(schema) => Touch::Yes,
                (Some(_), Some(_)) => Touch::No,
            }
        };
        self.0.iter().map(one).max().unwrap_or(Touch::No)
    }

    /// The strongest touch of any of the statement's tables.
    pub(crate) fn touch_any(&self, tables: &[Table], session_schema: Schema<'_>) -> Touch {
        tables.iter().map(|table| self.touch(table, session_schema)).max().unwrap_or(Touch::No)
    }

    /// All of the statement's tables, and it has some.
    fn covers(&self, tables: &[Table], session_schema: Schema<'_>) -> bool {
        !tables.is_empty() && tables.iter().all(|table| self.touch(table, session_schema) == Touch::Yes)
    }
}

/// The statement as a whole is the rule's: all of its tables are, and none of them is one that the rule leaves out.
pub(crate) fn fit_whole(rule: &CompiledRule, tables: &[Table], schema: Schema<'_>, certainty: Certainty) -> bool {
    let covered = |set: &TableSet| certainty == Certainty::Known && set.covers(tables, schema);
    rule.holds().tables.as_ref().is_none_or(covered)
        && rule.not().tables.as_ref().is_none_or(|set| set.touch_any(tables, schema) == Touch::No)
}

/// As far as this table goes the statement may be the rule's, unless it surely touches a table that the rule leaves out.
pub(crate) fn may_fit_one(
    rule: &CompiledRule,
    table: &Table,
    tables: &[Table],
    schema: Schema<'_>,
    certainty: Certainty,
) -> bool {
    let left_out = |set: &TableSet| certainty == Certainty::Known && set.touch_any(tables, schema) == Touch::Yes;
    rule.holds().tables.as_ref().is_none_or(|set| set.touch(table, schema) != Touch::No)
        && !rule.not().tables.as_ref().is_some_and(left_out)
}
