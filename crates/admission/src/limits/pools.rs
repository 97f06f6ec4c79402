//! How many run at once under each limit, and who waits for a place: pure, so that interleavings can be tried by the
//! thousand.
//!
//! What a unit needs it gets together or not at all. One queue for each set of limits: who needs only what is free does
//! not wait behind others. A newcomer never overtakes those who wait for the same.

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
}

#[derive(Debug, Clone, Copy, Default)]
struct Pool {
    used: u32,
    limit: u32,
    generation: u64,
}

impl Pools {
    /// Places under all of these now, or `None`.
    pub fn take(&mut self, needs: &[Need]) -> Option<Needs> {
        self.learn(needs);
        let key = key(needs);
        let nobody_waits = !self.queues.contains_key(&key);
        (nobody_waits && self.has_room(&key)).then(|| self.occupy(key))
    }

    /// Takes a place in the queue for all of these.
    pub fn queue(&mut self, needs: &[Need], waiter: Waiter) -> Ticket {
        self.learn(needs);
        let key = key(needs);
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.queues.entry(Arc::clone(&key)).or_default().push(ticket, waiter);
        self.waiting.insert(ticket, key);
        ticket
    }

    /// Gives places back. Those who wait get them: these tickets have theirs now.
    pub fn give_back(&mut self, needs: &Needs) -> Vec<(Ticket, Needs)> {
        for rule in needs.iter() {
            if let Some(pool) = self.pools.get_mut(rule) {
                pool.used = pool.used.saturating_sub(1);
            }
        }
        let served = self.serve();
        self.forget_the_unused(needs);
        served
    }

    /// One who waits no more. False: it has its places already, and must give them back.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        let Some(needs) = self.waiting.remove(&ticket) else { return false };
        if let Some(queue) = self.queues.get_mut(&needs) {
            queue.remove(ticket);
            if queue.is_empty() {
                self.queues.remove(&needs);
            }
        }
        self.forget_the_unused(&needs);
        true
    }

    /// Units that run under a limit now.
    pub fn used(&self, rule: &str) -> u32 {
        self.pools.get(rule).map_or(0, |pool| pool.used)
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Who has just asked for room may make room known: a limit that was raised lets those in who wait.
    pub fn serve(&mut self) -> Vec<(Ticket, Needs)> {
        let mut served = Vec::new();
        loop {
            let heads = self.queues.iter().filter(|(needs, _)| self.has_room(needs));
            let next = heads.filter_map(|(needs, queue)| Some((queue.first()?, Arc::clone(needs)))).min();
            let Some((_, needs)) = next else { return served };
            let Some(queue) = self.queues.get_mut(&needs) else { return served };
            let Some(ticket) = queue.pop() else { return served };
            if queue.is_empty() {
                self.queues.remove(&needs);
            }
            self.waiting.remove(&ticket);
            served.push((ticket, self.occupy(needs)));
        }
    }

    /// The newest policy's word on a limit counts.
    fn learn(&mut self, needs: &[Need]) {
        for need in needs {
            let pool = self.pools.entry(need.rule.clone()).or_default();
            if need.generation >= pool.generation {
                (pool.limit, pool.generation) = (need.limit, need.generation);
            }
        }
    }

    fn has_room(&self, needs: &[RuleId]) -> bool {
        needs.iter().all(|rule| self.pools.get(rule).is_some_and(|pool| pool.used < pool.limit))
    }

    fn occupy(&mut self, needs: Needs) -> Needs {
        for rule in needs.iter() {
            self.pools.entry(rule.clone()).or_default().used += 1;
        }
        needs
    }

    fn forget_the_unused(&mut self, needs: &Needs) {
        for rule in needs.iter() {
            let unused = self.pools.get(rule).is_some_and(|pool| pool.used == 0);
            if unused && !self.queues.keys().any(|waiting| waiting.contains(rule)) {
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
