//! How many run at once under each limit, what each gate lets through, and who waits: pure, so that interleavings can be
//! tried by the thousand.
//!
//! What a unit needs it gets together or not at all. One queue for each set of needs: who needs only what is free does
//! not wait behind others. A newcomer never overtakes those who wait for the same, and nobody waits who is first in its
//! queue and has room. Of several queues that have room the user goes first who got least.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use health::valve::Charge;
use health::{Flow, Work};
use rules::RuleId;

use super::fair_queue::{FairQueue, Ticket, Waiter};
use super::need::{Need, Needs, Slot, Thing, gates, key, leaves};
use super::shares::Turns;
use super::valves::Valves;
use crate::gates::InFlight;

#[derive(Debug)]
pub struct Pools {
    pools: HashMap<Thing, Pool>,
    valves: Valves,
    queues: HashMap<Needs, FairQueue>,
    waiting: HashMap<Ticket, Needs>,
    /// What the users got, of all queues together.
    turns: Turns<Arc<[u8]>>,
    tickets: u64,
    served: Vec<(Ticket, Grant)>,
}

/// What a unit needed, and what gates charged for it.
#[derive(Debug)]
pub struct Grant {
    pub needs: Needs,
    pub charges: Vec<(Slot, Charge)>,
}

#[derive(Debug, Default)]
struct Pool {
    used: u32,
    limit: u32,
    generation: u64,
    /// The sets with this in it that somebody waits for.
    awaited: Vec<Needs>,
}

impl Default for Pools {
    fn default() -> Self {
        Pools::new(Arc::default(), Instant::now())
    }
}

impl Pools {
    pub fn new(in_flight: Arc<InFlight>, now: Instant) -> Pools {
        Pools {
            pools: HashMap::new(),
            valves: Valves::new(in_flight, now),
            queues: HashMap::new(),
            waiting: HashMap::new(),
            turns: Turns::default(),
            tickets: 0,
            served: Vec::new(),
        }
    }

    /// It is later now; nothing happens by that alone.
    pub fn turn_to(&mut self, now: Instant) {
        self.valves.turn_to(now, |thing| is_awaited(&self.pools, thing));
    }

    /// Everything that is needed now, or `None`.
    pub fn take(&mut self, needs: &[Need]) -> Option<Grant> {
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
    pub fn join(&mut self, needs: &[Need]) -> (Grant, Vec<Thing>) {
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
            for thing in key.iter() {
                self.pools.entry(thing.clone()).or_default().awaited.push(Arc::clone(&key));
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
        Slot::all(gates(needs)).for_each(|slot| self.valves.give_back(slot));
        for thing in needs.iter() {
            if let Some(pool) = self.pools.get_mut(thing) {
                pool.used = pool.used.saturating_sub(1);
            }
        }
        self.serve(needs);
        self.forget_the_unused(needs);
    }

    /// A statement that went by a gate's leave has ended.
    pub fn ended(&mut self, slot: Slot, ran: Duration) {
        self.valves.ended(slot, ran);
    }

    /// The seconds that such statements ran, all added up.
    pub fn ran(&self, slot: Slot) -> f64 {
        self.valves.ran(slot)
    }

    /// What a charged unit came to. Nothing, if it did not commit.
    pub fn settle(&mut self, slot: Slot, charge: Charge, work: Work) {
        self.valves.settle(slot, charge, work);
    }

    /// What a gate lets through from now on.
    pub fn set_flow(&mut self, slot: Slot, flow: Flow, value: Option<f64>) {
        self.valves.set(slot, flow, value, |thing| is_awaited(&self.pools, thing));
    }

    pub fn set_trickle(&mut self, slot: Slot, rate: f64) {
        self.valves.set_trickle(slot, rate);
    }

    pub fn forget_gate(&mut self, slot: Slot) {
        self.valves.forget(slot);
    }

    pub fn flow(&self, slot: Slot) -> Flow {
        self.valves.flow(slot)
    }

    /// Time has passed, or something has changed: whoever can go goes.
    pub fn release(&mut self) {
        if self.queues.is_empty() {
            return;
        }
        // One thing of each is enough to find it by.
        let awaited: HashSet<&Thing> = self.queues.keys().filter_map(|needs| needs.first()).collect();
        let awaited: Vec<Thing> = awaited.into_iter().cloned().collect();
        self.serve(&awaited);
    }

    /// When somebody who waits may go by the passing of time alone.
    pub fn next_release(&self) -> Option<Instant> {
        let slots = self.queues.keys().flat_map(|needs| needs.iter()).filter_map(|thing| match thing {
            Thing::Gate(slot) if !self.valves.has_room(*slot) => Some(*slot),
            Thing::Gate(_) | Thing::Rule(_) | Thing::Under(..) => None,
        });
        slots.filter_map(|slot| self.valves.next(slot)).min()
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
    pub fn take_served(&mut self) -> Vec<(Ticket, Grant)> {
        std::mem::take(&mut self.served)
    }

    /// Units that run under a limit now.
    pub fn used(&self, rule: &str) -> u32 {
        let thing = Thing::Rule(RuleId::from(rule));
        self.pools.get(&thing).map_or(0, |pool| pool.used)
    }

    /// Statements that a gate concerns and that run now.
    pub fn running(&self, slot: Slot) -> f64 {
        self.valves.running(slot)
    }

    /// Those of the needs that there is no room for now.
    pub fn full(&self, needs: &[Need]) -> Vec<Thing> {
        let full = |need: &&Need| match &need.thing {
            Thing::Rule(_) => self.pools.get(&need.thing).map_or(0, |pool| pool.used) >= need.limit,
            Thing::Gate(_) | Thing::Under(..) => !self.is_free(&need.thing),
        };
        needs.iter().filter(full).map(|need| need.thing.clone()).collect()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn has_room_at(&self, slot: Slot) -> bool {
        self.valves.has_room(slot)
    }

    /// Who waits for this gate, whatever else they wait for.
    pub fn waiting_for(&self, slot: Slot) -> usize {
        let awaited = self.pools.get(&Thing::Gate(slot)).into_iter().flat_map(|pool| &pool.awaited);
        awaited.filter_map(|needs| self.queues.get(needs)).map(FairQueue::len).sum()
    }

    /// Who waits for this gate, or for a threshold that a rule sets at it.
    pub fn held_at(&self, slot: Slot) -> usize {
        let at = |thing: &Thing| match thing {
            Thing::Gate(other) | Thing::Under(other, ..) => *other == slot,
            Thing::Rule(_) => false,
        };
        let queues = self.queues.iter().filter(|(needs, _)| needs.iter().any(at));
        queues.map(|(_, queue)| queue.len()).sum()
    }

    /// Who waits for these gates and for nothing else.
    pub fn waiting_only_for(&self, gates: u64) -> usize {
        let is_of_them = |thing: &Thing| match thing {
            Thing::Gate(slot) | Thing::Under(slot, ..) => gates & slot.bit() != 0,
            Thing::Rule(_) => false,
        };
        // None of them: it waits for nothing, or for another. All of them: for nothing else.
        let only = |needs: &Needs| {
            let mut lacking = needs.iter().filter(|thing| !self.is_free(thing)).peekable();
            lacking.peek().is_some() && lacking.all(is_of_them)
        };
        self.queues.iter().filter(|(needs, _)| only(needs)).map(|(_, queue)| queue.len()).sum()
    }

    /// The gates whose leave is waited for in lines that none of these `restricting` ones has to do with. Newcomers see that such a gate
    /// restricts in any case, and stand behind those who wait for just the same.
    pub fn awaited_without(&self, restricting: u64) -> u64 {
        let without = self.queues.keys().filter(|needs| gates(needs) & restricting == 0);
        without.fold(0, |bits, needs| bits | leaves(needs))
    }

    /// Who waits for just the same.
    pub fn queued(&self, needs: &[Need]) -> usize {
        self.queues.get(&key(needs)).map_or(0, FairQueue::len)
    }

    /// The newest policy's word on a limit counts. One that was raised lets those in who wait.
    fn hear(&mut self, needs: &[Need]) {
        for Need { thing, .. } in needs {
            if let Thing::Under(slot, ..) = thing {
                self.valves.hear(*slot, thing);
            }
        }
        let mut raised = Vec::new();
        for Need { thing, limit, generation } in needs.iter().filter(|need| matches!(need.thing, Thing::Rule(_))) {
            let pool = self.pools.entry(thing.clone()).or_default();
            if *generation < pool.generation {
                continue;
            }
            if pool.limit < *limit && !pool.awaited.is_empty() {
                raised.push(thing.clone());
            }
            (pool.limit, pool.generation) = (*limit, *generation);
        }
        self.serve(&raised);
    }

    /// There may be room for these: whoever is first somewhere and fits gets it.
    fn serve(&mut self, things: &[Thing]) {
        while let Some(needs) = self.next_to_serve(things) {
            let Some(queue) = self.queues.get_mut(&needs) else { return };
            let Some((ticket, waiter)) = queue.pop() else { return };
            self.turns.serve(&waiter.user, waiter.weight);
            self.waiting.remove(&ticket);
            self.close_if_empty(&needs);
            let grant = self.occupy(needs);
            self.served.push((ticket, grant));
        }
    }

    /// The queue whose first one's user got least; of two equal ones the one who has waited longer.
    fn next_to_serve(&self, things: &[Thing]) -> Option<Needs> {
        let awaited = things.iter().filter_map(|thing| self.pools.get(thing)).flat_map(|pool| &pool.awaited);
        let with_room = awaited.filter(|needs| self.has_room(needs));
        let first = with_room.filter_map(|needs| {
            let (ticket, user) = self.queues.get(needs)?.first()?;
            Some((self.turns.paid(user), ticket, needs))
        });
        first.min_by_key(|(paid, ticket, _)| (*paid, *ticket)).map(|(_, _, needs)| Arc::clone(needs))
    }

    fn has_room(&self, needs: &[Thing]) -> bool {
        needs.iter().all(|thing| self.is_free(thing))
    }

    fn is_free(&self, thing: &Thing) -> bool {
        match thing {
            Thing::Rule(_) => self.pools.get(thing).is_some_and(|pool| pool.used < pool.limit),
            Thing::Gate(slot) => self.valves.has_room(*slot),
            Thing::Under(slot, ..) => self.valves.is_under(*slot, thing),
        }
    }

    fn occupy(&mut self, needs: Needs) -> Grant {
        let mut charges = Vec::new();
        // A statement runs once, whatever it asks of a gate.
        Slot::all(gates(&needs)).for_each(|slot| self.valves.goes(slot));
        for thing in needs.iter() {
            self.pools.entry(thing.clone()).or_default().used += 1;
            if let Thing::Gate(slot) = thing {
                charges.extend(self.valves.take(*slot).map(|charge| (*slot, charge)));
            }
        }
        Grant { needs, charges }
    }

    fn close_if_empty(&mut self, needs: &Needs) {
        if !self.queues.get(needs).is_some_and(FairQueue::is_empty) {
            return;
        }
        self.queues.remove(needs);
        if self.queues.is_empty() {
            self.turns = Turns::default();
        }
        for thing in needs.iter() {
            if let Some(pool) = self.pools.get_mut(thing) {
                pool.awaited.retain(|awaited| awaited != needs);
            }
        }
    }

    fn forget_the_unused(&mut self, needs: &[Thing]) {
        for thing in needs.iter() {
            if self.pools.get(thing).is_some_and(|pool| pool.used == 0 && pool.awaited.is_empty()) {
                self.pools.remove(thing);
            }
        }
    }
}

fn is_awaited(pools: &HashMap<Thing, Pool>, thing: &Thing) -> bool {
    pools.get(thing).is_some_and(|pool| !pool.awaited.is_empty())
}

#[cfg(test)]
mod tests;
