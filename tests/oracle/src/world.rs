//! The schemas of one worker: what its packets find, and how it is put back after them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sandbox::Flavor;

use crate::client::{Address, Client};

/// Tables that only routines and triggers of this file name. A packet that touches them does so through one of these.
pub const BEHIND_ROUTINES: [&str; 2] = ["log", "hid"];

/// Views with the tables below them.
pub const VIEWS: [(&str, &[&str]); 5] =
    [("v_t", &["t"]), ("v_secret", &["secret"]), ("vv", &["secret", "v_secret"]), ("v_f", &[]), ("v_lk", &[])];

/// Tables of the grammar with their first rows.
const TABLES: [(&str, &str); 5] = [
    ("t", "(1,1,NULL),(2,2,NULL),(3,3,NULL)"),
    ("pub", "(1,1,'x'),(2,2,'y')"),
    ("secret", "(1,11,'s'),(2,22,'s')"),
    ("heartbeat", "(1,1,NULL)"),
    ("my1", "(1,1,NULL)"),
];

/// Functions whose names are also those of native functions: with a space before the parenthesis, or behind a schema,
/// the server calls these.
const SHADOWING: [&str; 14] = [
    "now",
    "count",
    "trim",
    "cast",
    "curdate",
    "sum",
    "substr",
    "extract",
    "std",
    "date_add",
    "position",
    "group_concat",
    "version",
    "concat",
];

/// Name of a worker's schema.
pub fn schema(worker: usize) -> String {
    format!("o{worker}")
}

/// One time for a server: instruments, users.
pub fn prepare_server(judge: &mut Client, flavor: Flavor) -> Result<()> {
    for sql in [
        "UPDATE performance_schema.setup_instruments SET ENABLED='NO', TIMED='NO' WHERE NAME LIKE 'wait/%' OR NAME LIKE 'stage/%'
         OR NAME LIKE 'idle%' OR NAME LIKE 'transaction%' OR NAME LIKE 'memory/%'",
        "UPDATE performance_schema.setup_instruments SET ENABLED='YES', TIMED='YES' WHERE NAME IN
         ('wait/io/table/sql/handler', 'wait/lock/table/sql/handler', 'wait/lock/metadata/sql/mdl')
         OR NAME LIKE 'wait/synch/cond/sql/Item_func_sleep%' OR NAME LIKE 'statement/%'",
        "UPDATE performance_schema.setup_consumers SET ENABLED='YES' WHERE NAME IN ('events_waits_current', 'events_waits_history',
         'events_statements_current', 'events_statements_history', 'global_instrumentation', 'thread_instrumentation')",
        "UPDATE performance_schema.setup_consumers SET ENABLED='NO' WHERE NAME LIKE 'events_transactions%' OR NAME LIKE
         'events_stages%' OR NAME LIKE '%history_long' OR NAME = 'statements_digest'",
    ] {
        judge.rows(sql)?;
    }
    if flavor == Flavor::Mariadb {
        // Read by the probe of a packet's own session.
        judge.rows("SET GLOBAL max_statement_time = 5")?;
    } else {
        judge.rows("SET GLOBAL max_execution_time = 5000")?;
    }
    judge.rows("SET GLOBAL log_bin_trust_function_creators = 1")?;
    Ok(())
}

/// Creates the worker's user and schemas.
pub fn create(judge: &mut Client, flavor: Flavor, worker: usize) -> Result<()> {
    let name = schema(worker);
    judge.rows(&format!("DROP USER IF EXISTS {name}@'%'"))?;
    judge.rows(&format!("CREATE USER {name}@'%'"))?;
    for object in [format!("{name}.*"), format!("{name}b.*")] {
        judge.rows(&format!("GRANT ALL ON {object} TO {name}@'%'"))?;
    }
    judge.rows(&format!("GRANT FILE, RELOAD, PROCESS ON *.* TO {name}@'%'"))?;
    judge.rows(&format!("GRANT SELECT ON performance_schema.* TO {name}@'%'"))?;
    if flavor == Flavor::Mysql {
        judge.rows(&format!("GRANT BACKUP_ADMIN, XA_RECOVER_ADMIN ON *.* TO {name}@'%'"))?;
    }
    rebuild(judge, flavor, worker)
}

/// How often [`end_sessions`] looks.
const LOOKS: u32 = 500;

/// Ends all sessions of the worker's user.
fn end_sessions(judge: &mut Client, worker: usize) -> Result<()> {
    let sql = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE USER='{}'", schema(worker));
    for _ in 0..LOOKS {
        let rows = judge.rows(&sql)?;
        if rows.is_empty() {
            return Ok(());
        }
        for id in rows.into_iter().flatten().flatten() {
            // It may have ended since.
            let _ = judge.rows(&format!("KILL {}", String::from_utf8_lossy(&id)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("sessions of {} do not end", schema(worker))
}

/// Makes the schemas anew.
pub fn rebuild(judge: &mut Client, flavor: Flavor, worker: usize) -> Result<()> {
    let name = schema(worker);
    let mut statements = Vec::new();
    // The other schema first: a view of the worker may be all that uses it.
    for schema in [format!("{name}b"), name.clone()] {
        statements.push(format!("DROP DATABASE IF EXISTS {schema}"));
        statements.push(format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4"));
        statements.push(format!("USE {schema}"));
        statements.push("CREATE TABLE secret (id INT PRIMARY KEY, a INT, b VARCHAR(60))".to_owned());
        statements.push("INSERT INTO secret VALUES (1, 1, 'o')".to_owned());
        statements.push("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(60))".to_owned());
    }
    statements.push("DROP TABLE secret, t".to_owned());
    for (table, rows) in TABLES {
        let last = if table == "heartbeat" { "ts BIGINT DEFAULT NULL" } else { "a INT DEFAULT NULL, b VARCHAR(60)" };
        let engine = if table == "my1" { " ENGINE=MyISAM" } else { "" };
        statements.push(format!("CREATE TABLE {table} (id INT NOT NULL DEFAULT 900 PRIMARY KEY, {last}){engine}"));
        if table != "heartbeat" {
            statements.push(format!("INSERT INTO {table} VALUES {rows}"));
        }
    }
    statements.push("INSERT INTO heartbeat VALUES (1, 1)".to_owned());
    statements.push("CREATE TABLE log (m INT)".to_owned());
    statements.push("CREATE TABLE hid (m INT)".to_owned());
    statements.extend(routines(worker));
    if flavor == Flavor::Mariadb {
        statements.push("CREATE SEQUENCE s".to_owned());
    }
    for statement in statements {
        judge.rows(&statement)?;
    }
    Ok(())
}

/// Makes the schemas anew after the sessions of another campaign: on MariaDB a table may still be open under the name of its file.
pub fn rebuild_after_others(judge: &mut Client, flavor: Flavor, worker: usize) -> Result<()> {
    end_sessions(judge, worker)?;
    judge.rows("FLUSH TABLES")?;
    // The DDL of two workers locks the same tables of MariaDB's statistics.
    for _ in 0..4 {
        if rebuild(judge, flavor, worker).is_ok() {
            return Ok(());
        }
    }
    rebuild(judge, flavor, worker)
}

/// Everything that a statement can create, change or drop in the worker's schemas, a line each.
pub fn snapshot(judge: &mut Client, flavor: Flavor, worker: usize) -> Result<BTreeSet<String>> {
    let own = format!("('{0}', '{0}b')", schema(worker));
    let views = match flavor {
        Flavor::Mysql => "VIEW_DEFINITION",
        Flavor::Mariadb => "LEFT(VIEW_DEFINITION, 200)",
    };
    let sql = format!(
        "SELECT CONCAT_WS('|', TABLE_TYPE, TABLE_SCHEMA, TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA IN {own}
         UNION ALL SELECT CONCAT_WS('|', 'COLUMN', TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IFNULL(COLUMN_DEFAULT, ''))
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA IN {own}
         UNION ALL SELECT CONCAT_WS('|', 'INDEX', TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME)
         FROM information_schema.STATISTICS WHERE TABLE_SCHEMA IN {own}
         UNION ALL SELECT CONCAT_WS('|', ROUTINE_TYPE, ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_DEFINITION)
         FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA IN {own}
         UNION ALL SELECT CONCAT_WS('|', 'TRIGGER', TRIGGER_SCHEMA, TRIGGER_NAME, ACTION_STATEMENT)
         FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA IN {own}
         UNION ALL SELECT CONCAT_WS('|', 'EVENT', EVENT_SCHEMA, EVENT_NAME) FROM information_schema.EVENTS WHERE EVENT_SCHEMA IN {own}
         UNION ALL SELECT CONCAT_WS('|', 'DEFINITION', TABLE_SCHEMA, TABLE_NAME, {views})
         FROM information_schema.VIEWS WHERE TABLE_SCHEMA IN {own}"
    );
    let rows = judge.rows(&sql)?;
    let lines = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
    Ok(lines.map(|line| String::from_utf8_lossy(&line).into_owned()).collect())
}

/// Drops what was added since the snapshot `before`. `false`: something else has changed, or cannot be dropped.
pub fn drop_additions(judge: &mut Client, flavor: Flavor, worker: usize, before: &BTreeSet<String>) -> Result<bool> {
    let now = snapshot(judge, flavor, worker)?;
    if !before.is_subset(&now) {
        return Ok(false);
    }
    let mut dropped = BTreeSet::new();
    for line in now.difference(before) {
        let mut parts = line.split('|');
        let (kind, schema, name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let kind = match kind {
            "BASE TABLE" => "TABLE",
            "COLUMN" | "INDEX" | "DEFINITION" => {
                dropped.insert((schema.to_owned(), name.to_owned()));
                continue;
            }
            other => other,
        };
        let quoted = name.replace('`', "``");
        if judge.rows(&format!("DROP {kind} `{schema}`.`{quoted}`")).is_err() {
            return Ok(false);
        }
    }
    // Columns of tables that are still there were added to one of the world's own.
    Ok(before.iter().all(|line| {
        let mut parts = line.split('|').skip(1);
        let (schema, name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        !dropped.contains(&(schema.to_owned(), name.to_owned()))
    }))
}

fn routines(worker: usize) -> Vec<String> {
    let mut routines = Vec::new();
    let writing = |name: &str| {
        format!("CREATE FUNCTION `{name}`() RETURNS INT DETERMINISTIC BEGIN INSERT INTO log VALUES (1); RETURN 1; END")
    };
    routines.push(writing("f"));
    for name in SHADOWING {
        let parameter = if matches!(name, "now" | "curdate" | "version") { "" } else { "p VARCHAR(10)" };
        routines.push(writing(name).replacen("()", &format!("({parameter})"), 1));
    }
    for body in [
        "FUNCTION r() RETURNS INT DETERMINISTIC BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM hid; RETURN n; END"
            .to_owned(),
        format!(
            "FUNCTION lk() RETURNS INT DETERMINISTIC BEGIN DECLARE n INT; SET n = GET_LOCK('w{worker}', 0); RETURN n; END"
        ),
        "FUNCTION sl() RETURNS INT NOT DETERMINISTIC BEGIN DECLARE n INT; SET n = SLEEP(0.001); RETURN n; END"
            .to_owned(),
        "PROCEDURE p() BEGIN INSERT INTO log VALUES (2); END".to_owned(),
        "PROCEDURE pr() BEGIN SELECT COUNT(*) FROM hid; END".to_owned(),
        "PROCEDURE pd() BEGIN CREATE TABLE IF NOT EXISTS zz (i INT); DROP TABLE zz; END".to_owned(),
        format!("PROCEDURE plock() BEGIN DO GET_LOCK('w{worker}', 0); END"),
        "PROCEDURE pset() BEGIN SET @z = 1; SET autocommit = 0; END".to_owned(),
        "PROCEDURE pmode() BEGIN SET sql_mode = 'NO_BACKSLASH_ESCAPES'; END".to_owned(),
        "PROCEDURE pnames() BEGIN SET NAMES gbk; END".to_owned(),
        "PROCEDURE parg(x INT) BEGIN INSERT INTO log VALUES (x); END".to_owned(),
        "VIEW v_t AS SELECT * FROM t".to_owned(),
        "VIEW v_secret AS SELECT * FROM secret".to_owned(),
        "VIEW vv AS SELECT * FROM v_secret".to_owned(),
        "VIEW v_f AS SELECT f() AS id".to_owned(),
        "VIEW v_lk AS SELECT lk() AS id".to_owned(),
        "TRIGGER tr AFTER UPDATE ON pub FOR EACH ROW INSERT INTO log VALUES (3)".to_owned(),
    ] {
        routines.push(format!("CREATE {body}"));
    }
    routines
}

/// Puts the rows back.
pub fn refill(judge: &mut Client, worker: usize) -> Result<()> {
    let name = schema(worker);
    let mut sql = String::from("SET autocommit = 0");
    for (table, rows) in TABLES {
        let rows = if table == "heartbeat" { "(1,1)" } else { rows };
        sql.push_str(&format!("; DELETE FROM {name}.{table}; INSERT INTO {name}.{table} VALUES {rows}"));
    }
    sql.push_str(&format!("; DELETE FROM {name}.log; DELETE FROM {name}b.t; DELETE FROM {name}b.secret"));
    sql.push_str(&format!("; INSERT INTO {name}b.secret VALUES (1, 1, 'o'); COMMIT; SET autocommit = 1"));
    judge.rows(&sql).map(drop).context("refilling")
}

/// Connects as the worker's user.
pub fn connect(address: &Address, worker: usize) -> Result<Client> {
    let name = schema(worker);
    Client::connect(address, &name, Some(&name))
}
