//! What is being done and how long it will still take, on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// In a log file a line now and then is enough.
const QUIET_INTERVAL: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Progress {
    begun: Instant,
    last_line: Option<Instant>,
    terminal: bool,
    runs: u32,
    done: u32,
}

impl Progress {
    pub fn new(runs: u32) -> Self {
        Self { begun: Instant::now(), last_line: None, terminal: stderr().is_terminal(), runs, done: 0 }
    }

    pub fn show(&mut self, round: u32, rounds: u32, what: &str) {
        let left = self.left().map_or(String::new(), |left| format!(" · about {} left", human(left)));
        let line = format!("round {round} of {rounds}{left} · {what}");
        let mut stderr = stderr();
        // Progress that cannot be shown is no reason to stop measuring.
        if self.terminal {
            let _ = write!(stderr, "\r\x1b[K{line}");
            let _ = stderr.flush();
        } else if self.last_line.is_none_or(|last| last.elapsed() > QUIET_INTERVAL) {
            let _ = writeln!(stderr, "{line}");
            self.last_line = Some(Instant::now());
        }
    }

    pub fn advance(&mut self) {
        self.done += 1;
    }

    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn finish(&self) {
        if self.terminal {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    fn left(&self) -> Option<Duration> {
        let share = f64::from(self.runs.saturating_sub(self.done)) / f64::from(self.done);
        Duration::try_from_secs_f64(self.elapsed().as_secs_f64() * share).ok()
    }
}

pub fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min {:02} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        for (seconds, expected) in [(0, "0 s"), (89, "89 s"), (90, "1 min 30 s"), (605, "10 min 05 s")] {
            assert_eq!(human(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn nothing_is_said_of_the_time_left_before_the_first_run() {
        assert_eq!(Progress::new(10).left(), None);
    }
}
