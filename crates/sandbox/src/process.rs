//! Running other programs: their output on failure, their progress while they run, and whether a process still lives.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// The same of a program that may hang: it is ended at the deadline.
pub(crate) fn output_within(command: &mut Command, deadline: Duration) -> Result<String> {
    let name = display(command);
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?);
    let mut child = command.spawn().with_context(|| format!("running {name}"))?;
    let end = Instant::now() + deadline;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            bail!("{name} gave no answer within {deadline:?}");
        }
        thread::sleep(Duration::from_millis(20));
    };
    if !status.success() {
        bail!("{name} failed ({status}): {}", tail(&mut err, 3000));
    }
    Ok(tail(&mut out, u64::MAX))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deadline: Duration) -> Result<String> {
        output_within(Command::new("sh").args(["-c", script]), deadline)
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let error = shell("exec sleep 600", Duration::from_millis(50)).expect_err("it answered");
        assert!(error.to_string().contains("no answer within 50ms"), "{error:#}");
    }

    #[test]
    fn one_that_answers_is_heard() {
        let long = Duration::from_secs(600);
        assert_eq!(shell("echo 20.10", long).expect("it answers"), "20.10");
        let error = shell("echo no engine >&2; exit 3", long).expect_err("it failed");
        assert!(error.to_string().contains("no engine"), "{error:#}");
    }
}
