//! The names in a syntax tree.

use super::Table;
use sqlparser::ast::{Expr, Ident, ObjectName, ObjectType, Query, SetExpr, Statement, TableFactor, Visit, Visitor};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

#[derive(Debug)]
pub(super) struct Names {
    pub(super) tables: BTreeSet<Table>,
    /// Whether all of them are among the tables.
    pub(super) is_complete: bool,
    /// What is called.
    functions: BTreeSet<String>,
    /// What has columns in parentheses behind it and is no function: `WITH a (x) AS`, `AS d (x)`.
    aliases: BTreeSet<String>,
}

impl Names {
    /// Whether a name before a `(` is certainly no call.
    pub(super) fn clears(&self, name: &str) -> bool {
        self.aliases.contains(name) && !self.functions.contains(name)
    }
}

pub(super) fn names(statements: &[Statement]) -> Names {
    let names =
        Names { tables: BTreeSet::new(), is_complete: true, functions: BTreeSet::new(), aliases: BTreeSet::new() };
    let mut walk = Walk { names, queries: Vec::new() };
    for statement in statements {
        let ControlFlow::Continue(()) = statement.visit(&mut walk) else { break };
    }
    walk.names
}

#[derive(Debug)]
struct Walk {
    names: Names,
    /// The queries that we are in, the innermost last.
    queries: Vec<Scope>,
}

/// What a query calls by a name of its own.
#[derive(Debug)]
struct Scope {
    own: Vec<Own>,
    /// How many of the names around it the query sees. A definition of WITH sees those before it, and itself if it is
    /// recursive: in `WITH a AS (SELECT * FROM a) …` the second is a table.
    seen_around: usize,
}

#[derive(Debug)]
struct Own {
    name: String,
    /// Where its definition is, to be known when it comes.
    definition: *const Query,
    is_recursive: bool,
}

impl Walk {
    /// How many of the names of the innermost query a query inside it sees.
    fn seen_by(&self, query: &Query) -> usize {
        let Some(scope) = self.queries.last() else { return 0 };
        let position = scope.own.iter().position(|own| std::ptr::eq(own.definition, query));
        match position {
            Some(at) => at + usize::from(scope.own.get(at).is_some_and(|own| own.is_recursive)),
            None => scope.own.len(),
        }
    }

    fn table(&mut self, name: &ObjectName) {
        self.names.is_complete &= !name.0.iter().filter_map(|part| part.as_ident()).any(is_misread);
        let mut parts = name.0.iter().rev().filter_map(|part| part.as_ident());
        if let Some(name) = parts.next() {
            self.add(parts.next().map(lower), &name.value);
        }
    }

    /// MySQL tells names of WITH from tables by their case, too (checked).
    fn add(&mut self, schema: Option<String>, name: &str) {
        if schema.is_some() || !self.is_own(name) {
            let schema = schema.map(String::into_boxed_str);
            self.names.tables.insert(Table { schema, name: name.to_lowercase().into_boxed_str() });
        }
    }

    /// TABLE t, as a query or an arm of one.
    fn bare_tables(&mut self, query: &Query) {
        let mut arms = vec![&*query.body];
        while let Some(arm) = arms.pop() {
            match arm {
                SetExpr::SetOperation { left, right, .. } => arms.extend([&**left, &**right]),
                SetExpr::Table(table) => {
                    let schema = table.schema_name.as_ref().map(|name| name.to_lowercase());
                    match &table.table_name {
                        Some(name) => self.add(schema, name),
                        None => self.names.is_complete = false,
                    }
                }
                _ => {}
            }
        }
    }

    fn is_own(&self, name: &str) -> bool {
        let mut seen = usize::MAX;
        self.queries.iter().rev().any(|scope| {
            let found = scope.own.iter().take(seen).any(|own| own.name == name);
            seen = scope.seen_around;
            found
        })
    }
}

impl Visitor for Walk {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let seen_around = self.seen_by(query);
        let mut own = Vec::new();
        if let Some(with) = &query.with {
            for definition in &with.cte_tables {
                let name = definition.alias.name.value.clone();
                self.names.aliases.insert(lower(&definition.alias.name));
                own.push(Own { name, definition: &*definition.query, is_recursive: with.recursive });
            }
        }
        self.queries.push(Scope { own, seen_around });
        self.bare_tables(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.queries.pop();
        ControlFlow::Continue(())
    }

    /// The names of some statements are no relations to the library. Of what is not listed here, we do not know.
    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        match statement {
            Statement::Drop { object_type: ObjectType::Table | ObjectType::View, names, .. } => {
                names.iter().for_each(|name| self.table(name));
            }
            Statement::RenameTable(renamed) => renamed.iter().for_each(|renamed| {
                self.table(&renamed.old_name);
                self.table(&renamed.new_name);
            }),
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Truncate(_)
            | Statement::CreateTable(_)
            | Statement::CreateView(_)
            | Statement::CreateIndex(_)
            | Statement::AlterTable(_)
            | Statement::AlterView { .. }
            | Statement::Explain { .. }
            | Statement::ExplainTable { .. }
            | Statement::Set(_)
            | Statement::Call(_) => {}
            _ => self.names.is_complete = false,
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.table(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::JsonTable { alias: Some(alias), .. } = factor
        {
            self.names.is_complete &= !is_misread(&alias.name);
            self.names.aliases.insert(lower(&alias.name));
        }
        if let TableFactor::JsonTable { .. } = factor {
            self.names.aliases.insert("json_table".to_owned());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expression
            && let Some(name) = function.name.0.last().and_then(|part| part.as_ident())
        {
            self.names.functions.insert(lower(name));
        }
        ControlFlow::Continue(())
    }
}

/// Reserved words that stand between a verb and its tables, or between tables: where the parser takes one for a name, it has
/// misread the statement.
const NEVER_TABLES: [&str; 18] = [
    "cross",
    "delayed",
    "force",
    "from",
    "high_priority",
    "ignore",
    "inner",
    "join",
    "lateral",
    "left",
    "low_priority",
    "natural",
    "partition",
    "right",
    "set",
    "straight_join",
    "use",
    "using",
];

/// The servers take no string for the name of a table, and the parser does.
fn is_misread(name: &Ident) -> bool {
    match name.quote_style {
        None => NEVER_TABLES.iter().any(|word| name.value.eq_ignore_ascii_case(word)),
        Some(quote) => quote == '\'',
    }
}

fn lower(name: &Ident) -> String {
    name.value.to_lowercase()
}
