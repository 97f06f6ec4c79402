//! Whether the upstream is still there, as far as lost sessions, failed dials and successful ones tell.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Doubts {
    added: Notify,
    times: Mutex<Times>,
}

#[derive(Debug, Default)]
struct Times {
    doubted: Option<Instant>,
    connected: Option<Instant>,
}

impl Doubts {
    pub(crate) fn add(&self, now: Instant) {
        self.with(|times| times.doubted = Some(now));
        self.added.notify_one();
    }

    /// Waits for a doubt that was not seen yet. Cancel safe.
    pub(crate) async fn wait(&self) {
        self.added.notified().await;
    }

    /// A connection has succeeded.
    pub(crate) fn resolve(&self, now: Instant) {
        self.with(|times| times.connected = Some(now));
    }

    pub(crate) fn are_resolved(&self) -> bool {
        self.with(|times| match (times.doubted, times.connected) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(doubted), Some(connected)) => connected > doubted,
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Times) -> T) -> T {
        change(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn later_connection_resolves_a_doubt() {
        let doubts = Doubts::default();
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        assert!(doubts.are_resolved());
        doubts.resolve(after(1));
        doubts.add(after(2));
        doubts.wait().await;
        assert!(!doubts.are_resolved());
        doubts.resolve(after(3));
        assert!(doubts.are_resolved());
        doubts.add(after(4));
        assert!(!doubts.are_resolved());
    }
}
