//! What is being waited for, told on standard error. Silent when nothing has to be waited for.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// One step that takes time. The first line appears at once, then its state: on a terminal in place, else every few seconds.
pub(crate) struct Progress {
    label: String,
    started: Instant,
    last: Instant,
    terminal: bool,
}

impl Progress {
    pub(crate) fn start(label: impl Into<String>) -> Self {
        let now = Instant::now();
        let this = Self { label: label.into(), started: now, last: now, terminal: stderr().is_terminal() };
        this.say(" …", !this.terminal);
        this
    }

    /// How far it is. Cheap to call often.
    pub(crate) fn update(&mut self, state: &str) {
        let every = if self.terminal { Duration::from_millis(200) } else { Duration::from_secs(5) };
        if self.last.elapsed() >= every {
            self.last = Instant::now();
            self.say(&format!(": {state} ({:.0?})", self.elapsed()), !self.terminal);
        }
    }

    pub(crate) fn done(self, state: &str) {
        self.say(&format!(": {state} ({:.1?})", self.elapsed()), true);
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Straight to the stream: the test harness captures `eprintln!` and would show it only after a failure.
    fn say(&self, state: &str, end_line: bool) {
        let (before, after) = if self.terminal { ("\r\x1b[K", if end_line { "\n" } else { "" }) } else { ("", "\n") };
        let text = format!("{before}sandbox: {}{state}{after}", self.label);
        // Nobody may be reading; that is no reason to fail.
        let _ = stderr().write_all(text.as_bytes());
        let _ = stderr().flush();
    }
}

/// A line by itself, for something that the reader ought to know.
pub(crate) fn note(text: &str) {
    let _ = stderr().write_all(format!("sandbox: {text}\n").as_bytes());
}

/// Bytes as MB for people.
pub(crate) fn megabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_for_people() {
        for (bytes, expected) in [(0, "0.0 MB"), (1_550_000, "1.5 MB"), (61_000_000, "61.0 MB")] {
            assert_eq!(megabytes(bytes), expected);
        }
    }
}
