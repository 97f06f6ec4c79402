//! Slots, and who has them.
//!
//! Every user has a hand that goes round its slots looking for idle ones, and there is one that goes round them all. A
//! hand looks at a few slots at a time, so a newcomer costs the same however large the table is.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Client;
use crate::name::Name;

/// Nobody has asked for it for so long.
const IDLE_MILLIS: u64 = 60_000;
/// How many slots a hand looks at for one newcomer.
const STEPS: usize = 8;
/// Every user has room for `unattributed` and `__overflow__`, however many names it claims.
const RESERVED: [&str; 2] = [Name::UNATTRIBUTED, Name::OVERFLOW];

pub(super) struct Table<T> {
    room: usize,
    room_per_user: usize,
    slots: Vec<Option<Slot<T>>>,
    free: Vec<usize>,
    hand: usize,
    users: HashMap<Arc<[u8]>, User>,
    /// How many slots each user has, to find who has most.
    by_size: BTreeSet<(usize, Arc<[u8]>)>,
    left: u64,
}

struct Slot<T> {
    user: Arc<[u8]>,
    /// Where it stands among its user's.
    place: usize,
    name: Name,
    last_seen: AtomicU64,
    value: Arc<T>,
}

#[derive(Default)]
struct User {
    names: HashMap<Box<str>, usize>,
    slots: Vec<usize>,
    hand: usize,
}

/// Where a newcomer went.
pub(super) enum Room<T, M> {
    Own(Arc<T>),
    /// With others of its user.
    Overflow(Arc<T>),
    /// Its value is not made yet.
    Nowhere(M),
}

impl<T> Table<T> {
    /// One place of them is for those who find none.
    pub(super) fn with_room_for(clients: usize) -> Table<T> {
        let clients = clients.max(4 * (RESERVED.len() + 1));
        Table {
            room: clients - 1,
            room_per_user: clients / 4,
            slots: Vec::new(),
            free: Vec::new(),
            hand: 0,
            users: HashMap::new(),
            by_size: BTreeSet::new(),
            left: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Client<T>> {
        self.slots.iter().flatten().map(Slot::client)
    }

    pub(super) fn seen(&self, user: &[u8], name: &Name, now: u64) -> Option<Arc<T>> {
        let slot = *self.users.get(user)?.names.get(name.as_str())?;
        let slot = self.slots.get(slot)?.as_ref()?;
        // Mostly it is the same millisecond, and the other cores keep their copy of it.
        if slot.last_seen.load(Ordering::Relaxed) < now {
            slot.last_seen.store(now, Ordering::Relaxed);
        }
        Some(Arc::clone(&slot.value))
    }

    /// Also gives who had to leave.
    pub(super) fn enter<M: FnOnce() -> T>(
        &mut self,
        user: &[u8],
        name: &Name,
        now: u64,
        make: M,
    ) -> (Room<T, M>, Option<Client<T>>) {
        if let Some(value) = self.seen(user, name, now) {
            return (Room::Own(value), None);
        }
        if let Some(vacancy) = self.vacancy(user, name, now) {
            let (value, leaving) = self.insert(user, name, now, make(), vacancy);
            return (Room::Own(value), leaving);
        }
        let name = &Name::overflow();
        if let Some(value) = self.seen(user, name, now) {
            return (Room::Overflow(value), None);
        }
        match self.vacancy(user, name, now) {
            Some(vacancy) => {
                let (value, leaving) = self.insert(user, name, now, make(), vacancy);
                (Room::Overflow(value), leaving)
            }
            None => (Room::Nowhere(make), None),
        }
    }

    fn vacancy(&mut self, user: &[u8], name: &Name, now: u64) -> Option<Vacancy> {
        let known = self.users.get(user);
        let size = known.map_or(0, |user| user.slots.len());
        let is_new = |reserved: &&str| known.is_none_or(|user| !user.names.contains_key(*reserved));
        let set_aside = RESERVED.iter().filter(|reserved| is_new(reserved)).count();
        if size + set_aside >= self.room_per_user && !RESERVED.contains(&name.as_str()) {
            return self.idle_of(user, now).map(Vacancy::Of);
        }
        if self.len() < self.room {
            return Some(Vacancy::Free);
        }
        self.idle(now).or_else(|| self.of_largest(size)).map(Vacancy::Of)
    }

    /// Never one of the reserved: they have room beside the names, and a name must not take it.
    fn idle_of(&mut self, user: &[u8], now: u64) -> Option<usize> {
        let user = self.users.get_mut(user)?;
        user.round().find(|slot| match self.slots.get(*slot) {
            Some(Some(slot)) => slot.is_idle(now) && !slot.is_reserved(),
            Some(None) | None => false,
        })
    }

    fn idle(&mut self, now: u64) -> Option<usize> {
        (0..STEPS).find_map(|_| {
            self.hand = (self.hand + 1) % self.slots.len().max(1);
            let slot = self.slots.get(self.hand)?.as_ref()?;
            slot.is_idle(now).then_some(self.hand)
        })
    }

    /// Of the user with most slots, if that has more than a user of this size would have with one more: of some of them
    /// the one that has not been asked for longest, in use or not.
    fn of_largest(&mut self, size: usize) -> Option<usize> {
        let (largest, user) = self.by_size.last()?;
        if *largest <= size + 1 {
            return None;
        }
        let user = self.users.get_mut(user)?;
        user.round().min_by_key(|slot| match self.slots.get(*slot) {
            Some(Some(slot)) => slot.last_seen.load(Ordering::Relaxed),
            Some(None) | None => u64::MAX,
        })
    }

    fn insert(
        &mut self,
        user: &[u8],
        name: &Name,
        now: u64,
        value: T,
        vacancy: Vacancy,
    ) -> (Arc<T>, Option<Client<T>>) {
        let leaving = match vacancy {
            Vacancy::Free => None,
            Vacancy::Of(slot) => self.remove(slot),
        };
        let user: Arc<[u8]> = self.users.get_key_value(user).map_or_else(|| user.into(), |(user, _)| Arc::clone(user));
        let at = self.free.pop().unwrap_or(self.slots.len());
        let slots = &mut self.users.entry(Arc::clone(&user)).or_default();
        let size = slots.slots.len();
        slots.names.insert(name.as_str().into(), at);
        slots.slots.push(at);
        self.by_size.remove(&(size, Arc::clone(&user)));
        self.by_size.insert((size + 1, Arc::clone(&user)));

        let value = Arc::new(value);
        let last_seen = AtomicU64::new(now);
        let slot = Slot { user, place: size, name: name.clone(), last_seen, value: Arc::clone(&value) };
        match self.slots.get_mut(at) {
            Some(free) => *free = Some(slot),
            None => self.slots.push(Some(slot)),
        }
        (value, leaving)
    }

    fn remove(&mut self, at: usize) -> Option<Client<T>> {
        let slot = self.slots.get_mut(at)?.take()?;
        self.free.push(at);
        self.left += 1;
        if let Some(user) = self.users.get_mut(&slot.user) {
            let size = user.slots.len();
            user.names.remove(slot.name.as_str());
            user.slots.swap_remove(slot.place);
            if let Some(moved) = user.slots.get(slot.place).and_then(|at| self.slots.get_mut(*at)?.as_mut()) {
                moved.place = slot.place;
            }
            self.by_size.remove(&(size, Arc::clone(&slot.user)));
            if user.slots.is_empty() {
                self.users.remove(&slot.user);
            } else {
                self.by_size.insert((size - 1, Arc::clone(&slot.user)));
            }
        }
        Some(slot.client())
    }
}

/// A slot for a newcomer.
#[derive(Clone, Copy)]
enum Vacancy {
    Free,
    /// Whoever has it leaves.
    Of(usize),
}

impl User {
    /// Where the hand goes next. The user has slots.
    fn round(&mut self) -> impl Iterator<Item = usize> {
        (0..STEPS.min(self.slots.len())).filter_map(|_| {
            self.hand = (self.hand + 1) % self.slots.len().max(1);
            self.slots.get(self.hand).copied()
        })
    }
}

impl<T> Slot<T> {
    fn client(&self) -> Client<T> {
        Client {
            user: Some(Arc::clone(&self.user)),
            name: self.name.clone(),
            last_seen: self.last_seen.load(Ordering::Relaxed),
            value: Arc::clone(&self.value),
        }
    }

    fn is_idle(&self, now: u64) -> bool {
        let since = now.saturating_sub(self.last_seen.load(Ordering::Relaxed));
        since >= IDLE_MILLIS && Arc::strong_count(&self.value) == 1
    }

    fn is_reserved(&self) -> bool {
        RESERVED.contains(&self.name.as_str())
    }
}
