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

#[derive(Debug, Default)]
pub(super) struct Own {
    look: Look,
    last: Option<Instant>,
    windows: std::collections::VecDeque<Window>,
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
        self.windows.push_back(self.look.look(keeper.gates().in_flight()));
        let waiting = Reading::of(keeper.queue_length() as f64);
        let commits = self.commits().map_or(Reading::Idle, |took| Reading::of(took.p50));
        for (metric, reading) in [(BuiltIn::QueueLength, waiting), (BuiltIn::CommitDelay, commits)] {
            let metric = metric.as_str().into();
            board.report(Report { metric, server: "proxy".into(), reading, at: now, applied: None });
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
