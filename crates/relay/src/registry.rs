//! The living sessions by the id that their clients were given.
//!
//! Our ids have the top bit set and 31 random bits, so that they cannot be taken for one of the upstream's, which count
//! up from 1. A KILL with one of ours is translated here.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use atomic_waker::AtomicWaker;
use rand::RngExt;

/// A client that has just come has not asked anything yet: it gets this long after a drain has begun, so that one which
/// connects, asks and leaves does not notice that a new process takes over.
pub const GRACE: Duration = Duration::from_secs(1);

/// What the rest of the process can tell a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Signal {
    None = 0,
    /// End at the next transaction boundary.
    Drain = 1,
    /// End now.
    Cut = 2,
}

/// One session, as the others see it.
#[derive(Debug)]
pub struct SessionHandle {
    pub id: u32,
    /// The upstream's id and address, once it has greeted.
    upstream: OnceLock<(u32, Option<SocketAddr>)>,
    signal: AtomicU8,
    /// A KILL for what this session has running or held.
    interrupted: AtomicBool,
    waker: AtomicWaker,
}

impl SessionHandle {
    pub fn upstream_id(&self) -> Option<u32> {
        self.upstream.get().map(|&(id, _)| id)
    }

    /// The address of the server that gave the id: after a failover the same number means somebody else's session on
    /// the new one. `None` on a Unix socket.
    pub fn upstream_address(&self) -> Option<SocketAddr> {
        self.upstream.get().and_then(|&(_, address)| address)
    }

    pub fn set_upstream(&self, id: u32, address: Option<SocketAddr>) {
        let _ = self.upstream.set((id, address));
    }

    /// Until a drain has begun and a client on its way has had [`GRACE`], or all sessions are cut. Cancel safe.
    pub async fn drained(&self) {
        self.reached(Signal::Drain).await;
        let _ = tokio::time::timeout(GRACE, self.reached(Signal::Cut)).await;
    }

    async fn reached(&self, signal: Signal) {
        poll_fn(|context| {
            self.register(context.waker());
            if self.signal() >= signal { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// The strongest signal so far. Register the waker first.
    #[inline]
    pub fn signal(&self) -> Signal {
        match self.signal.load(Ordering::Acquire) {
            0 => Signal::None,
            1 => Signal::Drain,
            _ => Signal::Cut,
        }
    }

    #[inline]
    pub fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// A KILL ends what is held when it comes, not what is held later.
    pub fn forget_interrupt(&self) {
        self.interrupted.store(false, Ordering::Release);
    }

    fn raise(&self, signal: Signal) {
        self.signal.fetch_max(signal as u8, Ordering::Release);
        self.waker.wake();
    }
}

#[derive(Debug, Default)]
pub struct Registry {
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: HashMap<u32, Arc<SessionHandle>>,
    /// A session that begins while the proxy drains is told at once.
    signal: Option<Signal>,
}

impl Registry {
    /// Enters a new session; it leaves when the entry is dropped.
    pub fn enter(self: &Arc<Self>) -> Entry {
        let mut sessions = self.lock();
        let id = loop {
            let id = rand::rng().random::<u32>() | 0x8000_0000;
            if !sessions.by_id.contains_key(&id) {
                break id;
            }
        };
        let handle = Arc::new(SessionHandle {
            id,
            upstream: OnceLock::new(),
            signal: AtomicU8::new(sessions.signal.unwrap_or(Signal::None) as u8),
            interrupted: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        sessions.by_id.insert(id, Arc::clone(&handle));
        Entry { handle, registry: Arc::clone(self) }
    }

    /// The upstream's id for one of ours, where `asking` is on the same server.
    pub fn upstream_id(&self, id: u32, asking: &SessionHandle) -> Option<u32> {
        let sessions = self.lock();
        let named = sessions.by_id.get(&id)?;
        named.upstream_id().filter(|_| named.upstream_address() == asking.upstream_address())
    }

    pub fn len(&self) -> usize {
        self.lock().by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends what a session has held, by our id or the upstream's, on the server of the one who asks.
    pub fn interrupt(&self, id: u32, asking: &SessionHandle) {
        let sessions = self.lock();
        let found =
            sessions.by_id.get(&id).or_else(|| sessions.by_id.values().find(|handle| handle.upstream_id() == Some(id)));
        if let Some(handle) = found.filter(|named| named.upstream_address() == asking.upstream_address()) {
            handle.interrupted.store(true, Ordering::Release);
            handle.waker.wake();
        }
    }

    /// Tells the sessions that are there to end at a transaction boundary; those yet to begin are none of this.
    pub fn drain_present(&self) -> usize {
        let handles: Vec<_> = self.lock().by_id.values().cloned().collect();
        handles.iter().for_each(|handle| handle.raise(Signal::Drain));
        handles.len()
    }

    /// Tells every session, also those yet to begin.
    pub fn raise(&self, signal: Signal) {
        let handles: Vec<_> = {
            let mut sessions = self.lock();
            sessions.signal = sessions.signal.max(Some(signal));
            sessions.by_id.values().cloned().collect()
        };
        for handle in handles {
            handle.raise(signal);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        // The map is whole between any two statements above, so a panic elsewhere cannot have broken it.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's place in the registry.
#[derive(Debug)]
pub struct Entry {
    pub handle: Arc<SessionHandle>,
    registry: Arc<Registry>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.lock().by_id.remove(&self.handle.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_translated_while_its_session_lives() {
        let registry = Arc::new(Registry::default());
        let entry = registry.enter();
        let id = entry.handle.id;
        assert!(id & 0x8000_0000 != 0);
        let server = Some(SocketAddr::from(([10, 0, 0, 1], 3306)));
        let asking = registry.enter();
        asking.handle.set_upstream(8, server);
        assert_eq!(registry.upstream_id(id, &asking.handle), None, "not logged in yet");
        entry.handle.set_upstream(7, server);
        assert_eq!(registry.upstream_id(id, &asking.handle), Some(7));
        drop(entry);
        assert_eq!(registry.upstream_id(id, &asking.handle), None);
    }

    #[test]
    fn an_id_of_another_server_is_not_translated() {
        let registry = Arc::new(Registry::default());
        let (before, after) = (registry.enter(), registry.enter());
        before.handle.set_upstream(7, Some(SocketAddr::from(([10, 0, 0, 1], 3306))));
        after.handle.set_upstream(7, Some(SocketAddr::from(([10, 0, 0, 2], 3306))));
        assert_eq!(registry.upstream_id(before.handle.id, &after.handle), None);
    }

    #[test]
    fn a_signal_only_grows_and_reaches_those_who_come_later() {
        let registry = Arc::new(Registry::default());
        let early = registry.enter();
        registry.raise(Signal::Cut);
        registry.raise(Signal::Drain);
        assert_eq!(early.handle.signal(), Signal::Cut);
        assert_eq!(registry.enter().handle.signal(), Signal::Cut);
    }

    #[test]
    fn those_present_are_told_and_those_who_come_later_are_not() {
        let registry = Arc::new(Registry::default());
        let early = registry.enter();
        assert_eq!(registry.drain_present(), 1);
        assert_eq!((early.handle.signal(), registry.enter().handle.signal()), (Signal::Drain, Signal::None));
    }
}
