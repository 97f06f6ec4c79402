//! Records replies of real servers into `crates/wire/src/fixtures/replies.txt`, which the tests of `wire` and `relay` play
//! back. It is run by hand, when a reply is missing there or a new version is to be looked at:
//!
//!     cargo test -p tollgate --test e2e record_replies -- --ignored
//!
//! What is recorded under a name that the file has takes its place; the rest stays as it is.

use std::fmt::Write;
use std::path::Path;

use sandbox::{APP, ETL, Flavor, Login, Options, Server};
use wire::packet::Header;
use wire::{AuthPacket, Capabilities, ChangeUser, Command};

use crate::harness::{Raw, RawOptions, encrypt, proof};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/src/fixtures/replies.txt");

/// May do nothing.
const NOBODY: Login = Login { user: "nobody", password: "nobody-pw" };
/// May do nothing but set a new password.
const EXPIRED: Login = Login { user: "expired", password: "expired-pw" };

const SETTING: &str = "
    CREATE DATABASE rec;
    CREATE TABLE rec.one (a INT PRIMARY KEY); INSERT INTO rec.one VALUES (1);
    CREATE TABLE rec.three (a INT PRIMARY KEY); INSERT INTO rec.three VALUES (1), (2), (3);
    CREATE TABLE rec.many (a INT);
    CREATE TABLE rec.refusing (a INT);
    CREATE TRIGGER rec.refuse BEFORE INSERT ON rec.refusing FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no';
    CREATE USER nobody IDENTIFIED BY 'nobody-pw';
    CREATE USER expired IDENTIFIED BY 'expired-pw' PASSWORD EXPIRE;";

/// Server and capabilities, by the names that the file gives them.
const MODES: [(&str, Flavor, Capabilities); 6] = [
    ("mysql", Flavor::Mysql, Capabilities::empty()),
    ("mysql-ok", Flavor::Mysql, Capabilities::DEPRECATE_EOF),
    ("mariadb", Flavor::Mariadb, Capabilities::empty()),
    ("mariadb-ok", Flavor::Mariadb, Capabilities::DEPRECATE_EOF),
    ("mariadb-extended", Flavor::Mariadb, EXTENDED),
    ("mariadb-extended-ok", Flavor::Mariadb, EXTENDED.union(Capabilities::DEPRECATE_EOF)),
];
const EXTENDED: Capabilities = Capabilities::MARIADB_PROGRESS
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_EXTENDED_METADATA)
    .union(Capabilities::MARIADB_CACHE_METADATA);

#[test]
#[ignore = "rewrites the recorded replies"]
fn record_replies() {
    let mut file = Recordings::read(Path::new(FILE));
    for (mode, flavor, capabilities) in MODES {
        // Its own, because it is shut down in the end.
        let server = Server::start(Options::of(flavor)).expect("a server");
        server.root_sql(SETTING).expect("the setting");
        let mut take = Take { mode, server: &server, capabilities, file: &mut file };
        if mode.contains("extended") {
            take.bulk();
            continue;
        }
        take.statements();
        take.changes_of_user();
        take.replication();
        take.administration();
    }
    file.write(Path::new(FILE));
}

/// One server, one set of capabilities.
struct Take<'a> {
    mode: &'static str,
    server: &'a Server,
    capabilities: Capabilities,
    file: &'a mut Recordings,
}

impl Take<'_> {
    fn session(&self, login: Login) -> Session {
        let mut options = RawOptions::default();
        options.capabilities |= self.capabilities | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS;
        // Who has this bit is not MariaDB.
        options.capabilities.set(Capabilities::LONG_PASSWORD, !self.capabilities.intersects(EXTENDED));
        let raw = Raw::login_with(self.server.address(), login, &options).unwrap_or_else(|err| panic!("{err:02x?}"));
        Session { raw, lines: Vec::new() }
    }

    fn keep(&mut self, name: &str, command: Command, session: Session) {
        self.file.put(&format!("{} {name} {:02x}", self.mode, command as u8), session.lines);
    }

    /// A command whose reply has one packet.
    fn one(&mut self, name: &str, login: Login, command: Command, body: &[u8]) {
        let mut session = self.session(login);
        session.raw.command(command as u8, body);
        session.read();
        self.keep(name, command, session);
    }

    fn statements(&mut self) {
        let mut session = self.session(APP);
        let id = session.prepare("INSERT INTO rec.one VALUES (1)");
        session.raw.command(Command::StmtExecute as u8, &[&id[..], &[0, 1, 0, 0, 0]].concat());
        session.read();
        self.keep("execute_err", Command::StmtExecute, session);

        let mut session = self.session(APP);
        let id = session.prepare("SELECT 9223372036854775800 + 5 * a FROM rec.three");
        session.raw.command(Command::StmtExecute as u8, &[&id[..], &[0, 1, 0, 0, 0]].concat());
        session.read_up_to_err();
        self.keep("execute_err_in_rows", Command::StmtExecute, session);

        let mut session = self.session(APP);
        session.raw.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE rec.refusing");
        session.send_file();
        self.keep("infile_err", Command::Query, session);

        // MySQL does not prepare this.
        if self.server.flavor() == Flavor::Mariadb {
            for (name, table) in [("execute_infile", "many"), ("execute_infile_err", "refusing")] {
                let mut session = self.session(APP);
                let id = session.prepare(&format!("LOAD DATA LOCAL INFILE 'f' INTO TABLE rec.{table}"));
                session.raw.command(Command::StmtExecute as u8, &[&id[..], &[0, 1, 0, 0, 0]].concat());
                session.send_file();
                self.keep(name, Command::StmtExecute, session);
            }
        }

        let unknown = 0x7F00_0001u32.to_le_bytes();
        self.one("stmt_reset_err", APP, Command::StmtReset, &unknown);
        self.one("set_option_err", APP, Command::SetOption, &[7, 0]);
        let mut session = self.session(EXPIRED);
        session.raw.command(Command::Ping as u8, b"");
        session.raw.ok();
        self.one("reset_connection_err", EXPIRED, Command::ResetConnection, b"");
        self.one("statistics_err", EXPIRED, Command::Statistics, b"");
    }

    fn changes_of_user(&mut self) {
        let wrong = Login { user: ETL.user, password: "wrong" };
        // The one before leaves what the next finds in the server's cache.
        for (name, login) in [("change_user_full", ETL), ("change_user", ETL), ("change_user_err", wrong)] {
            if name == "change_user_full" {
                self.server.root_sql("FLUSH PRIVILEGES").expect("an empty cache");
            }
            let mut session = self.session(APP);
            session.change_user(login);
            // MariaDB has no cache, and so no second way.
            if name != "change_user_full" || self.server.flavor() == Flavor::Mysql {
                self.keep(name, Command::ChangeUser, session);
            }
        }
    }

    fn replication(&mut self) {
        self.one("register_slave_err", NOBODY, Command::RegisterSlave, &[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        // The server finds out only after the first event that this replica does not know of checksums.
        let mut session = self.session(APP);
        let from_the_start = [&[4, 0, 0, 0, 1, 0, 77, 0, 0, 0][..], b"binlog.000001"].concat();
        session.raw.command(Command::BinlogDump as u8, &from_the_start);
        session.read_until_closed();
        self.keep("binlog_err_behind", Command::BinlogDump, session);
        if self.server.flavor() == Flavor::Mariadb {
            self.one("binlog_gtid_gone", APP, Command::BinlogDumpGtid, &dump([0; 16], 1));
            return;
        }
        let executed = self.server.root_sql("SELECT @@global.gtid_executed").expect("its transactions");
        let (uuid, numbers) = executed.trim().split_once(':').expect("a source and its numbers");
        let last: u64 = numbers.rsplit('-').next().and_then(|last| last.parse().ok()).expect("a number");
        let digits: Vec<u32> = uuid.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
        let source: [u8; 16] = bytes.try_into().expect("sixteen bytes");

        for (name, knows_checksums) in [("binlog_gtid", true), ("binlog_gtid_err_behind", false)] {
            let mut session = self.session(APP);
            if knows_checksums {
                session.raw.query("SET @source_binlog_checksum = 'CRC32'");
                session.raw.ok();
            }
            session.raw.command(Command::BinlogDumpGtid as u8, &dump(source, last));
            session.read_until_closed();
            self.keep(name, Command::BinlogDumpGtid, session);
        }
        // It has more than the server.
        self.one("binlog_gtid_err", APP, Command::BinlogDumpGtid, &dump(source, last + 100));
        self.one("binlog_gtid_denied", NOBODY, Command::BinlogDumpGtid, &dump(source, last));
    }

    fn administration(&mut self) {
        self.one("debug_err", NOBODY, Command::Debug, b"");
        if self.server.flavor() == Flavor::Mariadb {
            let victim = self.session(APP);
            self.one("process_kill", APP, Command::ProcessKill, &victim.raw.id().to_le_bytes());
            self.one("shutdown_denied", NOBODY, Command::Shutdown, &[0]);
        }
        self.one("shutdown", APP, Command::Shutdown, &[0]);
    }

    /// MariaDB's array binding, of a statement that gives rows.
    fn bulk(&mut self) {
        let mut session = self.session(APP);
        let id = session.prepare("INSERT INTO rec.many VALUES (?) RETURNING a");
        let rows = [128, 0, 3, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0];
        session.raw.command(Command::StmtBulkExecute as u8, &[&id[..], &rows].concat());
        session.raw.command(Command::Ping as u8, b"");
        session.read_until_ok();
        self.keep("bulk_rows", Command::StmtBulkExecute, session);

        let mut session = self.session(APP);
        let id = session.prepare("INSERT INTO rec.one VALUES (?) RETURNING a");
        let second_is_there = [128, 0, 3, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0];
        session.raw.command(Command::StmtBulkExecute as u8, &[&id[..], &second_is_there].concat());
        session.read_up_to_err();
        self.keep("bulk_err_in_rows", Command::StmtBulkExecute, session);

        // Not of a statement that asks for a file.
        let mut session = self.session(APP);
        let id = session.prepare("LOAD DATA LOCAL INFILE 'f' INTO TABLE rec.many (@x) SET a = ?");
        session.raw.command(Command::StmtBulkExecute as u8, &[&id[..], &rows].concat());
        session.read();
        self.keep("bulk_unsafe", Command::StmtBulkExecute, session);
    }
}

/// What COM_BINLOG_DUMP_GTID has behind its byte: all that is not among a source's first transactions, up to this one.
fn dump(source: [u8; 16], upto: u64) -> Vec<u8> {
    const NON_BLOCKING: [u8; 2] = [1, 0];
    let server_id = 77u32.to_le_bytes();
    let no_name = 0u32.to_le_bytes();
    let set =
        [&1u64.to_le_bytes()[..], &source, &1u64.to_le_bytes(), &1u64.to_le_bytes(), &upto.to_le_bytes()].concat();
    let size = u32::try_from(set.len()).expect("a few bytes").to_le_bytes();
    [&NON_BLOCKING[..], &server_id, &no_name, &4u64.to_le_bytes(), &size, &set].concat()
}

/// A connection, and what came over it so far, as the file has it.
struct Session {
    raw: Raw,
    lines: Vec<String>,
}

impl Session {
    fn note(&mut self, payload: &[u8]) {
        let header = Header { length: payload.len(), sequence: self.raw.sequence }.bytes();
        let mut line = String::new();
        for byte in header.iter().chain(payload) {
            write!(line, "{byte:02x}").expect("room");
        }
        self.lines.push(line);
    }

    fn read(&mut self) -> Vec<u8> {
        let payload = self.raw.read().expect("a packet");
        self.note(&payload);
        payload
    }

    fn read_until_closed(&mut self) {
        while let Ok(payload) = self.raw.read() {
            self.note(&payload);
        }
    }

    fn read_up_to_err(&mut self) {
        while self.read().first() != Some(&0xFF) {}
    }

    /// Up to the OK of a PING that was sent behind, which is left out.
    fn read_until_ok(&mut self) {
        self.read();
        loop {
            let payload = self.raw.read().expect("a packet");
            if self.raw.sequence == 1 {
                return;
            }
            self.note(&payload);
        }
    }

    /// Here the client sends something.
    fn turn(&mut self) {
        self.lines.push("turn".to_owned());
    }

    /// The server asks for a file, gets one, and says what became of it.
    fn send_file(&mut self) {
        assert_eq!(self.read().first(), Some(&0xFB), "a request for a file");
        self.turn();
        self.raw.write(2, b"1\n");
        self.raw.write(3, b"");
        self.read();
    }

    /// The id of a statement; its definitions are read.
    fn prepare(&mut self, sql: &str) -> [u8; 4] {
        self.raw.command(Command::StmtPrepare as u8, sql.as_bytes());
        let first = self.raw.read().expect("a statement");
        assert_eq!(first.first(), Some(&0), "{sql}: {}", String::from_utf8_lossy(&first));
        self.raw.command(Command::Ping as u8, b"");
        // The OK of the PING begins a reply; the definitions do not.
        loop {
            self.raw.read().expect("a packet");
            if self.raw.sequence == 1 {
                break;
            }
        }
        *first[1..].first_chunk().expect("an id")
    }

    /// As a client of the proxy's does it: with a plugin that nobody has.
    fn change_user(&mut self, login: Login) {
        let change = ChangeUser {
            user: login.user.as_bytes(),
            auth_response: b"",
            database: b"",
            charset: Some(45),
            auth_plugin: Some(b"a_plugin_that_nobody_has"),
            attributes: None,
        };
        self.raw.write(0, &change.encode(Capabilities::PLUGIN_AUTH));
        let (mut plugin, mut scramble) = (Vec::new(), Vec::new());
        loop {
            let packet = self.read();
            let answer = match AuthPacket::decode(&packet) {
                AuthPacket::Ok | AuthPacket::Err => return,
                AuthPacket::Switch { plugin: asked, data } => {
                    plugin = asked.to_vec();
                    scramble = wire::scramble(data).to_vec();
                    proof(&plugin, login.password.as_bytes(), &scramble)
                }
                AuthPacket::MoreData([3]) => continue,
                AuthPacket::MoreData([4]) => vec![2],
                AuthPacket::MoreData(key) => encrypt(key, login.password, &scramble),
                other => panic!("not known here: {other:?} ({})", String::from_utf8_lossy(&plugin)),
            };
            self.turn();
            self.raw.write(self.raw.sequence.wrapping_add(1), &answer);
        }
    }
}

/// The file: comments, then titles with their lines.
struct Recordings {
    comments: String,
    replies: Vec<(String, Vec<String>)>,
}

impl Recordings {
    fn read(path: &Path) -> Recordings {
        let text = std::fs::read_to_string(path).expect("the recorded replies");
        let mut all = Recordings { comments: String::new(), replies: Vec::new() };
        for line in text.lines() {
            match (line.strip_prefix("@ "), all.replies.last_mut()) {
                (Some(title), _) => all.replies.push((title.to_owned(), Vec::new())),
                (None, Some((_, lines))) => lines.push(line.to_owned()),
                (None, None) => all.comments.extend([line, "\n"]),
            }
        }
        all
    }

    fn put(&mut self, title: &str, lines: Vec<String>) {
        match self.replies.iter_mut().find(|(other, _)| other == title) {
            Some((_, old)) => *old = lines,
            None => self.replies.push((title.to_owned(), lines)),
        }
    }

    fn write(&self, path: &Path) {
        let mut text = self.comments.clone();
        for (title, lines) in &self.replies {
            writeln!(text, "@ {title}\n{}", lines.join("\n")).expect("room");
        }
        std::fs::write(path, text).expect("writing");
    }
}
