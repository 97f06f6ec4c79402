//! A process that this program started, and that ends with it.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, ChildStdout, Command, Stdio};

/// Killed when dropped. It is in a process group of its own, so that Ctrl-C reaches only us and we decide when
/// it ends; and the kernel kills it when we are killed ourselves.
#[derive(Debug)]
pub struct Child {
    process: Process,
    name: String,
    log: PathBuf,
}

/// What becomes of the child's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Log,
    Pipe,
}

impl Child {
    /// Starts a program; what it writes goes to `NAME.log` in `folder`.
    pub fn start(name: &str, program: &Path, arguments: &[String], folder: &Path, output: Output) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program).args(arguments);
        command.stdin(Stdio::null()).stderr(file.try_clone()?).current_dir(folder).process_group(0);
        match output {
            Output::Log => command.stdout(file),
            Output::Pipe => command.stdout(Stdio::piped()),
        };
        let process = command.spawn().context("cannot start setpriv (Debian: apt-get install util-linux)")?;
        Ok(Self { process, name: name.to_owned(), log })
    }

    /// The id of the program itself: setpriv replaces itself by it.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// An error, with the end of what the program wrote, if it has ended.
    pub fn still_runs(&mut self) -> Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}: {}", self.name, self.last_words()),
        }
    }

    /// Waits for the end of a program that ends by itself. Not a success: its status and what it wrote.
    pub fn wait(&mut self) -> Result<()> {
        let status = self.process.wait()?;
        if !status.success() {
            bail!("{} ended with {status}: {}", self.name, self.last_words());
        }
        Ok(())
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    pub fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(5)..].join(" | ")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing left to do about it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
