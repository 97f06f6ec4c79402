//! `max_concurrency` and `max_connections`: places that are given back when dropped, and a fair queue for them.
//!
//! One lock for all limits. Only what a limit concerns ever takes it, for as long as a few map look-ups.

mod fair_queue;
mod pools;
mod shares;

pub use fair_queue::{Ticket, Waiter};
pub use pools::{Need, Needs, Pools};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rules::RuleId;
use tokio::sync::oneshot;

#[derive(Debug, Default)]
pub struct Limits {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pools: Pools,
    /// Those who wait for their ticket.
    callers: HashMap<Ticket, oneshot::Sender<Needs>>,
}

impl State {
    fn call(&mut self, served: Vec<(Ticket, Needs)>) {
        for (ticket, needs) in served {
            // One that has just left takes its places along in its channel; its `Waiting` gives them back.
            if let Some(caller) = self.callers.remove(&ticket) {
                let _ = caller.send(needs);
            }
        }
    }
}

impl Limits {
    /// Places under all of these now, or `None`.
    pub fn take(self: &Arc<Self>, needs: &[Need]) -> Option<Places> {
        let needs = self.lock().pools.take(needs)?;
        Some(Places { limits: Arc::clone(self), needs })
    }

    /// Whether a place under each of these is free; nothing is taken.
    pub fn has_room(&self, needs: &[Need]) -> bool {
        let state = self.lock();
        needs.iter().all(|need| state.pools.used(&need.rule) < need.limit)
    }

    /// Waits in the queue for all of these.
    pub fn wait(self: &Arc<Self>, needs: &[Need], waiter: Waiter) -> Waiting {
        let (caller, called) = oneshot::channel();
        let mut state = self.lock();
        let ticket = state.pools.queue(needs, waiter);
        state.callers.insert(ticket, caller);
        // A limit that this very policy has raised may have room already.
        let served = state.pools.serve();
        state.call(served);
        Waiting { limits: Arc::clone(self), ticket, called }
    }

    /// Units or sessions under a rule's limit now.
    pub fn used(&self, rule: &str) -> u32 {
        self.lock().pools.used(rule)
    }

    pub fn waiting(&self) -> usize {
        self.lock().pools.waiting()
    }

    fn give_back(&self, needs: &Needs) {
        let mut state = self.lock();
        let served = state.pools.give_back(needs);
        state.call(served);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The maps are whole between any two statements, so a panic elsewhere cannot have broken them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places under limits; given back when dropped.
#[derive(Debug)]
pub struct Places {
    limits: Arc<Limits>,
    needs: Needs,
}

impl Places {
    pub fn is_under(&self, rule: &str) -> bool {
        self.needs.iter().any(|held| **held == *rule)
    }

    pub fn rules(&self) -> impl Iterator<Item = &RuleId> {
        self.needs.iter()
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        self.limits.give_back(&self.needs);
    }
}

/// A place in the queue; given up when dropped.
#[derive(Debug)]
pub struct Waiting {
    limits: Arc<Limits>,
    ticket: Ticket,
    called: oneshot::Receiver<Needs>,
}

impl Waiting {
    /// Until the places are there. Cancel safe.
    pub async fn places(&mut self) -> Places {
        match (&mut self.called).await {
            Ok(needs) => Places { limits: Arc::clone(&self.limits), needs },
            // Nobody drops a caller without a call; if somebody did, it would be wrong to let this one pass.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.limits.lock();
        state.callers.remove(&self.ticket);
        let left_the_queue = state.pools.cancel(self.ticket);
        drop(state);
        if !left_the_queue && let Ok(needs) = self.called.try_recv() {
            self.limits.give_back(&needs);
        }
    }
}

#[cfg(test)]
mod tests;
