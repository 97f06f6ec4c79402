//! What a unit needs before it goes (`max_concurrency` of rules, the leave of gates), given back when dropped, and a fair
//! queue for it.
//!
//! One lock for all. Only what a limit or a gate that restricts concerns ever takes it, for as long as a few map look-ups.

mod fair_queue;
mod need;
mod pools;
mod shares;
mod taken;
mod thresholds;
mod valves;

pub use fair_queue::{Ticket, Waiter};
pub use need::{Need, Needs, Slot, Thing};
pub use pools::{Grant, Pools};
pub use taken::{Charges, Places, Taken};

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as StdInstant};

use health::Flow;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::gates::InFlight;

#[derive(Debug, Default)]
pub struct Limits {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pools: Pools,
    /// Those who wait for their ticket.
    callers: HashMap<Ticket, oneshot::Sender<Grant>>,
}

impl State {
    /// Calls those who have got their places.
    fn call(&mut self) {
        for (ticket, grant) in self.pools.take_served() {
            // One that has just left takes its places along in its channel; its `Waiting` gives them back.
            if let Some(caller) = self.callers.remove(&ticket) {
                let _ = caller.send(grant);
            }
        }
    }
}

impl Limits {
    /// `in_flight`: what goes without asking here.
    pub fn counting(in_flight: Arc<InFlight>) -> Arc<Limits> {
        let state = State { pools: Pools::new(in_flight, now()), callers: HashMap::new() };
        Arc::new(Limits { state: Mutex::new(state) })
    }

    /// Everything that is needed now, or `None`.
    pub fn take(self: &Arc<Self>, needs: &[Need]) -> Option<Taken> {
        let mut state = self.lock();
        let grant = state.pools.take(needs);
        state.call();
        drop(state);
        Some(self.taken(grant?))
    }

    /// Places whatever the limits say, and which of those were full.
    pub fn join(self: &Arc<Self>, needs: &[Need]) -> (Taken, Vec<Thing>) {
        let mut state = self.lock();
        let (grant, full) = state.pools.join(needs);
        state.call();
        drop(state);
        (self.taken(grant), full)
    }

    /// Places for a unit that passes for another reason, over the limits if need be, so that others wait for it. `None`:
    /// it needs none.
    pub fn force(self: &Arc<Self>, needs: &[Need]) -> Option<Taken> {
        (!needs.is_empty()).then(|| self.join(needs).0)
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

    /// What a gate lets through from now on. Who waits hears of it with [`Limits::release`].
    pub fn set_flow(&self, slot: Slot, flow: Flow, value: Option<f64>) {
        self.lock().pools.set_flow(slot, flow, value);
    }

    /// What goes by a gate's leave whatever else runs.
    pub fn set_trickle(&self, slot: Slot, rate: f64) {
        self.lock().pools.set_trickle(slot, rate);
    }

    /// The gate is there no more; another may get its slot.
    pub fn forget(&self, slot: Slot) {
        self.lock().pools.forget_gate(slot);
    }

    pub fn flow(&self, slot: Slot) -> Flow {
        self.lock().pools.flow(slot)
    }

    /// Lets those go who can by now. When to call it again, if nothing else happens before.
    pub fn release(&self) -> Option<StdInstant> {
        let mut state = self.lock();
        state.pools.release();
        state.call();
        state.pools.next_release()
    }

    /// A statement that had the leave of these gates has ended, after so long. Whoever can go then goes.
    pub fn ended(&self, gates: impl Iterator<Item = Slot>, ran: Duration) {
        let mut state = self.lock();
        gates.for_each(|slot| state.pools.ended(slot, ran));
        state.pools.release();
        state.call();
    }

    /// The seconds that statements which a gate concerns have run, all added up, while anything was limited.
    pub fn ran(&self, slot: Slot) -> f64 {
        self.lock().pools.ran(slot)
    }

    /// Those of the needs that there is no room for now.
    pub fn full(&self, needs: &[Need]) -> Vec<Thing> {
        self.lock().pools.full(needs)
    }

    /// Units under a rule's limit now.
    pub fn used(&self, rule: &str) -> u32 {
        self.lock().pools.used(rule)
    }

    /// Statements that a gate concerns and that run, and units that wait for it.
    pub fn at_gate(&self, slot: Slot) -> (f64, usize) {
        let state = self.lock();
        (state.pools.running(slot), state.pools.waiting_for(slot))
    }

    /// The same, but that who waits where there is room waits for something else.
    pub fn waiting_at(&self, slot: Slot) -> (f64, usize) {
        let state = self.lock();
        let waiting = if state.pools.has_room_at(slot) { 0 } else { state.pools.waiting_for(slot) };
        (state.pools.running(slot), waiting)
    }

    /// Units that wait for a gate, or for a threshold that a rule sets at it.
    pub fn held_at(&self, slot: Slot) -> usize {
        self.lock().pools.held_at(slot)
    }

    /// Units that wait for these gates, a bit each, and for nothing else.
    pub fn waiting_only_for(&self, gates: u64) -> usize {
        self.lock().pools.waiting_only_for(gates)
    }

    /// Gates whose leave is waited for where none of these restricts.
    pub fn awaited_without(&self, restricting: u64) -> u64 {
        self.lock().pools.awaited_without(restricting)
    }

    /// Units that wait for just the same: a newcomer stands behind them.
    pub fn queued(&self, needs: &[Need]) -> usize {
        self.lock().pools.queued(needs)
    }

    pub fn waiting(&self) -> usize {
        self.lock().pools.waiting()
    }

    fn taken(self: &Arc<Self>, grant: Grant) -> Taken {
        Taken::new(self, grant)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The maps are whole between any two statements, so a panic elsewhere cannot have broken them.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pools.turn_to(now());
        state
    }
}

fn now() -> StdInstant {
    Instant::now().into_std()
}

/// A place in the queue; given up when dropped.
#[derive(Debug)]
pub struct Waiting {
    limits: Arc<Limits>,
    ticket: Ticket,
    called: oneshot::Receiver<Grant>,
}

impl Waiting {
    /// Until everything is there. Cancel safe.
    pub async fn taken(&mut self) -> Taken {
        match (&mut self.called).await {
            Ok(grant) => self.limits.taken(grant),
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
        if !left_the_queue && let Ok(grant) = self.called.try_recv() {
            drop(self.limits.taken(grant));
        }
    }
}

#[cfg(test)]
mod tests;
