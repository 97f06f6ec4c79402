//! How many run at once under each limit, and who waits for a place: pure, so that interleavings can be tried by the
//! thousand.
//!
//! What a unit needs it gets together or not at all. One queue for each set of limits: who needs only what is free does
//! not wait behind others. A newcomer never overtakes those who wait for the same, and nobody waits who is first in its
//! queue and has room.

use std::collections::HashMap;
use std::sync::Arc;

use rules::RuleId;

use super::fair_queue::{FairQueue, Ticket, Waiter};

/// The limits that a unit needs a place under, in the order of their ids, each once. Never empty.
pub type Needs = Arc<[RuleId]>;

/// A limit as it stands in the policy of this generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    pub rule: RuleId,
    pub limit: u32,
    pub generation: u64,
}

#[derive(Debug, Default)]
pub struct Pools {
    pools: HashMap<RuleId, Pool>,
    queues: HashMap<Needs, FairQueue>,
    waiting: HashMap<Ticket, Needs>,
    tickets: u64,
    served: Vec<(Ticket, Needs)>,
}

#[derive(Debug, Default)]
struct Pool {
    used: u32,
    limit: u32,
    generation: u64,
    /// The sets with this limit in it that somebody waits for.
    awaited: Vec<Needs>,
}

impl Pool {
    fn has_room(&self) -> bool {
        self.used < self.limit
    }
}

impl Pools {
    /// Places under all of these now, or `None`.
    pub fn take(&mut self, needs: &[Need]) -> Option<Needs> {
        self.hear(needs);
        let key = key(needs);
        let nobody_waits = !self.queues.contains_key(&key);
        if nobody_waits && self.has_room(&key) {
            return Some(self.occupy(key));
        }
        self.forget_the_unused(&key);
        None
    }

    /// Places whatever the limits say, and which of those were full: for what is only counted.
    pub fn join(&mut self, needs: &[Need]) -> (Needs, Vec<RuleId>) {
        self.hear(needs);
        let full = self.full(needs);
        (self.occupy(key(needs)), full)
    }

    /// Takes a place in the queue for all of these.
    pub fn queue(&mut self, needs: &[Need], waiter: Waiter) -> Ticket {
        self.hear(needs);
        let key = key(needs);
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waiting.insert(ticket, Arc::clone(&key));
        if !self.queues.contains_key(&key) {
            for rule in key.iter() {
                self.pools.entry(rule.clone()).or_default().awaited.push(Arc::clone(&key));
            }
        }
        self.queues.entry(Arc::clone(&key)).or_default().push(ticket, waiter);
        self.serve(&key);
        ticket
    }

    /// What a policy says of limits that somebody waits for.
    pub fn learn(&mut self, needs: &[Need]) {
        self.hear(needs);
        self.forget_the_unused(&key(needs));
    }

    pub fn give_back(&mut self, needs: &Needs) {
        for rule in needs.iter() {
            if let Some(pool) = self.pools.get_mut(rule) {
                pool.used = pool.used.saturating_sub(1);
            }
        }
        self.serve(needs);
        self.forget_the_unused(needs);
    }

    /// One who waits no more. False: it has its places already, and must give them back.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        let Some(needs) = self.waiting.remove(&ticket) else { return false };
        if let Some(queue) = self.queues.get_mut(&needs) {
            queue.remove(ticket);
        }
        self.close_if_empty(&needs);
        self.forget_the_unused(&needs);
        true
    }

    /// Those who waited and have got their places since this was last asked.
    pub fn take_served(&mut self) -> Vec<(Ticket, Needs)> {
        std::mem::take(&mut self.served)
    }

    /// Units that run under a limit now.
    pub fn used(&self, rule: &str) -> u32 {
        self.pools.get(rule).map_or(0, |pool| pool.used)
    }

    /// Those of the limits that have no room now.
    pub fn full(&self, needs: &[Need]) -> Vec<RuleId> {
        let full = |need: &&Need| self.used(&need.rule) >= need.limit;
        needs.iter().filter(full).map(|need| need.rule.clone()).collect()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The newest policy's word on a limit counts. One that was raised lets those in who wait.
    fn hear(&mut self, needs: &[Need]) {
        let mut raised = Vec::new();
        for Need { rule, limit, generation } in needs {
            let pool = self.pools.entry(rule.clone()).or_default();
            if *generation < pool.generation {
                continue;
            }
            if pool.limit < *limit && !pool.awaited.is_empty() {
                raised.push(rule.clone());
            }
            (pool.limit, pool.generation) = (*limit, *generation);
        }
        self.serve(&raised);
    }

    /// There may be room under these: whoever is first somewhere and fits gets it, the oldest before the others.
    fn serve(&mut self, rules: &[RuleId]) {
        while let Some(needs) = self.next_to_serve(rules) {
            let Some(ticket) = self.queues.get_mut(&needs).and_then(FairQueue::pop) else { return };
            self.waiting.remove(&ticket);
            self.close_if_empty(&needs);
            let needs = self.occupy(needs);
            self.served.push((ticket, needs));
        }
    }

    fn next_to_serve(&self, rules: &[RuleId]) -> Option<Needs> {
        let awaited = rules.iter().filter_map(|rule| self.pools.get(rule)).flat_map(|pool| &pool.awaited);
        let with_room = awaited.filter(|needs| self.has_room(needs));
        let first = with_room.filter_map(|needs| Some((self.queues.get(needs)?.first()?, needs)));
        first.min_by_key(|(ticket, _)| *ticket).map(|(_, needs)| Arc::clone(needs))
    }

    fn has_room(&self, needs: &[RuleId]) -> bool {
        needs.iter().all(|rule| self.pools.get(rule).is_some_and(Pool::has_room))
    }

    fn occupy(&mut self, needs: Needs) -> Needs {
        for rule in needs.iter() {
            self.pools.entry(rule.clone()).or_default().used += 1;
        }
        needs
    }

    fn close_if_empty(&mut self, needs: &Needs) {
        if !self.queues.get(needs).is_some_and(FairQueue::is_empty) {
            return;
        }
        self.queues.remove(needs);
        for rule in needs.iter() {
            if let Some(pool) = self.pools.get_mut(rule) {
                pool.awaited.retain(|awaited| awaited != needs);
            }
        }
    }

    fn forget_the_unused(&mut self, needs: &[RuleId]) {
        for rule in needs.iter() {
            if self.pools.get(rule).is_some_and(|pool| pool.used == 0 && pool.awaited.is_empty()) {
                self.pools.remove(rule);
            }
        }
    }
}

fn key(needs: &[Need]) -> Needs {
    let mut rules: Vec<RuleId> = needs.iter().map(|need| need.rule.clone()).collect();
    rules.sort_unstable();
    rules.dedup();
    rules.into()
}

#[cfg(test)]
mod tests;
