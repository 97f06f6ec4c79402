//! How many may wait at once: of one client, of one user and of all. A client with a fresh name for every query is still
//! one user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::policy::Queue;
use crate::stats::ClientStats;

#[derive(Debug, Default)]
pub(crate) struct Room {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    all: usize,
    by_user: HashMap<Box<[u8]>, usize>,
}

impl Room {
    /// `None`: too many wait already.
    pub(crate) fn enter(
        self: &Arc<Self>,
        user: &[u8],
        stats: &Arc<ClientStats>,
        bounds: &Queue,
        arrival: Instant,
    ) -> Option<Seat> {
        let mut state = self.lock();
        let of_user = state.by_user.get(user).copied().unwrap_or(0);
        let fits = state.all < bounds.total && of_user < bounds.per_user() && stats.wait(bounds.per_identity);
        if !fits {
            return None;
        }
        state.all += 1;
        match state.by_user.get_mut(user) {
            Some(count) => *count += 1,
            None => drop(state.by_user.insert(user.into(), 1)),
        }
        Some(Seat { room: Arc::clone(self), user: user.into(), stats: Arc::clone(stats), arrival, end: End::Left })
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().all
    }

    fn leave(&self, user: &[u8]) {
        let mut state = self.lock();
        state.all -= 1;
        if let Some(count) = state.by_user.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                state.by_user.remove(user);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Counts that are whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those who wait; it counts how the waiting ended.
#[derive(Debug)]
pub(crate) struct Seat {
    room: Arc<Room>,
    user: Box<[u8]>,
    stats: Arc<ClientStats>,
    arrival: Instant,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Passed,
    Rejected,
    /// Its client has gone, or killed it: until something else is known.
    Left,
}

impl Seat {
    pub(crate) fn ends(mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.leave(&self.user);
        self.stats.waited(self.arrival.elapsed());
        match self.end {
            End::Passed => self.stats.passed(),
            End::Rejected => self.stats.rejected(),
            End::Left => self.stats.left(),
        }
    }
}

#[cfg(test)]
mod tests;
