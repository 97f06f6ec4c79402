//! The clients that are remembered: a bounded table, shared fairly between users.

use std::sync::{Arc, Mutex, PoisonError};

use crate::name::Name;

/// One remembered client.
#[derive(Debug, Clone)]
pub struct Client<T> {
    pub user: Arc<[u8]>,
    pub name: Name,
    /// Milliseconds, as given to [`Clients::entry`].
    pub last_seen: u64,
    pub value: Arc<T>,
}

#[derive(Debug)]
pub struct Clients<T> {
    clients: Mutex<Vec<Client<T>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Clients in the table.
    pub remembered: usize,
    /// How often a client found no room and got an overflow entry.
    pub overflowed: u64,
    /// How many have left for others.
    pub left: u64,
}

impl<T> Default for Clients<T> {
    fn default() -> Clients<T> {
        Clients { clients: Mutex::default() }
    }
}

impl<T> Clients<T> {
    /// `now` is in milliseconds of any clock that does not go back.
    pub fn entry(&self, user: &[u8], name: &Name, now: u64, make: impl FnOnce() -> T) -> Arc<T> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.iter_mut().find(|client| client.user.as_ref() == user && client.name == *name) {
            client.last_seen = now;
            return Arc::clone(&client.value);
        }
        let value = Arc::new(make());
        clients.push(Client { user: user.into(), name: name.clone(), last_seen: now, value: Arc::clone(&value) });
        value
    }

    pub fn list(&self) -> Vec<Client<T>> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients
            .iter()
            .map(|client| Client {
                user: Arc::clone(&client.user),
                name: client.name.clone(),
                last_seen: client.last_seen,
                value: Arc::clone(&client.value),
            })
            .collect()
    }

    pub fn counts(&self) -> Counts {
        Counts { remembered: self.list().len(), ..Counts::default() }
    }
}
