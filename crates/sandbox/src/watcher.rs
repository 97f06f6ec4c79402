//! The process between us and a server, which cleans up when we are gone.
//!
//! It is a `sh` in its own process group (so that Ctrl-C does not reach it) that reads commands from a pipe whose other
//! end only we hold. When we end, by whatever signal, the kernel closes the pipe: the watcher reads the end of the file,
//! kills the server and removes its folder. No signal handler and no `atexit` would survive a `kill -9`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::shell;

/// `$1` is the server's folder. It may hold the scripts `term` and `kill` for servers that are not our own process (Docker).
const SCRIPT: &str = r#"
folder=$1
pid=
end() {
  if [ -n "$pid" ]; then kill -KILL "$pid"; wait "$pid"; pid=; fi
  if [ -f "$folder/kill" ]; then sh "$folder/kill"; fi
}
trap 'end; rm -rf -- "$folder"' EXIT
trap 'exit 1' HUP INT TERM
while read -r command; do
  case $command in
    start) sh "$folder/start" </dev/null >>"$folder/log" 2>&1 & pid=$!; echo "$pid" ;;
    term) if [ -f "$folder/term" ]; then sh "$folder/term"; else kill -TERM "$pid"; fi >/dev/null; echo done ;;
    kill) end >/dev/null; echo done ;;
  esac
done
"#;

/// Holds a server's folder and its process. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct Watcher {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Watcher {
    /// From now on `folder` is removed when we end.
    pub(crate) fn spawn(folder: &Path) -> Result<Self> {
        let complaints = File::create(folder.join("watcher.log")).context("making the watcher's log")?;
        let mut child = Command::new("sh")
            .args(["-c", SCRIPT, "tollgate-sandbox-watcher"])
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not our standard error: whoever reads it would wait for the watcher too.
            .stderr(complaints)
            .process_group(0)
            .spawn()
            .context("starting the watcher (sh)")?;
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("the watcher has no standard output")?);
        Ok(Self { child, commands, answers })
    }

    /// Starts what the command says, as the server of this folder, and gives its process id.
    pub(crate) fn start(&mut self, folder: &Path, command: &Command) -> Result<u32> {
        fs::write(folder.join("start"), shell::exec_line(command)).context("writing the start script")?;
        let pid = self.ask("start")?;
        pid.parse().with_context(|| format!("the watcher answered `{pid}` to start"))
    }

    /// Asks the server to stop; it may take its time.
    pub(crate) fn terminate(&mut self) -> Result<()> {
        self.ask("term").map(drop)
    }

    /// Ends the server now. Nothing happens if it has ended.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.ask("kill").map(drop)
    }

    fn ask(&mut self, command: &str) -> Result<String> {
        let commands = self.commands.as_mut().context("the watcher was dismissed")?;
        writeln!(commands, "{command}").context("the watcher has gone")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context("reading the watcher's answer")?;
        ensure!(!answer.is_empty(), "the watcher has gone");
        Ok(answer.trim().to_owned())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.commands.take());
        let _ = self.child.wait();
    }
}
