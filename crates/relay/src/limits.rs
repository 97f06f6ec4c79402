//! How many connections there may be: in all, before login (in all and from one address), from one address, of one user.
//!
//! What is taken is given back when the [`Slot`] is dropped.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// 0 means no limit of its own, for `per_user`, `per_address` and `unauthenticated_per_address`.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    pub connections: usize,
    pub unauthenticated: usize,
    pub unauthenticated_per_address: usize,
    pub per_user: usize,
    pub per_address: usize,
}

/// Which limit was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    Connections,
    Unauthenticated,
    UnauthenticatedPerAddress,
    PerAddress,
    PerUser,
}

#[derive(Debug)]
pub struct Limits {
    settings: ConnectionLimits,
    connections: Arc<AtomicUsize>,
    unauthenticated: Arc<AtomicUsize>,
    unauthenticated_networks: Arc<Tally<IpAddr>>,
    users: Arc<Tally<Vec<u8>>>,
    addresses: Arc<Tally<IpAddr>>,
}

impl Limits {
    pub fn new(settings: ConnectionLimits) -> Limits {
        Limits {
            settings,
            connections: Arc::default(),
            unauthenticated: Arc::default(),
            unauthenticated_networks: Arc::default(),
            users: Arc::default(),
            addresses: Arc::default(),
        }
    }

    pub fn connection(&self) -> Result<Slot, Limit> {
        take(&self.connections, self.settings.connections).ok_or(Limit::Connections)
    }

    pub fn unauthenticated(&self) -> Result<Slot, Limit> {
        take(&self.unauthenticated, self.settings.unauthenticated).ok_or(Limit::Unauthenticated)
    }

    /// The share of one address in the places before login. A host has a whole IPv6 /64 to itself, and counts as one.
    pub fn unauthenticated_share(&self, address: IpAddr) -> Result<Slot, Limit> {
        let limit = self.settings.unauthenticated_per_address;
        self.unauthenticated_networks.take(network(address), limit).ok_or(Limit::UnauthenticatedPerAddress)
    }

    pub fn address(&self, address: IpAddr) -> Result<Slot, Limit> {
        self.addresses.take(address.to_canonical(), self.settings.per_address).ok_or(Limit::PerAddress)
    }

    pub fn user(&self, user: &[u8]) -> Result<Slot, Limit> {
        self.users.take(user.to_vec(), self.settings.per_user).ok_or(Limit::PerUser)
    }

    pub fn in_use(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// What counts as one address: an IPv4 address, or an IPv6 /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

/// The places of a connection that has not logged in.
#[derive(Debug)]
pub(crate) struct UnauthenticatedPlaces {
    pub(crate) _of_all: Slot,
    /// `None` for a Unix socket, and for a peer whose PROXY header has the client's address.
    pub(crate) of_address: Option<Slot>,
}

/// One place under a limit.
pub struct Slot {
    give_back: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot")
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take() {
            give_back();
        }
    }
}

fn take(count: &Arc<AtomicUsize>, limit: usize) -> Option<Slot> {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < limit).then_some(n + 1)).ok()?;
    let count = Arc::clone(count);
    Some(Slot {
        give_back: Some(Box::new(move || {
            count.fetch_sub(1, Ordering::Relaxed);
        })),
    })
}

#[derive(Debug)]
struct Tally<K> {
    counts: Mutex<HashMap<K, usize>>,
}

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Tally { counts: Mutex::default() }
    }
}

impl<K: Hash + Eq + Clone + Send + Sync + 'static> Tally<K> {
    fn take(self: &Arc<Self>, key: K, limit: usize) -> Option<Slot> {
        if limit == 0 {
            return Some(Slot { give_back: None });
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key.clone()).or_insert(0);
        if *count >= limit {
            return None;
        }
        *count += 1;
        let tally = Arc::clone(self);
        Some(Slot { give_back: Some(Box::new(move || tally.give_back(&key))) })
    }

    fn give_back(&self, key: &K) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits::new(ConnectionLimits {
            connections: 2,
            unauthenticated: 1,
            unauthenticated_per_address: 1,
            per_user: 1,
            per_address: 0,
        })
    }

    #[test]
    fn a_slot_is_given_back_when_dropped() {
        let limits = limits();
        let first = limits.connection().unwrap();
        let _second = limits.connection().unwrap();
        assert_eq!(limits.connection().unwrap_err(), Limit::Connections);
        drop(first);
        assert!(limits.connection().is_ok());
    }

    #[test]
    fn users_are_counted_apart_and_leave_nothing_behind() {
        let limits = limits();
        let a = limits.user(b"a").unwrap();
        assert_eq!(limits.user(b"a").unwrap_err(), Limit::PerUser);
        let b = limits.user(b"b").unwrap();
        drop((a, b));
        assert!(limits.users.counts.lock().unwrap().is_empty());
    }

    #[test]
    fn share_is_by_ipv4_address_and_ipv6_network() {
        let limits = limits();
        for (first, second, is_shared) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::1", "2001:db8::ffff:1:2:3", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let [first, second] = [first, second].map(|address| address.parse().unwrap());
            let slot = limits.unauthenticated_share(first).unwrap();
            assert_eq!(limits.unauthenticated_share(second).is_err(), is_shared, "{first} {second}");
            drop(slot);
        }
    }

    #[test]
    fn zero_is_no_limit_of_its_own() {
        let limits = limits();
        let address = IpAddr::from([127, 0, 0, 1]);
        let slots: Vec<_> = (0..100).map(|_| limits.address(address).unwrap()).collect();
        assert_eq!(slots.len(), 100);
    }
}
