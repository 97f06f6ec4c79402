//! Those who are measured: no proxy at all, HAProxy, the bare relay, Tollgate, and others that already run.

mod haproxy;
mod relay;
mod tollgate;

use crate::child::Child;
use crate::client::{Account, Client};
use crate::interrupt::Interrupt;
use crate::options::{Build, Options};
use crate::process::Reading;
use crate::sysbench::on_path;
use anyhow::{Context, Result, bail};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

const START_PATIENCE: Duration = Duration::from_secs(20);

/// What a contestant is in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// No proxy: what the others are divided by.
    Direct,
    Haproxy,
    /// The floor.
    Relay,
    RelayPerCore,
    /// Tollgate, in one or more builds: whom the aims are for.
    Subject,
    /// The last of the builds with rules, of which none matches.
    Ruled,
    /// Started by somebody else, shown beside the others.
    Outsider,
}

/// How to start a contestant.
#[derive(Clone, Debug)]
enum Launch {
    Nothing,
    Haproxy(PathBuf),
    Relay { program: PathBuf, per_core: bool },
    Tollgate { program: PathBuf, rules: u32 },
    Running { address: SocketAddr, pid: Option<u32> },
}

/// One who takes part, not yet started.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: String,
    pub role: Role,
    launch: Launch,
}

/// One who runs and takes connections.
#[derive(Debug)]
pub struct Contestant {
    pub entry: Entry,
    pub address: SocketAddr,
    /// `None` where there is no process, or we do not know it.
    pub pid: Option<u32>,
    child: Option<Child>,
}

/// Everything that starting a contestant needs.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub upstream: SocketAddr,
    pub account: &'a Account,
    pub folder: &'a Path,
    pub interrupt: &'a Interrupt,
}

/// Everybody at hand. Says who is missing and what gets it.
pub fn all(options: &Options, programs: &Path) -> Result<Vec<Entry>> {
    let entry = |name: &str, role, launch| Entry { name: name.to_owned(), role, launch };
    let mut all = vec![entry("direct", Role::Direct, Launch::Nothing)];
    match on_path("haproxy") {
        Some(program) => all.push(entry("haproxy", Role::Haproxy, Launch::Haproxy(program))),
        None => {
            eprintln!("bench: no haproxy here, so nothing is compared with it; get it with: apt-get install haproxy")
        }
    }
    let program = relay::program(programs)?;
    all.push(entry("relay", Role::Relay, Launch::Relay { program: program.clone(), per_core: false }));
    all.push(entry("relay-per-core", Role::RelayPerCore, Launch::Relay { program, per_core: true }));
    let builds = builds(options, programs);
    for build in &builds {
        all.push(entry(&build.name, Role::Subject, Launch::Tollgate { program: build.program.clone(), rules: 0 }));
    }
    if let (Some(rules), Some(build)) = (options.rules, builds.last()) {
        let launch = Launch::Tollgate { program: build.program.clone(), rules };
        all.push(entry(&format!("{}-rules", build.name), Role::Ruled, launch));
    }
    for outsider in &options.against {
        let launch = Launch::Running { address: outsider.address, pid: outsider.pid };
        all.push(entry(&outsider.name, Role::Outsider, launch));
    }
    Ok(all)
}

/// Those that were named, or the one beside this program.
fn builds(options: &Options, programs: &Path) -> Vec<Build> {
    let beside = programs.join("tollgate");
    match options.tollgate.as_slice() {
        [] if beside.is_file() => vec![Build { name: "tollgate".to_owned(), program: beside }],
        [] => {
            eprintln!("bench: no tollgate here, so it is not measured; get it with: cargo build --release -p tollgate");
            Vec::new()
        }
        named => named.to_vec(),
    }
}

/// Those that `--only` names, or else all of them.
pub fn chosen(mut all: Vec<Entry>, options: &Options) -> Vec<Entry> {
    let names: Vec<String> = all.iter().map(|entry| entry.name.clone()).collect();
    all.retain(|entry| options.wants(&entry.name, &names) && options.wants_role(entry.role, &entry.name));
    all
}

impl Entry {
    /// Starts it and waits until a login through it succeeds.
    pub fn start(&self, ground: Ground<'_>) -> Result<Contestant> {
        let listen = free_address()?;
        let (address, child, pid) = match &self.launch {
            Launch::Nothing => (ground.upstream, None, None),
            Launch::Running { address, pid } => (*address, None, *pid),
            Launch::Haproxy(program) => (listen, Some(haproxy::start(program, listen, ground)?), None),
            Launch::Relay { program, per_core } => {
                (listen, Some(relay::start(&self.name, program, *per_core, listen, ground)?), None)
            }
            Launch::Tollgate { program, rules } => {
                (listen, Some(tollgate::start(&self.name, program, *rules, listen, ground)?), None)
            }
        };
        let pid = child.as_ref().map(Child::pid).or(pid);
        let mut contestant = Contestant { entry: self.clone(), address, pid, child };
        contestant.wait_until_ready(ground).with_context(|| format!("{} does not start", self.name))?;
        Ok(contestant)
    }

    /// Whether a second one can be started, untouched by earlier runs.
    pub fn can_start_afresh(&self) -> bool {
        !matches!(self.launch, Launch::Nothing | Launch::Running { .. })
    }

    /// What exactly is measured.
    pub fn describe(&self) -> String {
        match &self.launch {
            Launch::Nothing => "no proxy".to_owned(),
            Launch::Running { address, .. } => format!("already running at {address}"),
            Launch::Haproxy(program) => haproxy::version(program),
            Launch::Relay { per_core: false, .. } => "copy_bidirectional on one shared tokio runtime".to_owned(),
            Launch::Relay { per_core: true, .. } => "the same on one tokio runtime a core, SO_REUSEPORT".to_owned(),
            Launch::Tollgate { program, rules } => {
                let rules = if *rules == 0 { String::new() } else { format!(", {rules} rules of which none matches") };
                format!("{}, built {} ago{rules}", program.display(), age(program))
            }
        }
    }
}

impl Contestant {
    pub fn thread_count(&self) -> Option<usize> {
        Some(Reading::of(self.pid?).ok()?.thread_count())
    }

    /// An error if its process has ended by itself.
    pub fn still_runs(&mut self) -> Result<()> {
        self.child.as_mut().map_or(Ok(()), Child::still_runs)
    }

    fn wait_until_ready(&mut self, ground: Ground<'_>) -> Result<()> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            let error = match Client::connect(self.address, ground.account, 1024) {
                Ok(client) => return client.quit(),
                Err(error) => error,
            };
            self.still_runs()?;
            if Instant::now() > deadline {
                let said = self.child.as_ref().map(Child::last_words).unwrap_or_default();
                return Err(
                    error.context(format!("no login through {} in {START_PATIENCE:?}; it said: {said}", self.address))
                );
            }
            if ground.interrupt.asked() {
                bail!("interrupted");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A port that is free now. Another program might take it before the contestant does; then that one says so.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// A stale build is the commonest way to measure nothing: show how old it is.
pub(crate) fn age(program: &Path) -> String {
    let modified = program.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::now());
    let minutes = modified.elapsed().unwrap_or_default().as_secs() / 60;
    if minutes < 120 { format!("{minutes} min") } else { format!("{} h", minutes / 60) }
}
