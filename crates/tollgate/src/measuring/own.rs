//! What the proxy measures on its own traffic.

use std::time::{Duration, Instant};

use admission::Gatekeeper;
use admission::gates::{Look, Took, Window};
use health::{Board, BuiltIn, Reading, Report};
use statement::Class;

/// Between two looks at how long things took.
const EVERY: Duration = Duration::from_millis(100);
/// How long a look counts: the delay of commits is the median of this.
const WINDOWS: usize = 10;

/// A single one may wait for a lock, and says nothing of what others would meet.
const SEVERAL: u64 = 2;

#[derive(Debug, Default)]
pub(super) struct Own {
    look: Look,
    last: Option<Instant>,
    windows: std::collections::VecDeque<Window>,
    /// Since when several are being committed and nothing has come back.
    hangs_since: Option<Instant>,
    /// How many had come back, at the last look.
    came_back: Option<u64>,
}

impl Own {
    pub(super) fn report(&mut self, keeper: &Gatekeeper, board: &mut Board, now: Instant) {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < EVERY) {
            return;
        }
        self.last = Some(now);
        if self.windows.len() >= WINDOWS {
            self.windows.pop_front();
        }
        let in_flight = keeper.gates().in_flight();
        let window = self.look.look(in_flight);
        let committing = in_flight.committing();
        let none_came_back = self.came_back.replace(committing.came_back) == Some(committing.came_back);
        match none_came_back && committing.run >= SEVERAL {
            true => _ = self.hangs_since.get_or_insert(now),
            false => self.hangs_since = None,
        }
        self.windows.push_back(window);
        let waiting = Reading::of(keeper.queue_length() as f64);
        let commits = self.commit_delay(now);
        for (metric, reading) in [(BuiltIn::QueueLength, waiting), (BuiltIn::CommitDelay, commits)] {
            let metric = metric.as_str().into();
            board.report(Report { metric, server: "proxy".into(), reading, at: now, applied: None });
        }
    }

    /// The server is another one: what the old one did, or did not, says nothing.
    pub(super) fn forget(&mut self) {
        self.windows.clear();
        self.hangs_since = None;
    }

    /// The median of the last second. What has not come back in all of it takes at least so long, and is no reason to let more come.
    fn commit_delay(&self, now: Instant) -> Reading {
        match (self.commits(), self.hangs_since) {
            (Some(took), _) => Reading::of(took.p50),
            (None, Some(since)) => Reading::of(now.saturating_duration_since(since).as_secs_f64()),
            (None, None) => Reading::Idle,
        }
    }

    /// Of the last second.
    pub(super) fn commits(&self) -> Option<Took> {
        self.all()?.commits()
    }

    pub(super) fn latencies(&self) -> Vec<(Class, Took)> {
        let Some(all) = self.all() else { return Vec::new() };
        Class::ALL.into_iter().filter_map(|class| Some((class, all.of(class)?))).collect()
    }

    fn all(&self) -> Option<Window> {
        let mut windows = self.windows.iter();
        let mut sum = windows.next()?.clone();
        windows.for_each(|window| sum.add(window));
        Some(sum)
    }
}
