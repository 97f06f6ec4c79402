//! Our reading of a packet. This is the only module that calls the `statement` crate: whatever its interface is, the rest
//! of the oracle asks through these types.
//!
//! Where the proxy derives a fact outside of `statement` (the session's character set and schema, in `admission`), this
//! module does the same.

use std::collections::BTreeSet;

use statement::locks::{self, LockState};
use statement::{
    Charset, CharsetChange, Class, Doubt, Extent, Fingerprint, Kind, Lexer, Mode, NamedStatement, Outcome, Scan, Server,
};

/// `limits.inspect` of a default configuration.
const INSPECTED: usize = 64 * 1024;

/// A name as written in a statement; without a schema it may be in any.
pub type TableName = (Option<String>, String);

/// What the proxy knows of a session before it reads a packet.
#[derive(Debug, Clone)]
pub struct Session {
    server: Server,
    /// The status flag of the last reply.
    pub no_backslash_escapes: bool,
    spelling: Spelling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Plain,
    Doubtful,
    Ambiguous,
}

/// What the proxy holds for the session's schema or character set after the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered<T> {
    Unchanged,
    Known(T),
    Unknown,
}

/// Whether a character set can have a backslash or a backquote as its second byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ambiguity {
    Plain,
    Ambiguous,
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
    pub charset: Remembered<Ambiguity>,
    /// Fingerprints of the packet's statements.
    pub fingerprints: Vec<Fingerprint>,
}

/// Locks that a session is believed to hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    pub user: bool,
    pub tables: bool,
    pub global: bool,
    pub backup: bool,
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
        Session { server: server(version), no_backslash_escapes: false, spelling: Spelling::Plain }
    }

    /// Takes up what a statement of the setup changes; all of them succeed.
    pub fn run(&mut self, sql: &[u8]) {
        let change = statement::scan(sql, self.mode(sql)).charset;
        self.spelling = match change {
            Some(CharsetChange::Plain) => Spelling::Plain,
            Some(CharsetChange::Ambiguous | CharsetChange::Unknown) => Spelling::Ambiguous,
            None => self.spelling,
        };
    }

    fn mode(&self, sql: &[u8]) -> Mode {
        let odd = sql.windows(2).any(|pair| matches!(pair, [0x80..=0xFF, b'\\' | b'`']));
        let charset = match self.spelling {
            Spelling::Plain => Charset::Plain,
            Spelling::Doubtful if !odd => Charset::Plain,
            Spelling::Doubtful | Spelling::Ambiguous => Charset::Ambiguous,
        };
        let extent = if sql.len() > INSPECTED { Extent::Cut } else { Extent::Whole };
        Mode {
            no_backslash_escapes: self.no_backslash_escapes,
            ansi_quotes: false,
            server: self.server,
            extent,
            charset,
        }
    }

    pub fn read(&self, packet: &[u8], answer: Answer) -> Reading {
        let mode = self.mode(packet);
        let sql = packet.get(..INSPECTED).unwrap_or(packet);
        let scan = statement::scan(sql, mode);
        let parsed = statement::parse(sql, mode);
        let mut class = scan.class;
        if scan.doubt != Doubt::None {
            class = class.or_stricter(parsed.class);
        }
        let names = |names: &[statement::Table]| {
            let owned = |table: &statement::Table| (table.schema.as_deref().map(str::to_owned), table.name.to_string());
            names.iter().map(owned).collect::<BTreeSet<TableName>>()
        };
        let mut tables = (parsed.outcome == Outcome::Read).then(|| names(&parsed.tables));
        if let Some(NamedStatement::Execute { .. }) = scan.named {
            // The text under the name was prepared by another packet, which the oracle does not follow.
            (class, tables) = (Class::Unparsed, None);
        }
        let locks_mode = Mode { charset: Charset::Plain, ..mode };
        let effect = locks::effect(sql, locks_mode);
        let mut state = LockState::default();
        match answer {
            Answer::Succeeded => state.apply(effect),
            Answer::Failed => state.apply_failed(effect),
        }
        Reading {
            classes: vec![class],
            free: scan.free,
            certain_tables: tables.clone(),
            tables,
            certain_class: Some(class),
            takes_lock: scan.takes_lock || !effect.is_none(),
            held: Held {
                user: state.user_locks() > 0,
                tables: state.tables(),
                global: state.global_read(),
                backup: state.backup(),
            },
            schema: schema_after(sql, mode, &scan, answer),
            charset: self.charset_after(&scan, class, mode, answer),
            fingerprints: vec![statement::fingerprint(sql, mode)],
        }
    }

    fn charset_after(&self, scan: &Scan, class: Class, mode: Mode, answer: Answer) -> Remembered<Ambiguity> {
        let unsure = matches!(class, Class::Call | Class::Unparsed)
            || (scan.statements > 1 && class == Class::Ddl)
            || mode.extent == Extent::Cut;
        match scan.charset {
            Some(CharsetChange::Plain) if answer == Answer::Succeeded => Remembered::Known(Ambiguity::Plain),
            Some(CharsetChange::Ambiguous | CharsetChange::Unknown) => Remembered::Known(Ambiguity::Ambiguous),
            Some(CharsetChange::Plain) | None if unsure || self.spelling == Spelling::Doubtful => Remembered::Unknown,
            Some(CharsetChange::Plain) | None => Remembered::Unchanged,
        }
    }

    /// Fingerprints that a statement of its own would have, in every mode that the session may be in.
    pub fn fingerprints_of(&self, statement: &[u8]) -> Vec<Fingerprint> {
        let mode = self.mode(statement);
        let mut fingerprints = Vec::new();
        for no_backslash_escapes in [false, true] {
            for ansi_quotes in [false, true] {
                fingerprints
                    .push(statement::fingerprint(statement, Mode { no_backslash_escapes, ansi_quotes, ..mode }));
            }
        }
        fingerprints
    }
}

fn schema_after(sql: &[u8], mode: Mode, scan: &Scan, answer: Answer) -> Remembered<String> {
    let name = |text: &[u8]| String::from_utf8_lossy(&statement::unquote(text, mode)).into_owned();
    let named = if scan.statements > 1 {
        last_use(sql, mode).map(|text| name(&text))
    } else {
        scan.schema.as_ref().map(|range| name(sql.get(range.clone()).unwrap_or_default()))
    };
    match (named, answer) {
        (Some(name), Answer::Succeeded) => Remembered::Known(name),
        (Some(_), Answer::Failed) if scan.statements > 1 => Remembered::Unknown,
        (Some(_), Answer::Failed) | (None, _) => Remembered::Unchanged,
    }
}

fn last_use(sql: &[u8], mode: Mode) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(sql, mode);
    let (mut used, mut starts) = (None, true);
    while let Some(token) = lexer.next() {
        if starts && lexer.is(&token, "USE") {
            let name = lexer.next().filter(|name| matches!(name.kind, Kind::Word | Kind::QuotedWord));
            used = name.map(|name| lexer.text(&name).to_vec()).or(used);
        }
        starts = token.kind == Kind::Symbol(b';');
    }
    used
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

/// Whether a character set allows a backslash or a backquote as its second byte, by the server's name of it.
pub fn ambiguity_of(charset: &str) -> Ambiguity {
    match charset {
        "big5" | "cp932" | "gb18030" | "gbk" | "sjis" => Ambiguity::Ambiguous,
        _ => Ambiguity::Plain,
    }
}
