//! Who waits for the same things: users take turns, and within a user its names do. Claims subdivide, they never add.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::shares::Shares;

/// One who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub(crate) u64);

/// Whose turn it is counted for.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiter {
    /// Authenticated.
    pub user: Arc<[u8]>,
    /// Possibly claimed.
    pub name: Arc<str>,
    /// Turns it gets for each turn of others.
    pub weight: f64,
}

#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    users: Shares<Arc<[u8]>>,
    names: HashMap<Arc<[u8]>, Names>,
    waiters: HashMap<Ticket, Waiter>,
}

#[derive(Debug, Default)]
struct Names {
    turns: Shares<Arc<str>>,
    lines: HashMap<Arc<str>, VecDeque<Ticket>>,
}

impl FairQueue {
    pub(crate) fn push(&mut self, ticket: Ticket, waiter: Waiter) {
        self.users.arrive(&waiter.user);
        let names = self.names.entry(Arc::clone(&waiter.user)).or_default();
        names.turns.arrive(&waiter.name);
        names.lines.entry(Arc::clone(&waiter.name)).or_default().push_back(ticket);
        self.waiters.insert(ticket, waiter);
    }

    /// The first, and its user.
    pub(crate) fn first(&self) -> Option<(Ticket, &Arc<[u8]>)> {
        let user = self.users.first()?;
        let names = self.names.get(user)?;
        let ticket = names.lines.get(names.turns.first()?)?.front().copied()?;
        Some((ticket, user))
    }

    /// Takes the first out: it has its turn.
    pub(crate) fn pop(&mut self) -> Option<(Ticket, Waiter)> {
        let (ticket, _) = self.first()?;
        let waiter = self.waiters.remove(&ticket)?;
        self.users.serve(&waiter.user, waiter.weight);
        if let Some(names) = self.names.get_mut(&waiter.user) {
            names.turns.serve(&waiter.name, waiter.weight);
        }
        self.take_out(ticket, &waiter);
        Some((ticket, waiter))
    }

    /// One who waits no more, without a turn.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> bool {
        let Some(waiter) = self.waiters.remove(&ticket) else { return false };
        self.take_out(ticket, &waiter);
        true
    }

    fn take_out(&mut self, ticket: Ticket, waiter: &Waiter) {
        let Some(names) = self.names.get_mut(&waiter.user) else { return };
        if let Some(line) = names.lines.get_mut(&waiter.name) {
            line.retain(|waiting| *waiting != ticket);
            if line.is_empty() {
                names.lines.remove(&waiter.name);
                names.turns.leave(&waiter.name);
            } else {
                names.turns.arrive(&waiter.name);
            }
        }
        if names.lines.is_empty() {
            self.users.leave(&waiter.user);
        } else {
            self.users.arrive(&waiter.user);
        }
        // What a user's names got is remembered as long as anybody waits here.
        if self.waiters.is_empty() {
            self.names.clear();
        } else if self.names.len() > 2 * self.waiters.len() + 64 {
            self.names.retain(|_, names| !names.lines.is_empty());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(user: &str, name: &str) -> Waiter {
        Waiter { user: user.as_bytes().into(), name: name.into(), weight: 1.0 }
    }

    #[test]
    fn a_user_with_few_does_not_wait_behind_one_with_many() {
        let mut queue = FairQueue::default();
        for n in 0..200 {
            queue.push(Ticket(n), waiter("heavy", "job"));
        }
        queue.push(Ticket(1000), waiter("light", "web"));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|(ticket, _)| ticket.0).collect();
        assert_eq!(order.len(), 201);
        assert!(order.iter().position(|n| *n == 1000).unwrap() <= 1, "{:?}", &order[..4]);
    }

    #[test]
    fn fresh_names_gain_a_user_nothing() {
        let mut queue = FairQueue::default();
        for n in 0..100 {
            queue.push(Ticket(n), waiter("one", &format!("name-{n}")));
            queue.push(Ticket(1000 + n), waiter("other", "the same"));
        }
        let first: Vec<u64> = (0..40).filter_map(|_| queue.pop()).map(|(ticket, _)| ticket.0).collect();
        assert_eq!(first.iter().filter(|n| **n < 1000).count(), 20, "{first:?}");
    }

    /// A rule may match one name of a user and not another.
    #[test]
    fn the_names_of_a_user_take_turns_by_weight() {
        for (weight, due) in [(4.0, 80), (1.0, 50), (0.25, 20)] {
            let mut queue = FairQueue::default();
            for n in 0..100 {
                queue.push(Ticket(n), Waiter { weight, ..waiter("app", "weighed") });
                queue.push(Ticket(1000 + n), waiter("app", "other"));
            }
            let first = (0..100).filter_map(|_| queue.pop());
            let weighed = first.filter(|(_, waiter)| &*waiter.name == "weighed").count();
            assert!(weighed.abs_diff(due) <= 1, "{weighed} of 100 at a weight of {weight}");
        }
    }

    #[test]
    fn who_leaves_is_not_served_and_holds_nobody_up() {
        let mut queue = FairQueue::default();
        for (n, user) in [(1, "a"), (2, "a"), (3, "b")] {
            queue.push(Ticket(n), waiter(user, "x"));
        }
        assert!(queue.remove(Ticket(1)));
        assert!(!queue.remove(Ticket(1)));
        let mut left: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|(ticket, _)| ticket.0).collect();
        left.sort_unstable();
        assert_eq!(left, [2, 3]);
        assert!(queue.is_empty() && queue.names.is_empty());
    }
}
