//! `max_concurrency`: places that are given back when dropped, and a fair queue for them.
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
    /// Calls those who have got their places.
    fn call(&mut self) {
        for (ticket, needs) in self.pools.take_served() {
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
        let mut state = self.lock();
        let needs = state.pools.take(needs);
        state.call();
        Some(self.places(needs?))
    }

    /// Places whatever the limits say, and which of those were full.
    pub fn join(self: &Arc<Self>, needs: &[Need]) -> (Places, Vec<RuleId>) {
        let mut state = self.lock();
        let (needs, full) = state.pools.join(needs);
        state.call();
        (self.places(needs), full)
    }

    /// Waits in the queue for all of these.
    pub fn wait(self: &Arc<Self>, needs: &[Need], waiter: Waiter) -> Waiting {
        let (caller, called) = oneshot::channel();
        let mut state = self.lock();
        let ticket = state.pools.queue(needs, waiter);
        state.callers.insert(ticket, caller);
        state.call();
        Waiting { limits: Arc::clone(self), ticket, called }
    }

    /// What a new policy says of limits that somebody waits for.
    pub fn learn(&self, needs: &[Need]) {
        let mut state = self.lock();
        state.pools.learn(needs);
        state.call();
    }

    /// Those of the limits that have no room now.
    pub fn full(&self, needs: &[Need]) -> Vec<RuleId> {
        self.lock().pools.full(needs)
    }

    /// Units under a rule's limit now.
    pub fn used(&self, rule: &str) -> u32 {
        self.lock().pools.used(rule)
    }

    pub fn waiting(&self) -> usize {
        self.lock().pools.waiting()
    }

    fn places(self: &Arc<Self>, needs: Needs) -> Places {
        Places { limits: Arc::clone(self), needs }
    }

    fn give_back(&self, needs: &Needs) {
        let mut state = self.lock();
        state.pools.give_back(needs);
        state.call();
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
    /// The rules that it is under, if it is of these limits.
    pub fn rules_under(&self, limits: &Arc<Limits>) -> &[RuleId] {
        if Arc::ptr_eq(&self.limits, limits) { &self.needs } else { &[] }
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
            Ok(needs) => self.limits.places(needs),
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
