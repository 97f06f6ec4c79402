//! The proxy as a process of its own: this program once more, which then is `tollgate run`.
//!
//! It is not in our process group, so that Ctrl-C reaches only the demo, which stops its clients first. Its standard input
//! is a pipe that we hold: when it ends, we are gone, by whatever signal, and the proxy ends too.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use sandbox::{ETL, TOLLGATE};
use tempfile::TempDir;

/// The first argument of the second self; the second is the folder with its `proxy.yaml`.
pub(crate) const ARGUMENT: &str = "__proxy";

/// The variable that holds the password of the proxy's own user.
const PASSWORD: &str = "TOLLGATE_PROBE_PASSWORD";
const START_DEADLINE: Duration = Duration::from_secs(30);
/// More than `drain.deadline` below.
const END_DEADLINE: Duration = Duration::from_secs(15);
/// The gate's threshold.
pub(crate) const THRESHOLD: Duration = Duration::from_secs(1);
/// How much of its log is kept, to be shown if it dies.
const LOG_LINES: usize = 30;

/// The second self.
pub(crate) fn main(folder: Option<OsString>) -> ExitCode {
    let Some(folder) = folder.map(PathBuf::from) else {
        eprintln!("demo: {ARGUMENT} is for the demo's own use");
        return ExitCode::FAILURE;
    };
    let config = folder.join("proxy.yaml");
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = fs::remove_dir_all(&folder);
        std::process::exit(1);
    });
    tollgate::cli::main_with([OsString::from("tollgate"), "run".into(), "--config".into(), config.into()])
}

/// The first self's view of it. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct ProxyProcess {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) http: SocketAddr,
    log: Arc<Mutex<Log>>,
    servers: [SocketAddr; 2],
    /// How often proxy.yaml was changed.
    changes: u64,
    /// Removed with us.
    folder: TempDir,
}

/// What the gate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Warn,
    Enforce,
}

impl Mode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Mode::Warn => "warn",
            Mode::Enforce => "enforce",
        }
    }
}

/// What it has said: where it listens, and the last lines.
#[derive(Debug, Default)]
struct Log {
    address: Option<SocketAddr>,
    http: Option<SocketAddr>,
    /// How often it has taken up another proxy.yaml.
    reloads: u64,
    last: VecDeque<String>,
}

impl ProxyProcess {
    pub(crate) async fn start(primary: SocketAddr, replica: SocketAddr) -> Result<ProxyProcess> {
        let servers = [primary, replica];
        let folder = tempfile::Builder::new().prefix("tollgate-demo-").tempdir().context("making a folder")?;
        write_yaml(folder.path(), servers, Mode::Warn)?;
        let mut child = spawn(folder.path())?;
        let log = Arc::new(Mutex::new(Log::default()));
        let stderr = child.stderr.take().context("the proxy has no log")?;
        thread::spawn({
            let log = Arc::clone(&log);
            move || follow(stderr, &log)
        });
        let mut this = ProxyProcess { child, address: primary, http: primary, log, servers, changes: 0, folder };
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            if let Some(death) = this.death() {
                bail!("{death}");
            }
            let Log { address, http, .. } = *this.log();
            if let (Some(address), Some(http)) = (address, http) {
                (this.address, this.http) = (address, http);
                return Ok(this);
            }
            ensure!(Instant::now() < deadline, "it did not say where it listens; its log:\n{}", this.last_lines());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Where an operator would write.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("proxy.yaml")
    }

    /// Edits proxy.yaml, as an operator would. The proxy takes it up by itself.
    pub(crate) fn set_gate(&mut self, mode: Mode) -> Result<()> {
        write_yaml(self.folder.path(), self.servers, mode)?;
        self.changes += 1;
        Ok(())
    }

    /// Whether it has taken up every change.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.log().reloads >= self.changes
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What to say if it is not running any more.
    pub(crate) fn death(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(format!("the proxy ended ({status}); its log:\n{}", self.last_lines())),
            Err(error) => Some(format!("the proxy cannot be watched: {error}")),
        }
    }

    /// SIGTERM, and what it has to say for itself.
    pub(crate) fn end(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            // Told already, as a death.
            ensure!(!status.success(), "the proxy ended by itself");
            return Ok(());
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("the proxy has no process id")?;
        kill_process(pid, Signal::TERM).context("sending SIGTERM to the proxy")?;
        let deadline = Instant::now() + END_DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the proxy did not end well ({status}); its log:\n{}", self.last_lines());
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the proxy did not drain; its log:\n{}", self.last_lines());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn last_lines(&self) -> String {
        self.log().last.iter().cloned().collect::<Vec<_>>().join("\n")
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &Path) -> Result<Child> {
    let program = std::env::current_exe().context("finding this program")?;
    Command::new(program)
        .arg(ARGUMENT)
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .env(PASSWORD, TOLLGATE.password)
        .process_group(0)
        .spawn()
        .context("starting it")
}

/// Renamed into place, so that it is never half there.
fn write_yaml(folder: &Path, servers: [SocketAddr; 2], mode: Mode) -> Result<()> {
    let beside = folder.join("proxy.yaml.new");
    fs::write(&beside, proxy_yaml(servers, mode)).context("writing proxy.yaml")?;
    fs::rename(beside, folder.join("proxy.yaml")).context("renaming proxy.yaml into place")
}

/// What people would write, with ports from the system: the one who reads ranges for a report yields to everybody, and whoever
/// writes as the job's user must not make the replica late.
fn proxy_yaml([primary, replica]: [SocketAddr; 2], mode: Mode) -> String {
    let (user, threshold) = (TOLLGATE.user, THRESHOLD.as_millis());
    format!(
        "listen: 127.0.0.1:0\n\
         upstream: {{ address: \"{primary}\", replicas: [\"{replica}\"] }}\n\
         probe:\n  \
           user: {user}\n  \
           password: \"env:{PASSWORD}\"\n  \
           heartbeat: {{ table: tollgate.heartbeat, create: true }}\n\
         admin: {{ http: 127.0.0.1:0 }}\n\
         drain: {{ wait: 0s, deadline: 5s }}\n\
         log: {{ format: json }}\n\
         defaults: {{ max_delay: 60s }}\n\
         gates:\n  \
           replication_lag: {{ threshold: {threshold}ms, control: paced, match: {{ user: {} }}, mode: {} }}\n\
         rules:\n\
         - {{ id: reports-yield, match: {{ scope: report }}, do: {{ rejection_ratio: 0.9 }}, permanent: true }}\n\
         - {{ id: billing-mostly-passes, match: {{ scope: billing }}, do: {{ rejection_ratio: 0.1 }}, permanent: true }}\n",
        ETL.user,
        mode.as_str()
    )
}

fn follow(stderr: ChildStderr, log: &Mutex<Log>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.address = log.address.or_else(|| field(&line, "listening", "listen"));
        log.http = log.http.or_else(|| field(&line, "health and metrics", "http"));
        log.reloads += u64::from(is_message(&line, "proxy.yaml is in force"));
        if log.last.len() == LOG_LINES {
            log.last.pop_front();
        }
        log.last.push_back(line);
    }
}

fn is_message(line: &str, message: &str) -> bool {
    serde_json::from_str(line)
        .is_ok_and(|event: serde_json::Value| event.get("message").is_some_and(|said| said == message))
}

fn field(line: &str, message: &str, name: &str) -> Option<SocketAddr> {
    let event: serde_json::Value = serde_json::from_str(line).ok()?;
    if event.get("message")? != message {
        return None;
    }
    event.get(name)?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_the_log() {
        let line = r#"{"level":"INFO","message":"listening","listen":"127.0.0.1:41001"}"#;
        assert_eq!(field(line, "listening", "listen"), Some(SocketAddr::from(([127, 0, 0, 1], 41001))));
        for other in [r#"{"message":"ready","listen":"127.0.0.1:1"}"#, r#"{"message":"listening"}"#, "tollgate: no", ""]
        {
            assert_eq!(field(other, "listening", "listen"), None, "{other}");
        }
    }
}
