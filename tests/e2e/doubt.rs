//! Attempts of a hostile client to get a statement past a certain rule. The server is the judge.
//!
//! Every row of the tables runs twice. Directly on the server it must leave evidence there, so that the row is a real
//! attempt. Through the proxy, where a control packet is refused, it must be refused too and leave no evidence.

mod documented;
mod favours;
mod hidden;
mod locks;
mod new_sessions;
mod parsed;
mod readings;
mod schemas;
mod shown;

use sandbox::{APP, Flavor, Server};

use crate::harness::{Raw, RawOptions, Tollgate, upstream};
use crate::rules::{Answer, answer, run, run_bytes};

/// The servers on which a row is a real attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Both,
    MySql,
    MariaDb,
}

impl On {
    fn is(self, flavor: Flavor) -> bool {
        match self {
            On::Both => true,
            On::MySql => flavor != Flavor::Mariadb,
            On::MariaDb => flavor == Flavor::Mariadb,
        }
    }
}

/// One command of a client.
#[derive(Clone, Copy)]
enum Step {
    Query(&'static [u8]),
    /// COM_STMT_PREPARE.
    Prepare(&'static str),
    /// COM_STMT_EXECUTE of the last prepared statement.
    Execute,
    /// COM_INIT_DB.
    InitDb(&'static [u8]),
}

use Step::{Execute, InitDb, Prepare, Query};

struct Attempt {
    on: On,
    /// The character set of the session; nothing: utf8mb4.
    charset: &'static str,
    steps: &'static [Step],
}

const fn both(charset: &'static str, steps: &'static [Step]) -> Attempt {
    Attempt { on: On::Both, charset, steps }
}

const fn mysql(charset: &'static str, steps: &'static [Step]) -> Attempt {
    Attempt { on: On::MySql, charset, steps }
}

const fn mariadb(steps: &'static [Step]) -> Attempt {
    Attempt { on: On::MariaDb, charset: "utf8mb4", steps }
}

/// Attempts against the same rules.
struct Group {
    /// A schema of the test's own, and a second one of this name with `_other` behind it.
    schema: &'static str,
    /// Lines of configuration; `@` stands for the schema.
    yaml: &'static str,
    /// A statement that the rules refuse.
    control: &'static str,
    /// A statement that they do not refuse.
    harmless: &'static str,
    attempts: &'static [Attempt],
}

impl Group {
    fn run(&self) {
        self.run_once(|_| {});
    }

    /// As [`Group::run`], after a proxy has come into the state in which its rules or gates refuse.
    fn run_once(&self, is_ready: impl Fn(&Tollgate)) {
        for server in servers() {
            let proxy = self.proxy(server);
            is_ready(&proxy);
            for attempt in self.attempts {
                if attempt.on.is(server.flavor()) {
                    self.judge(server, &proxy, attempt);
                }
            }
        }
    }

    fn proxy(&self, server: &Server) -> Tollgate {
        let rules = self.yaml.replace('@', self.schema);
        Tollgate::start(&format!("{}defaults: {{ reject_pause: 0s, max_delay: 20ms }}\n{rules}", upstream(server)))
    }

    fn judge(&self, server: &'static Server, proxy: &Tollgate, attempt: &Attempt) {
        let shown = format!("{:?}, {}: {}", server.flavor(), attempt.charset, attempt.shown());
        let place = Place::new(server, self.schema);
        let before = place.evidence();
        attempt.run(&mut place.session(server.address(), attempt.charset));
        assert_ne!(place.evidence(), before, "does nothing on the server itself: {shown}");

        let place = Place::new(server, self.schema);
        let mut raw = place.session(proxy.address, "utf8mb4");
        assert!(run(&mut raw, self.control).is_refused(), "the control passed: {}", self.control);
        assert_eq!(run(&mut raw, self.harmless), Answer::Done, "{}", self.harmless);
        let before = place.evidence();
        let last = attempt.run(&mut place.session(proxy.address, attempt.charset));
        assert_eq!(place.evidence(), before, "went through ({last:?}): {shown}");
        assert!(last.is_refused(), "not refused ({last:?}): {shown}");
    }
}

impl Attempt {
    /// The answer to the last command.
    fn run(&self, raw: &mut Raw) -> Answer {
        let mut statement = 0;
        let mut last = Answer::Done;
        for step in self.steps {
            last = match step {
                Query(sql) => run_bytes(raw, sql),
                Prepare(sql) => match prepare(raw, sql) {
                    Ok(id) => {
                        statement = id;
                        Answer::Done
                    }
                    Err(error) => error,
                },
                Execute => {
                    raw.command(0x17, &[&statement.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat());
                    answer(raw)
                }
                InitDb(name) => {
                    raw.command(0x02, name);
                    answer(raw)
                }
            };
        }
        last
    }

    fn shown(&self) -> String {
        let shown = |step: &Step| match step {
            Query(sql) => sql[..sql.len().min(200)].escape_ascii().to_string(),
            Prepare(sql) => format!("COM_STMT_PREPARE {sql}"),
            Execute => "COM_STMT_EXECUTE".to_owned(),
            InitDb(name) => format!("COM_INIT_DB {}", name.escape_ascii()),
        };
        self.steps.iter().map(shown).collect::<Vec<_>>().join(" | ")
    }
}

/// Lines of configuration for a probe user that sees the whole catalogue.
macro_rules! seer {
    () => {
        "probe: { user: doubt_seer, password: probe-pw, catalogue_interval: 1h }\n"
    };
}
use seer;

fn grant_everything_to_seer(server: &Server) {
    let sql = "CREATE USER IF NOT EXISTS doubt_seer@'%' IDENTIFIED BY 'probe-pw'; \
               GRANT ALL PRIVILEGES ON *.* TO doubt_seer@'%'";
    server.root_sql(sql).expect("a probe user");
}

/// Prepares a statement without parameters.
fn prepare(raw: &mut Raw, sql: &str) -> Result<u32, Answer> {
    raw.command(0x16, sql.as_bytes());
    let reply = raw.read().expect("a reply");
    let Ok(prepared) = wire::PrepareOk::decode(&reply, wire::Capabilities::PROTOCOL_41) else {
        let (code, _, message) = crate::harness::read_err(&reply);
        return Err(Answer::Err(code, message));
    };
    if prepared.columns > 0 {
        (0..=prepared.columns).for_each(|_| drop(raw.read().expect("a definition")));
    }
    Ok(prepared.statement_id)
}

fn servers() -> [&'static Server; 2] {
    [&sandbox::mysql_shared().expect("a MySQL").primary, sandbox::mariadb_shared().expect("a MariaDB")]
}

/// The schemas of one test on one server, made anew.
struct Place {
    server: &'static Server,
    schema: &'static str,
}

impl Place {
    fn new(server: &'static Server, schema: &'static str) -> Place {
        let mut root = Raw::login(server.address(), APP);
        let other = format!("{schema}_other");
        // MariaDB keeps a table open that was named by its file.
        let mut statements = vec!["FLUSH TABLES".to_owned()];
        for schema in [schema, &other] {
            statements.push(format!("DROP DATABASE IF EXISTS {schema}"));
            statements.push(format!("CREATE DATABASE {schema}"));
            statements.push(format!("USE {schema}"));
            for table in ["t", "pub", "secret", "audit", "heartbeat"] {
                statements.push(format!("CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, v INT)"));
                statements.push(format!("INSERT INTO {table} (v) VALUES (1), (2)"));
            }
        }
        statements.push(format!("USE {schema}"));
        for body in [
            "FUNCTION f() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO audit (v) VALUES (3); RETURN 1; END",
            "PROCEDURE p() BEGIN INSERT INTO audit (v) VALUES (3); END",
            "PROCEDURE d() BEGIN CREATE TABLE made (i INT); END",
        ] {
            statements.push(format!("CREATE {body}"));
        }
        for sql in statements {
            assert_eq!(run(&mut root, &sql), Answer::Done, "{sql}");
        }
        Place { server, schema }
    }

    fn session(&self, address: std::net::SocketAddr, charset: &str) -> Raw {
        let options = RawOptions { database: Some(self.schema.as_bytes()), ..RawOptions::default() };
        let mut raw = Raw::login_with(address, APP, &options).expect("a login");
        assert_eq!(run(&mut raw, &format!("SET NAMES {charset}")), Answer::Done);
        raw
    }

    /// The rows of `t`, the tables that there are, and how often `secret` and `audit` were read or written, also if the
    /// statement failed afterwards.
    fn evidence(&self) -> String {
        let schema = self.schema;
        let rows = format!("SELECT COUNT(*), SUM(v) FROM {schema}.t");
        let tables = format!(
            "SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables WHERE table_schema = '{schema}'"
        );
        let reads = format!(
            "SELECT COALESCE(SUM(count_star), 0) FROM performance_schema.table_io_waits_summary_by_table \
             WHERE object_name IN ('secret', 'audit', '#mysql50#secret') AND object_schema LIKE '%{schema}%'"
        );
        self.server.root_sql(&format!("{rows}; {tables}; {reads}")).expect("evidence")
    }
}
