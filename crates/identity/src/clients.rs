//! The clients that are remembered: a bounded table, shared fairly between users.

mod table;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::name::Name;
use table::{Room, Table};

/// One remembered client.
#[derive(Debug)]
pub struct Client<T> {
    /// `None` for the one entry that is shared by all for whom there was no room.
    pub user: Option<Arc<[u8]>>,
    pub name: Name,
    /// Milliseconds, as given to [`Clients::entry`].
    pub last_seen: u64,
    pub value: Arc<T>,
}

/// Something for each client that is remembered, by its user and its name.
///
/// There are at most as many as the table has room for, and a quarter of them for one user. Idle ones, which nobody
/// holds and nobody has asked for in a minute, leave for new ones. A name without room shares its user's entry called
/// `__overflow__`, and a user without room an entry of all such users. But a user with fewer entries than another has
/// room: what claims are worth is divided between users first. `unattributed` is a name with an entry like any other, and
/// has room among its user's.
pub struct Clients<T> {
    table: RwLock<Table<T>>,
    shared: OnceLock<Arc<T>>,
    shared_seen: AtomicU64,
    overflowed: AtomicU64,
    on_leave: Option<OnLeave<T>>,
}

type OnLeave<T> = Box<dyn Fn(Client<T>) + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Entries in the table, those called `__overflow__` among them.
    pub remembered: usize,
    /// How often a client got an entry called `__overflow__`.
    pub overflowed: u64,
    /// How many entries have left for others.
    pub left: u64,
}

impl<T> Default for Clients<T> {
    fn default() -> Clients<T> {
        Clients::with_room_for(10_000)
    }
}

impl<T> Clients<T> {
    pub fn with_room_for(clients: usize) -> Clients<T> {
        Clients {
            table: RwLock::new(Table::with_room_for(clients)),
            shared: OnceLock::new(),
            shared_seen: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            on_leave: None,
        }
    }

    /// To keep what would be lost with an entry that leaves, such as its counts: it is called before anybody sees that the
    /// entry is gone, and must not ask this table anything. Whoever still holds one that had to leave for a user with fewer
    /// may go on counting in it.
    #[must_use]
    pub fn on_leave(self, on_leave: impl Fn(Client<T>) + Send + Sync + 'static) -> Clients<T> {
        Clients { on_leave: Some(Box::new(on_leave)), ..self }
    }

    /// `now` is in milliseconds of any clock. `make` may be called for the entry itself or for one that overflows.
    pub fn entry(&self, user: &[u8], name: &Name, now: u64, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(value) = self.read().seen(user, name, now) {
            return value;
        }
        let mut table = self.write();
        let (room, leaving) = table.enter(user, name, now, make);
        if let (Some(on_leave), Some(leaving)) = (&self.on_leave, leaving) {
            on_leave(leaving);
        }
        drop(table);
        match room {
            Room::Own(value) => value,
            Room::Overflow(value) => {
                self.overflowed.fetch_add(1, Ordering::Relaxed);
                value
            }
            Room::Nowhere(make) => {
                self.overflowed.fetch_add(1, Ordering::Relaxed);
                self.shared_seen.fetch_max(now, Ordering::Relaxed);
                Arc::clone(self.shared.get_or_init(|| Arc::new(make())))
            }
        }
    }

    /// All of them, in no order.
    pub fn list(&self) -> Vec<Client<T>> {
        let shared = self.shared.get().map(|value| Client {
            user: None,
            name: Name::overflow(),
            last_seen: self.shared_seen.load(Ordering::Relaxed),
            value: Arc::clone(value),
        });
        self.read().iter().chain(shared).collect()
    }

    pub fn counts(&self) -> Counts {
        let table = self.read();
        Counts {
            remembered: table.len() + usize::from(self.shared.get().is_some()),
            overflowed: self.overflowed.load(Ordering::Relaxed),
            left: table.left(),
        }
    }

    // Nothing panics while it holds the lock but `make`, and that is called before anything is changed, or `on_leave`, when
    // all is changed.
    fn read(&self) -> RwLockReadGuard<'_, Table<T>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table<T>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Clients<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
