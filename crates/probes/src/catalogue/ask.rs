//! The questions to information_schema.

use std::collections::HashMap;

use catalog::{Inventory, RoutineRow, TableRow, TriggerRow, ViewRow};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};
use statement::Server;

use super::privileges::Privileges;
use crate::rows::text;
use crate::server::{Flavor, Identity};

/// What a snapshot was read from. The same version means the same rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    server: Box<str>,
    grants: Vec<String>,
    /// Counts, checksums and lengths.
    checksums: Vec<Option<String>>,
}

/// A body with more characters is not read. One row must fit into a packet of the driver.
const LONGEST: u64 = 200_000;
/// The limit on the bytes of all bodies together.
const MOST_BYTES: u64 = 64 << 20;
/// One more than a catalogue holds, so that it sees that there are more.
const MOST_ROWS: usize = 100_001;

/// What a look at the version comes to.
#[derive(Debug)]
pub(super) enum Look {
    Unchanged,
    /// The user has other privileges than before. A connection keeps the global ones that it began with, so what it shows
    /// must not be taken for what they allow.
    OtherGrants,
    Read(Box<(Version, Inventory)>),
}

/// Reads the rows if they are not those of the known version.
pub(super) async fn look(
    connection: &mut Conn,
    identity: &Identity,
    known: Option<&Version>,
) -> mysql_async::Result<Look> {
    let grants = read(connection, "SHOW GRANTS").await?;
    let grants: Vec<String> = grants.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
    if known.is_some_and(|known| known.grants != grants) {
        return Ok(Look::OtherGrants);
    }
    let checksums = read(connection, &checksums()).await?.into_iter().next().unwrap_or_default();
    let version = Version { server: (&*identity.id).into(), grants, checksums };
    if known == Some(&version) {
        return Ok(Look::Unchanged);
    }
    let inventory = inventory(connection, identity, &version).await?;
    Ok(Look::Read(Box::new((version, inventory))))
}

/// Tables of these schemas are the server's own.
const OTHERS: &str = "NOT IN ('information_schema', 'performance_schema')";

/// Counts and checksums of everything that is read, computed by the server.
fn checksums() -> String {
    let one = |table: &str, schema: &str, columns: &str, body: &str| {
        format!(
            "SELECT COUNT(*) AS n, BIT_XOR(CAST(CONV(LEFT(SHA2(CONCAT_WS(CHAR(0), {schema}, {columns}, {body}), 256), 16), \
             16, 10) AS UNSIGNED)) AS c, SUM(LENGTH({body})) AS b FROM information_schema.{table} WHERE {schema} {OTHERS}"
        )
    };
    format!(
        "SELECT * FROM ({}) AS t, ({}) AS v, ({}) AS r, ({}) AS g",
        one("TABLES", "TABLE_SCHEMA", "TABLE_NAME", "''"),
        one("VIEWS", "TABLE_SCHEMA", "TABLE_NAME", "VIEW_DEFINITION"),
        one("ROUTINES", "ROUTINE_SCHEMA", "ROUTINE_NAME, ROUTINE_TYPE, SQL_MODE", "ROUTINE_DEFINITION"),
        one(
            "TRIGGERS",
            "TRIGGER_SCHEMA",
            "TRIGGER_NAME, EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, SQL_MODE",
            "ACTION_STATEMENT"
        ),
    )
}

impl Version {
    fn number(&self, column: usize) -> u64 {
        self.checksums.get(column).and_then(Option::as_deref).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// So that all bodies together stay within the limit.
    fn longest_body(&self) -> u64 {
        let bytes = self.number(5) + self.number(8) + self.number(11);
        let bodies = self.number(3) + self.number(6) + self.number(9);
        if bytes <= MOST_BYTES { LONGEST } else { (MOST_BYTES / 4 / bodies.max(1)).min(LONGEST) }
    }
}

async fn inventory(connection: &mut Conn, identity: &Identity, version: &Version) -> mysql_async::Result<Inventory> {
    let privileges = Privileges::read(version.grants.iter().map(String::as_str));
    let longest = version.longest_body();
    let mut inventory = Inventory {
        server: server(identity),
        tables_seen: privileges.tables(),
        views_seen: privileges.views(),
        routines_seen: privileges.routines(identity.flavor),
        triggers_seen: privileges.triggers(),
        ..Inventory::default()
    };
    inventory.tables = tables(connection).await?;
    inventory.views = views(connection, longest).await?;
    if identity.flavor == Flavor::Mysql {
        let is_complete = inventory.views_seen.is_everywhere();
        add_usage(connection, &mut inventory.views, is_complete).await?;
    }
    inventory.routines = routines(connection, longest).await?;
    inventory.triggers = triggers(connection, longest).await?;
    Ok(inventory)
}

async fn tables(connection: &mut Conn) -> mysql_async::Result<Vec<TableRow>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA {OTHERS} LIMIT {MOST_ROWS}"
    );
    let rows = read(connection, &sql).await?.into_iter();
    Ok(rows.filter_map(names::<2>).map(|[schema, name]| TableRow { schema, name }).collect())
}

async fn views(connection: &mut Conn, longest: u64) -> mysql_async::Result<Vec<ViewRow>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, {} FROM information_schema.VIEWS WHERE TABLE_SCHEMA {OTHERS} LIMIT {MOST_ROWS}",
        bounded("VIEW_DEFINITION", longest)
    );
    let view = |mut row: Vec<Option<String>>| {
        // An empty text is one that is not shown.
        let definition = row.pop().flatten().filter(|text| !text.is_empty());
        let [schema, name] = names(row)?;
        let (tables, routines) = (Vec::new(), Vec::new());
        Some(ViewRow { schema, name, definition, tables, routines, usage_is_complete: false })
    };
    Ok(read(connection, &sql).await?.into_iter().filter_map(view).collect())
}

/// MySQL says itself what a view uses, also what the functions in it do.
async fn add_usage(connection: &mut Conn, views: &mut [ViewRow], is_complete: bool) -> mysql_async::Result<()> {
    let limit = MOST_ROWS * 4;
    let tables = format!(
        "SELECT VIEW_SCHEMA, VIEW_NAME, TABLE_SCHEMA, TABLE_NAME FROM information_schema.VIEW_TABLE_USAGE LIMIT {limit}"
    );
    let routines = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, SPECIFIC_SCHEMA, SPECIFIC_NAME FROM information_schema.VIEW_ROUTINE_USAGE \
         LIMIT {limit}"
    );
    let tables = read(connection, &tables).await?;
    let is_complete = is_complete && tables.len() < limit;
    let routines = read(connection, &routines).await?;
    let at: HashMap<(String, String), usize> =
        views.iter().enumerate().map(|(at, view)| ((view.schema.clone(), view.name.clone()), at)).collect();
    let mut used = |rows: Vec<Vec<Option<String>>>, of: fn(&mut ViewRow) -> &mut Vec<(String, String)>| {
        for [schema, view, used_schema, used] in rows.into_iter().filter_map(names) {
            if let Some(view) = at.get(&(schema, view)).and_then(|at| views.get_mut(*at)) {
                of(view).push((used_schema, used));
            }
        }
    };
    used(tables, |view| &mut view.tables);
    used(routines, |view| &mut view.routines);
    for view in views {
        // A view without tables may also be one whose usage was not recorded.
        view.usage_is_complete = is_complete && !view.tables.is_empty();
    }
    Ok(())
}

async fn routines(connection: &mut Conn, longest: u64) -> mysql_async::Result<Vec<RoutineRow>> {
    let sql = format!(
        "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, SQL_MODE, IF(ROUTINE_BODY = 'SQL' AND COALESCE(EXTERNAL_LANGUAGE, 'SQL') = 'SQL', {}, NULL) \
         FROM information_schema.ROUTINES LIMIT {MOST_ROWS}",
        bounded("ROUTINE_DEFINITION", longest)
    );
    let routine = |mut row: Vec<Option<String>>| {
        let body = row.pop().flatten();
        let [schema, name, sql_mode] = names(row)?;
        Some(RoutineRow { schema, name, sql_mode, body })
    };
    Ok(read(connection, &sql).await?.into_iter().filter_map(routine).collect())
}

async fn triggers(connection: &mut Conn, longest: u64) -> mysql_async::Result<Vec<TriggerRow>> {
    let sql = format!(
        "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, SQL_MODE, {} FROM information_schema.TRIGGERS LIMIT {MOST_ROWS}",
        bounded("ACTION_STATEMENT", longest)
    );
    let trigger = |mut row: Vec<Option<String>>| {
        let body = row.pop().flatten();
        let [schema, table, sql_mode] = names(row)?;
        Some(TriggerRow { schema, table, sql_mode, body })
    };
    Ok(read(connection, &sql).await?.into_iter().filter_map(trigger).collect())
}

fn bounded(column: &str, longest: u64) -> String {
    format!("IF(CHAR_LENGTH({column}) > {longest}, NULL, {column})")
}

async fn read(connection: &mut Conn, sql: &str) -> mysql_async::Result<Vec<Vec<Option<String>>>> {
    let rows: Vec<Row> = connection.query(sql).await?;
    let row = |row: Row| row.unwrap_raw().into_iter().map(|value| value.as_ref().and_then(text)).collect();
    Ok(rows.into_iter().map(row).collect())
}

/// A row of so many names, none of them NULL.
fn names<const N: usize>(row: Vec<Option<String>>) -> Option<[String; N]> {
    let names: Option<Vec<String>> = row.into_iter().collect();
    names?.try_into().ok()
}

/// By its version: `9.7.4-2` is 90704, `10.11.18-MariaDB` is 101118.
fn server(identity: &Identity) -> Server {
    let mut numbers = identity.version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    let mut next = || numbers.next().flatten().filter(|number| *number < 1000);
    let version = next().zip(next()).zip(next()).map(|((major, minor), patch)| major * 10_000 + minor * 100 + patch);
    match (identity.flavor, version) {
        (_, None) => Server::Unknown,
        (Flavor::Mysql, Some(version)) => Server::MySql(version),
        (Flavor::Mariadb, Some(version)) => Server::MariaDb(version),
    }
}
