//! Our reading of a packet. This is the only module that calls the `statement` crate: whatever its interface is, the rest
//! of the oracle asks through these types.
//!
//! Where the proxy derives a fact outside of `statement` (the session's character set and schema, in `admission`), this
//! module does the same.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use session::{Part, SessionText, Source, StatementsPerText, TextEffect};
use statement::{
    Charset, Class, Doubts, Extent, Fingerprint, Mode, ModeDependence, NamedStatement, Outcome, ParseCache, Scan,
    Server,
};

/// `limits.inspect` of a default configuration.
const INSPECTED: usize = 1024 * 1024;

/// A name as written in a statement; without a schema it may be in any.
pub type TableName = (Option<String>, String);

/// What the proxy knows of a session before it reads a packet.
#[derive(Debug, Clone)]
pub struct Session {
    server: Server,
    /// The status flag of the last reply.
    pub no_backslash_escapes: bool,
    text: SessionText,
    schema: DefaultSchema,
    named: HashMap<Vec<u8>, Arc<Note>>,
    /// A packet before may have left a lock.
    may_be_locked: bool,
    /// A packet before was a routine or a text that nobody read.
    ran_unseen: bool,
}

/// The default schema, as far as the proxy knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefaultSchema {
    Known(String),
    Unknown,
}

/// Facts of a text.
#[derive(Debug, Clone)]
struct Facts {
    classes: Vec<Class>,
    free: bool,
    tables: Option<BTreeSet<TableName>>,
    certain_tables: Option<BTreeSet<TableName>>,
    certain_class: Option<Class>,
    takes_lock: bool,
    fingerprints: Option<Vec<Fingerprint>>,
}

/// What is remembered of a text that was prepared under a name.
#[derive(Debug)]
struct Note {
    facts: Facts,
    changes_schema: bool,
    depends_on: ModeDependence,
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
    /// A lock may be taken that outlives the statement, by this packet or one before it.
    pub takes_lock: bool,
    /// Locks that the session is said to hold after the packet.
    pub held: Held,
    /// The default schema after the packet.
    pub schema: DefaultSchema,
    /// The character set after the packet.
    pub charset: Charset,
    /// Fingerprints of the packet's statements; `None`: not all are known.
    pub fingerprints: Option<Vec<Fingerprint>>,
    /// This packet or one before it has called a routine, or run a text that nobody read.
    pub ran_unseen: bool,
}

/// Locks of a session by our reading.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// It certainly holds table or metadata locks, for which it would be let pass.
    pub blocks_others: bool,
    /// It may hold any.
    pub may_hold: bool,
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
        let text = SessionText::new(server, charset_of("utf8mb4"), StatementsPerText::Several, false);
        Session {
            server,
            no_backslash_escapes: false,
            text,
            schema: DefaultSchema::Unknown,
            named: HashMap::new(),
            may_be_locked: false,
            ran_unseen: false,
        }
    }

    /// The same with a default schema.
    pub fn in_schema(self, name: String) -> Session {
        Session { schema: DefaultSchema::Known(name), ..self }
    }

    pub fn is_mysql(&self) -> bool {
        matches!(self.server, Server::MySql(_))
    }

    /// Reads a packet, and takes up what it changes in the session.
    pub fn run(&mut self, packet: &[u8], answer: Answer) -> Reading {
        self.run_as(packet, answer, TextEffect::of)
    }

    /// The same of a text that was prepared and executed by the protocol.
    pub fn run_prepared(&mut self, packet: &[u8], answer: Answer) -> Reading {
        self.run_as(packet, answer, TextEffect::of_prepared)
    }

    fn run_as(&mut self, packet: &[u8], answer: Answer, effect: impl Fn(&Scan) -> TextEffect) -> Reading {
        let part = if packet.len() > INSPECTED { Part::Beginning } else { Part::Whole };
        let sql = packet.get(..INSPECTED).unwrap_or(packet);
        let scan = self.text.read(sql, Source::Query, part);
        let mut facts = Facts::of(sql, &scan);
        let mut schema = if scan.changes_schema { schema_after(sql, &scan, answer) } else { None };
        if let Some(note) = self.executed(sql, &scan) {
            schema = note.changes_schema.then_some(DefaultSchema::Unknown);
            facts = note.facts.clone();
        }
        self.rename(sql, &scan, &facts, answer);
        self.schema = schema.unwrap_or_else(|| self.schema.clone());
        self.text.settle(&effect(&scan), answer == Answer::Succeeded, self.no_backslash_escapes);
        self.may_be_locked |= facts.takes_lock || scan.takes_lock;
        self.ran_unseen |= facts.is_unseen();
        let locks = self.text.locks();
        Reading {
            classes: facts.classes,
            free: facts.free,
            tables: facts.tables,
            certain_tables: facts.certain_tables,
            certain_class: facts.certain_class,
            takes_lock: self.may_be_locked,
            held: Held { blocks_others: locks.blocks_others(), may_hold: locks.may_hold_any() },
            schema: self.schema.clone(),
            charset: self.text.charset(),
            fingerprints: facts.fingerprints,
            ran_unseen: self.ran_unseen,
        }
    }

    /// The text behind the name that a packet executes.
    fn executed(&self, sql: &[u8], scan: &Scan) -> Option<Arc<Note>> {
        let Some(NamedStatement::Execute { name }) = &scan.named else { return None };
        let name = scan.only_mode().and_then(|mode| key(sql.get(name.clone()).unwrap_or_default(), mode));
        let note = name.and_then(|name| self.named.get(&name).cloned());
        let mode = self.text.mode();
        let holds = |note: &Arc<Note>| match mode {
            Some(mode) => note.depends_on.holds_in(mode),
            None => note.depends_on.is_none(),
        };
        Some(note.filter(holds).unwrap_or_else(|| Arc::new(Note::unseen())))
    }

    /// Takes up what a packet does to prepared names, as `admission` does.
    fn rename(&mut self, sql: &[u8], scan: &Scan, facts: &Facts, answer: Answer) {
        let prepares_among_others = scan.prepares && scan.named.is_none();
        let hides_others = scan.statements > 1 && scan.class == Class::Ddl;
        if facts.is_unseen() || prepares_among_others || hides_others || scan.doubts.contains(Doubts::CUT) {
            self.named.clear();
        }
        if answer == Answer::Failed {
            return;
        }
        // Names and literals of a text with several readings are not believed.
        let mode = scan.only_mode();
        let name = |range: &Range<usize>| key(sql.get(range.clone()).unwrap_or_default(), mode?);
        match &scan.named {
            Some(NamedStatement::Prepare { name: range, from }) => match name(range).zip(mode) {
                Some((name, mode)) => drop(self.named.insert(name, Arc::new(Note::prepared(sql, from, mode)))),
                None => self.named.clear(),
            },
            Some(NamedStatement::Deallocate { name: range }) => {
                if let Some(name) = name(range) {
                    self.named.remove(&name);
                }
            }
            Some(NamedStatement::Execute { .. }) | None => {}
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

impl Facts {
    fn of(sql: &[u8], scan: &Scan) -> Facts {
        let parsed = ParseCache::new().get_or_parse(scan, sql);
        let classes = scan.classes_with(&parsed);
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
        let fingerprints = scan.fingerprints(sql);
        Facts {
            classes: classes.iter().chain(scan.free.then_some(scan.class)).collect(),
            free: scan.free,
            certain_tables,
            tables,
            certain_class: (certain.len() == 1).then(|| certain.first().copied()).flatten(),
            takes_lock: scan.takes_lock,
            fingerprints: fingerprints.is_complete().then(|| fingerprints.iter().collect()),
        }
    }

    /// A routine or an unknown text may do anything to the session.
    fn is_unseen(&self) -> bool {
        self.classes.iter().any(|class| matches!(class, Class::Call | Class::Unparsed))
    }
}

impl Note {
    /// Of a text that nobody read.
    fn unseen() -> Note {
        let facts = Facts {
            classes: vec![Class::Unparsed],
            free: false,
            tables: None,
            certain_tables: None,
            certain_class: None,
            takes_lock: false,
            fingerprints: None,
        };
        Note { facts, changes_schema: true, depends_on: ModeDependence::default() }
    }

    fn prepared(sql: &[u8], from: &statement::Source, mode: Mode) -> Note {
        let statement::Source::Literal(literal) = from else { return Note::unseen() };
        let text = statement::unquote(sql.get(literal.clone()).unwrap_or_default(), mode);
        if !mode.charset.keeps_text(&text) {
            return Note::unseen();
        }
        let scan = statement::scan(&text, Mode { extent: Extent::Whole, ..mode });
        Note { facts: Facts::of(&text, &scan), changes_schema: scan.changes_schema, depends_on: scan.depends_on(&text) }
    }
}

/// The name as `admission` compares it. `None`: only the server knows what it is equal to.
fn key(name: &[u8], mode: Mode) -> Option<Vec<u8>> {
    let bare = statement::unquote(name, mode);
    let is_plain = !bare.is_empty() && bare.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_$".contains(byte));
    is_plain.then(|| bare.to_ascii_lowercase())
}

/// `None`: as it was.
fn schema_after(sql: &[u8], scan: &Scan, answer: Answer) -> Option<DefaultSchema> {
    match (&scan.schema, scan.only_mode(), answer) {
        (Some(range), Some(mode), Answer::Succeeded) => {
            let name = statement::unquote(sql.get(range.clone()).unwrap_or_default(), mode);
            Some(DefaultSchema::Known(String::from_utf8_lossy(&name).into_owned()))
        }
        (_, _, Answer::Failed) if scan.fails_whole() => None,
        (Some(_) | None, _, _) => Some(DefaultSchema::Unknown),
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
