//! Runs sysbench against an address and reads its figures.

pub mod output;

use crate::child::{Child, Output};
use crate::client::Account;
use crate::interrupt::Interrupt;
use anyhow::{Context, Result, bail};
use output::Outcome;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

pub const TABLES: u32 = 4;
pub const ROWS: u32 = 25_000;
/// What a run may take beyond its own time: connecting 64 threads on a busy machine, and the report.
const GRACE: Duration = Duration::from_secs(30);

/// One of sysbench's own Lua scripts, and how it sends its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    PointSelectText,
    PointSelectPrepared,
    ReadOnly,
    WriteOnly,
}

impl Mix {
    fn script(self) -> &'static str {
        match self {
            Self::PointSelectText | Self::PointSelectPrepared => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
            Self::WriteOnly => "oltp_write_only",
        }
    }

    fn prepared_statements(self) -> &'static str {
        match self {
            Self::PointSelectText => "disable",
            Self::PointSelectPrepared | Self::ReadOnly | Self::WriteOnly => "auto",
        }
    }
}

#[derive(Debug)]
pub struct Sysbench {
    pub program: PathBuf,
    pub account: Account,
    pub folder: PathBuf,
    pub interrupt: Interrupt,
}

/// The moments at which the caller reads what a run has used.
pub trait Watch {
    /// All connections are open; the clock starts.
    fn started(&mut self) -> Result<()>;
    /// The clock has stopped; the connections are still about to close.
    fn ended(&mut self) -> Result<()>;
}

impl Sysbench {
    /// Creates and fills the tables. Through this login, the password comes into the server's cache.
    pub fn prepare(&self, address: SocketAddr) -> Result<()> {
        let arguments = self.arguments(Mix::PointSelectText, address, &[], "prepare");
        let mut child = Child::start("sysbench-prepare", &self.program, &arguments, &self.folder, Output::Log)?;
        self.wait(&mut child, Instant::now() + Duration::from_secs(120))
    }

    /// A first login over plain TCP wants the server's RSA key, which sysbench's library can use and our own client
    /// cannot; then the server has the password in its cache. sysbench has no command that only logs in: this
    /// one fails to drop a table where there is none, which does no harm.
    pub fn fill_password_cache(&self, address: SocketAddr) -> Result<()> {
        let arguments = self.arguments(Mix::PointSelectText, address, &[], "cleanup");
        let mut child = Child::start("sysbench-login", &self.program, &arguments, &self.folder, Output::Log)?;
        match self.wait(&mut child, Instant::now() + GRACE) {
            Err(error) if self.interrupt.asked() => Err(error),
            _ => Ok(()),
        }
    }

    pub fn run(
        &self,
        mix: Mix,
        threads: u32,
        seconds: u32,
        address: SocketAddr,
        watch: &mut dyn Watch,
    ) -> Result<Outcome> {
        let options = [
            format!("--threads={threads}"),
            format!("--time={seconds}"),
            format!("--db-ps-mode={}", mix.prepared_statements()),
            "--histogram".to_owned(),
            "--rand-type=uniform".to_owned(),
        ];
        let arguments = self.arguments(mix, address, &options, "run");
        let mut child = Child::start("sysbench", &self.program, &arguments, &self.folder, Output::Pipe)?;
        let output = self.follow(&mut child, Duration::from_secs(seconds.into()) + GRACE, watch)?;
        child.wait().with_context(|| fatal_lines(&output))?;
        output::parse(&output)
    }

    /// Reads what sysbench prints while it runs. It ends with the run, at its deadline or when asked to stop; the
    /// caller's dropping the child then ends sysbench.
    fn follow(&self, child: &mut Child, patience: Duration, watch: &mut dyn Watch) -> Result<String> {
        let lines = BufReader::new(child.take_output().context("sysbench has no output")?).lines();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let deadline = Instant::now() + patience;
        let mut output = String::new();
        loop {
            match receiver.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => {
                    if line.starts_with(output::STARTED) {
                        watch.started()?;
                    } else if line.starts_with(output::ENDED) {
                        watch.ended()?;
                    }
                    output.push_str(&line);
                    output.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(output),
                Err(RecvTimeoutError::Timeout) if self.interrupt.asked() => bail!("interrupted"),
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                    bail!("sysbench did not end in {patience:?}: a connection hangs")
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn wait(&self, child: &mut Child, deadline: Instant) -> Result<()> {
        loop {
            if child.still_runs().is_err() {
                let said = child.last_words();
                return child.wait().with_context(|| said);
            }
            if self.interrupt.asked() {
                bail!("interrupted");
            }
            if Instant::now() > deadline {
                bail!("{} takes too long", child.log().display());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn arguments(&self, mix: Mix, address: SocketAddr, options: &[String], command: &str) -> Vec<String> {
        let mut arguments = vec![
            mix.script().to_owned(),
            format!("--mysql-host={}", address.ip()),
            format!("--mysql-port={}", address.port()),
            format!("--mysql-user={}", self.account.user),
            format!("--mysql-password={}", self.account.password),
            format!("--mysql-db={}", self.account.schema),
            format!("--tables={TABLES}"),
            format!("--table-size={ROWS}"),
        ];
        arguments.extend_from_slice(options);
        arguments.push(command.to_owned());
        arguments
    }
}

/// sysbench prints its errors among its output.
fn fatal_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| line.contains("FATAL")).take(2).collect();
    if lines.is_empty() { "sysbench failed".to_owned() } else { lines.join(" | ") }
}

/// Where a program is on the PATH, or in the folders of a superuser's programs, where Debian puts HAProxy.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|program: &PathBuf| is_file(program))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
