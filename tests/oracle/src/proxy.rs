//! The whole proxy with certain rules: what it lets through is seen on the server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use sandbox::Server;

use crate::case::Case;
use crate::client::{Address, Client};
use crate::evidence::{Event, Happened};
use crate::reading::Session;
use crate::verdict::Catalogue;
use crate::world::{BEHIND_ROUTINES, VIEWS};

/// A rule that rejects with certainty, and what it forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// `table: secret`.
    Table,
    /// `class: [write, ddl]`.
    WriteAndDdl,
    /// `class: ddl`.
    Ddl,
    /// The fingerprint of [`FORBIDDEN`].
    Fingerprint,
    /// `shape: no_where` for `class: write`.
    NoWhere,
    /// `class: [write, ddl]`, with the built-in exemption of heartbeat tables.
    WriteButHeartbeats,
}

/// The statement of [`Rule::Fingerprint`].
pub const FORBIDDEN: &str = "UPDATE secret SET a = a + 1";

impl Rule {
    pub const ALL: [Rule; 6] =
        [Rule::Table, Rule::WriteAndDdl, Rule::Ddl, Rule::Fingerprint, Rule::NoWhere, Rule::WriteButHeartbeats];

    pub fn name(self) -> &'static str {
        match self {
            Rule::Table => "table",
            Rule::WriteAndDdl => "write-and-ddl",
            Rule::Ddl => "ddl",
            Rule::Fingerprint => "fingerprint",
            Rule::NoWhere => "no-where",
            Rule::WriteButHeartbeats => "write-but-heartbeats",
        }
    }

    fn conditions(self, session: &Session) -> String {
        match self {
            Rule::Table => "table: secret".to_owned(),
            Rule::WriteAndDdl | Rule::WriteButHeartbeats => "class: [write, ddl]".to_owned(),
            Rule::Ddl => "class: ddl".to_owned(),
            Rule::Fingerprint => {
                let fingerprint = session.fingerprints_of(FORBIDDEN.as_bytes());
                format!("fingerprint: \"{}\"", fingerprint.first().map(ToString::to_string).unwrap_or_default())
            }
            Rule::NoWhere => "class: write, shape: no_where".to_owned(),
        }
    }

    /// A packet that must be refused, and one that must not.
    fn controls(self) -> (&'static str, &'static str) {
        match self {
            Rule::Table => ("SELECT * FROM secret", "SELECT * FROM pub"),
            Rule::WriteAndDdl => ("DELETE FROM t", "SELECT * FROM pub"),
            Rule::Ddl => ("DROP TABLE t", "DELETE FROM t"),
            Rule::Fingerprint => (FORBIDDEN, "UPDATE t SET a = a + 1"),
            Rule::NoWhere => ("DELETE FROM t", "DELETE FROM t WHERE id = 1"),
            Rule::WriteButHeartbeats => ("DELETE FROM t", "UPDATE heartbeat SET ts = 2"),
        }
    }

    /// What the server did although the rule forbids it.
    pub fn passed(self, case: &Case, happened: &Happened, session: &Session, catalogue: Catalogue) -> Option<String> {
        let tables = || happened.tables.iter().filter(|((_, name), _)| !is_hidden(name, case, catalogue));
        let wrote = |but: &str| {
            let mut written = tables().filter(|(name, access)| access.rows_written && name.1 != but);
            written.next().map(|((schema, name), _)| format!("{schema}.{name} was written"))
        };
        let ddl = || happened.ran_ddl().then(|| "DDL ran".to_owned());
        let found = match self {
            Rule::Table => {
                let mut touched = tables().filter(|((_, name), access)| name == "secret" && access.direct);
                touched.next().map(|((schema, name), _)| format!("{schema}.{name} was touched"))
            }
            Rule::WriteAndDdl => wrote("").or_else(ddl),
            Rule::Ddl => ddl(),
            Rule::Fingerprint => {
                let forbidden = session.fingerprints_of(FORBIDDEN.as_bytes());
                let is = |event: &&Event| {
                    let own = session.fingerprints_of(&event.text);
                    !event.failed && event.name == "update" && own.iter().any(|own| forbidden.contains(own))
                };
                happened.events.iter().find(is).map(|event| format!("`{}` ran", String::from_utf8_lossy(&event.text)))
            }
            Rule::NoWhere => {
                // The server cuts its text at bytes that are no characters; then the packet's own stands in.
                let is_cut = case.packets().any(|packet| !packet.is_ascii());
                let has_where = |event: &Event| {
                    let shows = event.text.to_ascii_uppercase().windows(5).any(|word| word == b"WHERE");
                    shows || (is_cut && case.mentions("where"))
                };
                let changes = ["update", "delete", "update_multi", "delete_multi"];
                let is = |event: &&Event| {
                    !event.failed && event.level == 0 && changes.contains(&event.name.as_str()) && !has_where(event)
                };
                let ran = happened.events.iter().find(is).filter(|_| wrote("").is_some());
                ran.map(|event| format!("`{}` ran", String::from_utf8_lossy(&event.text)))
            }
            Rule::WriteButHeartbeats => wrote("heartbeat").or_else(ddl),
        };
        found.map(|what| format!("rule {}: {what}", self.name()))
    }
}

/// Whether a proxy without a catalogue cannot know that a packet touches this table: a routine or a trigger does, or the
/// packet names a view of it.
fn is_hidden(table: &str, case: &Case, catalogue: Catalogue) -> bool {
    let by_view = VIEWS.iter().any(|(view, below)| below.contains(&table) && case.mentions(view));
    catalogue == Catalogue::Unknown && (BEHIND_ROUTINES.contains(&table) || by_view)
}

/// A running proxy before a server, with one rule for the workers' users; it ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    folder: PathBuf,
    pub address: Address,
}

impl Proxy {
    /// `None`: the binary was not built beside this program.
    pub fn start(server: &Server, rule: Rule, workers: usize) -> Result<Option<Proxy>> {
        let Some(program) = program() else { return Ok(None) };
        let folder = server.data_dir().with_file_name(format!("proxy-{}", rule.name()));
        fs::create_dir_all(&folder)?;
        let session = Session::new(server.version());
        let users: Vec<String> = (0..workers).map(crate::world::schema).collect();
        // Elsewhere a heartbeat is a write like any other.
        let is_exempt = |_: &&String| rule == Rule::WriteButHeartbeats;
        let heartbeats: Vec<String> =
            users.iter().filter(is_exempt).map(|schema| format!("{schema}.heartbeat")).collect();
        let yaml = format!(
            "listen: 127.0.0.1:0\nadmin: {{ http: 127.0.0.1:0 }}\nstate_dir: ./state\ndrain: {{ wait: 0s, deadline: 1s }}\n\
             log: {{ format: json, level: info }}\nupstream: {{ address: \"{}\" }}\ndefaults: {{ reject_pause: 0s }}\n\
             heartbeat_writers: {{ tables: [{}] }}\nrules:\n- {{ id: certain, match: {{ user: [{}], {} }}, do: {{ \
             rejection_ratio: 1 }}, action: reject, permanent: true }}\n",
            server.address(),
            heartbeats.join(", "),
            users.join(", "),
            rule.conditions(&session),
        );
        let path = folder.join("proxy.yaml");
        fs::write(&path, yaml)?;
        let mut child = Command::new(program)
            .args(["run", "--config"])
            .arg(&path)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting the proxy")?;
        let stderr = child.stderr.take().context("no log")?;
        let mut lines = BufReader::new(stderr).lines();
        let mut seen = String::new();
        let address = loop {
            let Some(Ok(line)) = lines.next() else { bail!("the proxy did not start: {seen}") };
            if let Some((_, rest)) = line.split_once("\"listen\":\"") {
                break rest.split('"').next().unwrap_or_default().parse()?;
            }
            seen.push_str(&line);
        };
        // It must not block on a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Some(Proxy { child, folder, address: Address::Tcp(address) }))
    }

    /// Shows that the rule works: one statement is refused, another is not.
    pub fn check(&self, rule: Rule) -> Result<()> {
        let mut client = Client::connect(&self.address, "o0", Some("o0"))?;
        let (refused, passed) = rule.controls();
        ensure!(client.rows(refused).is_err(), "rule {} lets its control through: {refused}", rule.name());
        client.rows(passed).with_context(|| format!("rule {} refuses {passed}", rule.name()))?;
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// `tollgate` beside this program, or where `TOLLGATE_BINARY` says.
fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("TOLLGATE_BINARY") {
        return Some(path.into());
    }
    let own = std::env::current_exe().ok()?;
    let folders = own.ancestors().skip(1).take(2);
    folders.map(|folder| folder.join("tollgate")).find(|path| path.is_file())
}
