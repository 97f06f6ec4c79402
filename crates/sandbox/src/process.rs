//! Running other programs: their output on failure, their progress while they run, and whether a process still lives.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::progress::Progress;

/// What the program printed; an error with what it said if it failed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = display(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("running {name}"))?;
    if !output.status.success() {
        bail!("{name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs it to its end, showing `state()` meanwhile. Its output is shown only if it fails.
pub(crate) fn run(command: &mut Command, progress: &mut Progress, state: impl Fn() -> String) -> Result<()> {
    let name = display(command);
    let mut log = tempfile::tempfile().context("making a temporary file")?;
    let (out, err) = (log.try_clone()?, log.try_clone()?);
    let mut child = command.stdout(out).stderr(err).spawn().with_context(|| format!("running {name}"))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        progress.update(&state());
        thread::sleep(Duration::from_millis(50));
    };
    if !status.success() {
        bail!("{name} failed ({status}):\n{}", tail(&mut log, 3000));
    }
    Ok(())
}

/// Whether the process runs; one that has ended and was not yet waited for does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    if Path::new("/proc/self/stat").exists() {
        // The state follows the name, which stands in brackets and may hold anything.
        let state = fs::read_to_string(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()));
        return state.is_some_and(|state| !matches!(state, 'Z' | 'X'));
    }
    i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// The last `bytes` of a log.
pub(crate) fn tail(file: &mut File, bytes: u64) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut text = Vec::new();
    let _ = file.seek(SeekFrom::Start(length.saturating_sub(bytes)));
    let _ = file.read_to_end(&mut text);
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// The program's name for messages: the arguments may be long and hold passwords.
fn display(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
