//! Our reading of a packet. This is the only module that calls the `statement` crate: whatever its interface is, the rest
//! of the oracle asks through these types.
//!
//! Where the proxy derives a fact outside of `statement` (the session's character set and schema, in `admission`), this
//! module does the same.

use std::collections::BTreeSet;

use session::{Part, SessionText, Source, StatementsPerText, TextEffect};
use statement::locks::LockKnowledge;
use statement::{Charset, CharsetChange, Class, Fingerprint, Mode, NamedStatement, Outcome, ParseCache, Scan, Server};

/// `limits.inspect` of a default configuration.
const INSPECTED: usize = 1024 * 1024;

/// A name as written in a statement; without a schema it may be in any.
pub type TableName = (Option<String>, String);

/// What the proxy knows of a session before it reads a packet.
#[derive(Debug, Clone)]
pub struct Session {
    server: Server,
    /// The status flag of the last reply.
    /// What the last reply showed.
    pub no_backslash_escapes: bool,
    text: SessionText,
}

/// What the proxy holds for the session's schema or character set after the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered<T> {
    Unchanged,
    Known(T),
    Unknown,
}

/// Answers of our reading to a packet.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Classes that a statement may have in some reading.
    pub classes: Vec<Class>,
    /// The packet is never delayed and never rejected.
    pub free: bool,
    /// Tables that may be touched; `None`: unknown.
    pub tables: Option<BTreeSet<TableName>>,
    /// Tables for favouring: certainly no others are touched. `None`: nothing is certain.
    pub certain_tables: Option<BTreeSet<TableName>>,
    /// The class for favouring.
    pub certain_class: Option<Class>,
    /// A lock may be taken that outlives the statement.
    pub takes_lock: bool,
    /// Locks that the session is said to hold after the packet.
    pub held: Held,
    pub schema: Remembered<String>,
    pub charset: Remembered<Charset>,
    /// Fingerprints of the packet's statements; `None`: not all are known.
    pub fingerprints: Option<Vec<Fingerprint>>,
}

/// Locks that a session certainly holds by our reading.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// Table or metadata locks, for which it would be let pass.
    pub blocks_others: bool,
}

/// How the server answered: locks, schema and character set change only with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Succeeded,
    Failed,
}

impl Session {
    /// A session after its login, with utf8mb4. `version` is that of the greeting.
    pub fn new(version: &str) -> Session {
        let server = server(version);
        let text = SessionText::new(server, Charset::Plain, StatementsPerText::Several, false);
        Session { server, no_backslash_escapes: false, text }
    }

    pub fn is_mysql(&self) -> bool {
        matches!(self.server, Server::MySql(_))
    }

    /// Takes up what a statement of the setup changes; all of them succeed.
    pub fn run(&mut self, sql: &[u8]) {
        let scan = self.scan(sql);
        self.text.settle(&TextEffect::of(&scan), true, self.no_backslash_escapes);
    }

    fn scan(&self, sql: &[u8]) -> Scan {
        let part = if sql.len() > INSPECTED { Part::Beginning } else { Part::Whole };
        self.text.read(sql.get(..INSPECTED).unwrap_or(sql), Source::Query, part)
    }

    pub fn read(&self, packet: &[u8], answer: Answer) -> Reading {
        let scan = self.scan(packet);
        let sql = packet.get(..INSPECTED).unwrap_or(packet);
        let parsed = ParseCache::new().get_or_parse(&scan, sql);
        let mut classes = scan.classes_with(&parsed);
        if let Some(NamedStatement::Execute { .. }) = scan.named {
            // The text under the name was prepared by another packet, which the oracle does not follow.
            classes.insert(Class::Unparsed);
        }
        let names = |names: &[statement::Table]| {
            let owned = |table: &statement::Table| (table.schema.as_deref().map(str::to_owned), table.name.to_string());
            names.iter().map(owned).collect::<BTreeSet<TableName>>()
        };
        let hidden = classes.contains(Class::Call) || classes.contains(Class::Unparsed);
        let tables = (parsed.outcome != Outcome::Failed && !hidden).then(|| names(&parsed.tables));
        let certain_tables = tables.clone().filter(|_| parsed.outcome == Outcome::Read);
        let mut certain: Vec<Class> = classes.iter().collect();
        if scan.free {
            certain = vec![scan.class];
        }
        let mut locks = LockKnowledge::default();
        locks.settle(scan.locks, answer == Answer::Succeeded);
        let fingerprints = scan.fingerprints(sql);
        Reading {
            classes: classes.iter().chain(scan.free.then_some(scan.class)).collect(),
            free: scan.free,
            certain_tables,
            tables,
            certain_class: (certain.len() == 1).then(|| certain.first().copied()).flatten(),
            takes_lock: scan.takes_lock,
            held: Held { blocks_others: locks.blocks_others() },
            schema: schema_after(sql, &scan, answer),
            charset: charset_after(&scan, answer),
            fingerprints: fingerprints.is_complete().then(|| fingerprints.iter().collect()),
        }
    }

    /// Fingerprints that a statement of its own would have, in every mode that the session may be in.
    pub fn fingerprints_of(&self, statement: &[u8]) -> Vec<Fingerprint> {
        let mut fingerprints = Vec::new();
        for no_backslash_escapes in [false, true] {
            for ansi_quotes in [false, true] {
                let mode = Mode { no_backslash_escapes, ansi_quotes, server: self.server, ..Mode::default() };
                fingerprints.push(statement::fingerprint(statement, mode));
            }
        }
        fingerprints
    }
}

fn schema_after(sql: &[u8], scan: &Scan, answer: Answer) -> Remembered<String> {
    if !scan.changes_schema {
        return Remembered::Unchanged;
    }
    let name = |text: &[u8]| String::from_utf8_lossy(&statement::unquote(text, scan.mode())).into_owned();
    match (&scan.schema, answer) {
        (Some(range), Answer::Succeeded) => Remembered::Known(name(sql.get(range.clone()).unwrap_or_default())),
        (Some(_), Answer::Failed) if scan.fails_whole() => Remembered::Unchanged,
        (Some(_) | None, _) => Remembered::Unknown,
    }
}

fn charset_after(scan: &Scan, answer: Answer) -> Remembered<Charset> {
    match (scan.charset, answer) {
        (None, _) => Remembered::Unchanged,
        (Some(CharsetChange::To(charset)), Answer::Succeeded) => Remembered::Known(charset),
        (Some(CharsetChange::To(_)), Answer::Failed) if scan.fails_whole() => Remembered::Unchanged,
        (Some(CharsetChange::To(_) | CharsetChange::Unknown), _) => Remembered::Unknown,
    }
}

/// `9.7.4-2` is 90704, `10.11.18-MariaDB` is 101118.
fn server(version: &str) -> Server {
    let is_mariadb = version.contains("MariaDB");
    let version = version.strip_prefix("5.5.5-").filter(|_| is_mariadb).unwrap_or(version);
    let mut parts = version.split(|byte: char| !byte.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    let (Some(Some(major)), Some(Some(minor)), Some(Some(patch))) = (parts.next(), parts.next(), parts.next()) else {
        return Server::Unknown;
    };
    let number = major * 10_000 + minor * 100 + patch;
    if is_mariadb { Server::MariaDb(number) } else { Server::MySql(number) }
}

/// The family of a character set, by the server's name of it.
pub fn charset_of(name: &str) -> Charset {
    Charset::named(name.as_bytes()).unwrap_or(Charset::Unknown)
}
