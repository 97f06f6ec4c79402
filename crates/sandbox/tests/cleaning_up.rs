//! Nothing is left behind: neither when a server is dropped, nor when its owner is killed with -9 or interrupted.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sandbox::{Options, Server};

/// Long enough for a loaded machine; it is not waited for where all is well.
const DEADLINE: Duration = Duration::from_secs(20);

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn wait_until_gone(pids: &[u32], folders: &[PathBuf]) -> Result<()> {
    let deadline = Instant::now() + DEADLINE;
    while pids.iter().any(|pid| is_alive(*pid)) || folders.iter().any(|folder| folder.exists()) {
        ensure!(Instant::now() < deadline, "still there after {DEADLINE:?}: {pids:?} or {folders:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Starts the program with servers, ends it with the signal, and looks for what is left. `before` is what a shell does first.
fn end_with(signal: &str, before: &str) -> Result<()> {
    let mut owner = Command::new("sh")
        .args(["-c", &format!("{before} exec \"$0\" up --mariadb"), env!("CARGO_BIN_EXE_sandbox")])
        .stdout(Stdio::piped())
        .spawn()
        .context("starting the sandbox program")?;
    let mut lines = BufReader::new(owner.stdout.take().context("no standard output")?).lines();
    let (mut pids, mut folders, mut ports) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(line) = lines.next().transpose()? {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, address, pid, socket, ..] = words.as_slice()
            && let Ok(pid) = pid.parse::<u32>()
        {
            pids.push(pid);
            ports.push((*address).to_owned());
            folders.push(Path::new(socket).parent().context("no folder")?.to_owned());
        }
        if line.starts_with("Ctrl-C") {
            break;
        }
    }
    ensure!(pids.len() == 3, "three servers were expected: {pids:?}");
    ensure!(pids.iter().all(|pid| is_alive(*pid)) && folders.iter().all(|folder| folder.is_dir()));
    ports.sort();
    ports.dedup();
    ensure!(ports.len() == 3, "ports are shared: {ports:?}");

    let sent = Command::new("kill").args([signal, &owner.id().to_string()]).status()?;
    ensure!(sent.success());
    wait_until_gone(&[owner.id()], &[])?;
    owner.wait()?;
    wait_until_gone(&pids, &folders)
}

#[test]
fn after_kill_9_of_the_owner() -> Result<()> {
    end_with("-KILL", "")
}

#[test]
fn after_ctrl_c() -> Result<()> {
    end_with("-INT", "")
}

/// As under `nohup … &`, and with some CI runners.
#[test]
fn after_ctrl_c_that_the_parent_ignores() -> Result<()> {
    end_with("-INT", "trap '' INT;")
}

#[test]
fn when_a_server_is_dropped() -> Result<()> {
    let server = Server::start(Options::mysql())?;
    let (pid, folder) = (server.pid()?, server.data_dir().parent().context("no folder")?.to_owned());
    drop(server);
    ensure!(!is_alive(pid) && !folder.exists(), "the drop did not wait for the end");
    Ok(())
}
