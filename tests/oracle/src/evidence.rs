//! What a server did with a packet, as its performance schema tells.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::client::Client;
use crate::client::Reply;

/// Statement event of a packet; nested ones are those of routines and triggers.
#[derive(Debug, Clone)]
pub struct Event {
    pub id: u64,
    /// It only shows the plan of a statement.
    pub explains: bool,
    /// Such as `insert_select`, without `statement/sql/`; `sp/stmt` and `com/Execute` keep their family.
    pub name: String,
    pub text: Vec<u8>,
    /// `FUNCTION`, `PROCEDURE` or `TRIGGER` of a nested event.
    pub routine: Option<String>,
    pub level: u32,
    pub rows: u64,
    pub failed: bool,
}

/// One table event.
#[derive(Debug, Clone)]
pub struct Wait {
    pub id: u64,
    pub statement: u64,
    pub kind: WaitKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitKind {
    Table { schema: String, name: String, operation: String },
    Sleep,
    Lock,
}

/// Access of a packet to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// Rows were inserted, changed or removed.
    pub rows_written: bool,
    /// The table was opened for writing, whether or not rows were found.
    pub opened_to_write: bool,
    /// Rows were read.
    pub rows_read: bool,
    /// By a statement of the packet itself, and not only by a routine or a trigger.
    pub direct: bool,
}

/// State of the session after the packet.
#[derive(Debug, Clone, Default)]
pub struct After {
    pub charset: String,
    pub sql_mode: String,
    pub autocommit: bool,
    pub schema: Option<String>,
    pub user_lock: bool,
    pub table_lock: bool,
    pub global_lock: bool,
    pub backup_lock: bool,
}

/// All evidence of one packet.
#[derive(Debug, Clone, Default)]
pub struct Happened {
    pub events: Vec<Event>,
    pub tables: BTreeMap<(String, String), Access>,
    pub slept: bool,
    /// Results before the first error.
    pub succeeded: u32,
    pub error: Option<(u16, String)>,
    pub in_transaction: bool,
    /// `None`: the packet made the probe unreadable.
    pub after: Option<After>,
    /// DDL was begun, by the counters of the session.
    pub counted_ddl: bool,
    pub file_written: bool,
    /// Table events were lost, so that `tables` may lack some.
    pub incomplete: bool,
}

impl Happened {
    /// Rows or tables were changed by any statement, nested ones included.
    pub fn wrote_rows(&self) -> bool {
        self.tables.values().any(|access| access.rows_written) || self.file_written
    }

    /// A writing statement ran to its end, even if it found no rows.
    pub fn ran_write(&self) -> bool {
        const WRITES: [&str; 9] = [
            "insert",
            "insert_select",
            "replace",
            "replace_select",
            "update",
            "update_multi",
            "delete",
            "delete_multi",
            "load",
        ];
        self.events.iter().any(|event| {
            !event.failed
                && !event.explains
                && (WRITES.contains(&event.name.as_str()) || (is_by_text(event) && starts(event, &WRITE_WORDS)))
        })
    }

    pub fn ran_ddl(&self) -> bool {
        let counted = self.error.is_none() && self.counted_ddl;
        counted || self.events.iter().any(|event| !event.failed && is_ddl(event))
    }

    /// A stored function, procedure or trigger ran a statement.
    pub fn ran_routine(&self) -> bool {
        self.events.iter().any(|event| event.level > 0)
    }

    /// Names of the statements of the packet itself.
    pub fn top_names(&self) -> Vec<&str> {
        self.events.iter().filter(|event| event.level == 0).map(|event| event.name.as_str()).collect()
    }
}

const WRITE_WORDS: [&str; 5] = ["INSERT", "REPLACE", "UPDATE", "DELETE", "LOAD"];
const DDL_WORDS: [&str; 5] = ["CREATE", "DROP", "ALTER", "TRUNCATE", "RENAME"];

/// EXPLAIN of a statement, which opens its tables and reads at most a row that it needs for the plan. EXPLAIN ANALYZE
/// runs the statement. The text is the server's own, so only what may stand in front of its first word is passed over.
///
/// The server cuts the text at bytes that are no characters; where that leaves no word, the packet's own text stands in.
fn is_explain(event: &Event, packet: &[u8]) -> bool {
    let has_words = Words { rest: &event.text, mariadb: false, versions_are_code: true }.next().is_some();
    let text = if has_words { &event.text } else { packet };
    // Which versions are code depends on the server; either way there is only one statement.
    [(false, true), (true, true), (false, false)].into_iter().any(|(mariadb, versions_are_code)| {
        let mut words = Words { rest: text, mariadb, versions_are_code };
        let mut first = words.next().unwrap_or_default();
        // MariaDB's SET STATEMENT … FOR another statement.
        if first.eq_ignore_ascii_case(b"SET")
            && words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"STATEMENT"))
            && words.any(|word| word.eq_ignore_ascii_case(b"FOR"))
        {
            first = words.next().unwrap_or_default();
        }
        let explains = ["EXPLAIN", "DESCRIBE", "DESC"].iter().any(|word| first.eq_ignore_ascii_case(word.as_bytes()));
        explains && !words.next().is_some_and(|second| second.eq_ignore_ascii_case(b"ANALYZE"))
    })
}

/// Words of a text, comments passed over.
struct Words<'a> {
    rest: &'a [u8],
    /// `/*M!` begins code and no comment.
    mariadb: bool,
    /// `/*!` with a version does.
    versions_are_code: bool,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let after = |end: &[u8]| {
                let at = self.rest.windows(end.len()).position(|part| part == end);
                // A comment without an end: its sign alone, since a character set may have taken the end for a character.
                at.map_or(&self.rest[1..], |at| &self.rest[at + end.len()..])
            };
            self.rest = match self.rest {
                [] => return None,
                [b'/', b'*', b'M', b'!', rest @ ..] if self.mariadb => rest,
                [b'/', b'*', b'!', first, ..] if first.is_ascii_digit() && !self.versions_are_code => after(b"*/"),
                [b'/', b'*', b'!', rest @ ..] => {
                    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    &rest[digits..]
                }
                [b'/', b'*', ..] => after(b"*/"),
                [b'-', b'-', ..] | [b'#', ..] => after(b"\n"),
                [first, ..] if first.is_ascii_alphabetic() => {
                    let length =
                        self.rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
                    let (word, rest) = self.rest.split_at(length);
                    self.rest = rest;
                    return Some(word);
                }
                [_, rest @ ..] => rest,
            };
        }
    }
}

/// Its event does not name the statement that was executed.
fn is_by_text(event: &Event) -> bool {
    matches!(event.name.as_str(), "execute_sql" | "execute_immediate" | "sp/stmt" | "com/Execute")
}

fn is_ddl(event: &Event) -> bool {
    if is_by_text(event) {
        return starts(event, &DDL_WORDS);
    }
    let name = event.name.as_str();
    let is_object = name.starts_with("create_") || name.starts_with("drop_") || name.starts_with("alter_");
    is_object || matches!(name, "truncate" | "rename_table" | "grant" | "revoke" | "grant_roles" | "revoke_roles")
}

/// Whether the text that the server ran begins with one of these words.
fn starts(event: &Event, words: &[&str]) -> bool {
    let word = Words { rest: &event.text, mariadb: true, versions_are_code: true }.next().unwrap_or_default();
    words.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// Text by which the events of a packet are told from those before it.
pub const BEGIN_MARK: &str = "oracle-begin";
pub const END_MARK: &str = "oracle-end";

/// The query for the session's counters of DDL, which takes longer than all the rest. MariaDB's events do not tell what
/// EXECUTE has run; the counters do. It is a read of no table that a rule names, so every proxy lets it pass.
pub const COUNT: &str = "SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME LIKE \
     'COM_CREATE%' OR VARIABLE_NAME LIKE 'COM_DROP%' OR VARIABLE_NAME LIKE 'COM_ALTER%' OR VARIABLE_NAME IN \
     ('COM_TRUNCATE', 'COM_RENAME_TABLE')";

/// The answer to [`COUNT`]; `None` while the session has locked tables.
pub fn read_count(reply: &Reply) -> Option<u64> {
    let sum = text(reply.rows.first()?.first())?;
    let whole = sum.split('.').next()?;
    whole.parse().ok()
}

/// The query that a packet's own session answers behind it.
pub fn probe(thread: u64) -> String {
    format!(
        "SELECT '{END_MARK}', @@character_set_client, @@sql_mode, @@autocommit, DATABASE(), (SELECT GROUP_CONCAT(DISTINCT \
         CONCAT(OBJECT_TYPE, ':', LOCK_TYPE, ':', LOCK_DURATION)) FROM performance_schema.metadata_locks \
         WHERE OWNER_THREAD_ID={thread} AND (OBJECT_SCHEMA IS NULL OR OBJECT_SCHEMA<>'performance_schema')), \
         (SELECT COUNT(*) FROM performance_schema.table_handles WHERE OWNER_THREAD_ID={thread} AND EXTERNAL_LOCK IS NOT NULL)"
    )
}

/// The answer to [`probe`].
pub fn read_probe(reply: &Reply) -> Option<After> {
    // MariaDB answers so while the session has locked tables; the rest is not known then.
    if reply.error.as_ref().is_some_and(|(code, _)| *code == 1100) {
        return Some(After { table_lock: true, ..After::default() });
    }
    let [row] = reply.rows.as_slice() else { return None };
    let text = |at: usize| {
        row.get(at).and_then(|value| value.as_ref()).and_then(|value| String::from_utf8(value.clone()).ok())
    };
    if text(0)? != END_MARK {
        return None;
    }
    let mut after = After {
        charset: text(1)?,
        sql_mode: text(2)?,
        autocommit: text(3)? == "1",
        schema: text(4),
        ..After::default()
    };
    // Between statements only LOCK TABLES and its like keep a table's external lock.
    after.table_lock = text(6)? != "0";
    for lock in text(5).unwrap_or_default().split(',') {
        let mut parts = lock.split(':');
        let (kind, lock, duration) =
            (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        match kind {
            "USER LEVEL LOCK" => after.user_lock = true,
            "GLOBAL" if lock.starts_with("SHARED") => after.global_lock = true,
            "BACKUP LOCK" if lock.starts_with("SHARED") && duration == "EXPLICIT" => after.backup_lock = true,
            "BACKUP" if lock.contains("FTWRL") => after.global_lock = true,
            "BACKUP" if duration == "EXPLICIT" => after.backup_lock = true,
            "TABLE" if lock == "SHARED_HIGH_PRIO" && duration == "EXPLICIT" => after.backup_lock = true,
            "TABLE" if matches!(lock, "SHARED_NO_READ_WRITE" | "SHARED_READ_ONLY") => after.table_lock = true,
            _ => {}
        }
    }
    Some(after)
}

/// Events of one thread since an event.
#[derive(Debug, Default)]
pub struct History {
    pub events: Vec<Event>,
    pub waits: Vec<Wait>,
    /// The rings were full: what was before the first event of each is lost.
    pub full: (bool, bool),
}

/// Statements and waits that the server keeps of a thread; more than 1024 it does not allow.
pub const STATEMENTS_KEPT: usize = 512;
pub const WAITS_KEPT: usize = 1024;

fn text(value: Option<&Option<Vec<u8>>>) -> Option<String> {
    value?.as_ref().map(|value| String::from_utf8_lossy(value).into_owned())
}

fn number(value: Option<&Option<Vec<u8>>>) -> u64 {
    text(value).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Reads what a thread did after an event.
pub fn history(judge: &mut Client, thread: u64, after: u64) -> Result<History> {
    let mut history = History::default();
    let rows = judge
        .rows(&format!(
            "SELECT EVENT_ID, EVENT_NAME, SQL_TEXT, OBJECT_TYPE, NESTING_EVENT_LEVEL, ROWS_AFFECTED, ERRORS \
             FROM performance_schema.events_statements_history WHERE THREAD_ID={thread} AND EVENT_ID>{after}"
        ))
        .context("reading statement events")?;
    history.full.0 = rows.len() >= STATEMENTS_KEPT;
    for row in rows {
        let name = text(row.get(1)).unwrap_or_default();
        let name = name.strip_prefix("statement/").unwrap_or(&name);
        history.events.push(Event {
            id: number(row.first()),
            explains: false,
            name: name.strip_prefix("sql/").unwrap_or(name).to_owned(),
            text: row.get(2).and_then(Clone::clone).unwrap_or_default(),
            routine: text(row.get(3)),
            level: u32::try_from(number(row.get(4))).unwrap_or(0),
            rows: number(row.get(5)),
            failed: number(row.get(6)) > 0,
        });
    }
    let rows = judge
        .rows(&format!(
            "SELECT EVENT_ID, NESTING_EVENT_ID, EVENT_NAME, OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, OPERATION \
             FROM performance_schema.events_waits_history WHERE THREAD_ID={thread} AND EVENT_ID>{after}"
        ))
        .context("reading wait events")?;
    history.full.1 = rows.len() >= WAITS_KEPT;
    for row in rows {
        let name = text(row.get(2)).unwrap_or_default();
        let kind = if name.contains("Item_func_sleep") {
            WaitKind::Sleep
        } else if text(row.get(3)).as_deref() == Some("TABLE") {
            WaitKind::Table {
                schema: text(row.get(4)).unwrap_or_default(),
                name: text(row.get(5)).unwrap_or_default(),
                operation: text(row.get(6)).unwrap_or_default(),
            }
        } else {
            WaitKind::Lock
        };
        history.waits.push(Wait { id: number(row.first()), statement: number(row.get(1)), kind });
    }
    history.events.sort_by_key(|event| event.id);
    history.waits.sort_by_key(|wait| wait.id);
    Ok(history)
}

/// Splits a history into the packets of a batch, by the marks around each; what the replies tell is still to be added. A packet without both marks is missing.
pub fn split(history: &History, texts: &[&[u8]]) -> Vec<Happened> {
    let mut packets = Vec::new();
    let mut start = None;
    let has = |event: &Event, mark: &str| {
        event.level == 0 && event.text.windows(mark.len()).any(|part| part == mark.as_bytes())
    };
    for (at, event) in history.events.iter().enumerate() {
        if has(event, BEGIN_MARK) {
            start = Some(at);
        } else if has(event, END_MARK)
            && let Some(begin) = start.take()
        {
            let text = texts.get(packets.len()).copied().unwrap_or_default();
            packets.push(packet(history, begin, at, text));
        }
    }
    packets
}

fn packet(history: &History, begin: usize, end: usize, text: &[u8]) -> Happened {
    let mut events: Vec<Event> = history.events[begin + 1..end].to_vec();
    for event in &mut events {
        event.explains = is_explain(event, text);
    }
    let (first, last) = (history.events[begin].id, history.events[end].id);
    let top: BTreeSet<u64> = events.iter().filter(|event| event.level == 0).map(|event| event.id).collect();
    let explains: BTreeSet<u64> = events.iter().filter(|event| event.explains).map(|event| event.id).collect();
    let mut tables: BTreeMap<(String, String), Access> = BTreeMap::new();
    let mut slept = false;
    for wait in history.waits.iter().filter(|wait| wait.id > first && wait.id < last) {
        match &wait.kind {
            WaitKind::Sleep => slept = true,
            WaitKind::Lock => {}
            WaitKind::Table { schema, name, .. } if schema == "performance_schema" || name.is_empty() => {}
            WaitKind::Table { operation, .. }
                if explains.contains(&wait.statement)
                    && !matches!(operation.as_str(), "insert" | "update" | "delete") => {}
            WaitKind::Table { schema, name, operation } => {
                let access = tables.entry((schema.clone(), name.clone())).or_default();
                access.direct |= top.contains(&wait.statement);
                match operation.as_str() {
                    "fetch" => access.rows_read = true,
                    "insert" | "update" | "delete" => access.rows_written = true,
                    _ => access.opened_to_write |= operation.starts_with("write"),
                }
            }
        }
    }
    let lost = history.full.1 && history.waits.first().is_none_or(|wait| wait.id > first);
    Happened { events, tables, slept, incomplete: lost, ..Happened::default() }
}
