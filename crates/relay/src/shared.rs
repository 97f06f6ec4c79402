//! What all sessions have in common.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wire::{Capabilities, without_redirect};

use crate::counters::{Counter, Counters};
use crate::limits::Limits;
use crate::password_exchange::ProxyKey;
use crate::registry::Registry;
use crate::tls::ClientTls;
use crate::upstream::Upstream;
use admission::port::Admission;

#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    /// How long a client may take to log in.
    pub login_time: Duration,
    /// The largest packet of a login.
    pub login_size: usize,
    /// How much of a command is looked at.
    pub inspect: usize,
}

/// Ends statements whose client has left.
pub trait KillQuery: Send + Sync {
    /// Whether the upstream agreed. `address` is the server that knows the id, which the upstream's name may no longer
    /// stand for; `None` where there is only a Unix socket.
    fn kill_query(
        &self,
        upstream_id: u32,
        address: Option<SocketAddr>,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + '_>>;
}

pub struct Shared {
    pub settings: SessionSettings,
    pub upstream: Upstream,
    pub client_tls: ClientTls,
    pub key: ProxyKey,
    pub limits: Limits,
    pub registry: Arc<Registry>,
    pub counters: Arc<Counters>,
    pub admission: Arc<dyn Admission>,
    pub killer: Option<Arc<dyn KillQuery>>,
    /// Told to load balancers while clients are still let in.
    pub draining: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Shared {
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub fn set_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn key(&self) -> &ProxyKey {
        &self.key
    }

    /// An OK without an invitation to go around the proxy.
    pub(crate) fn without_redirect(&self, ok: Vec<u8>, capabilities: Capabilities) -> Vec<u8> {
        match without_redirect(&ok, capabilities) {
            Some(stripped) => {
                self.counters.add(Counter::RedirectsStripped);
                stripped
            }
            None => ok,
        }
    }
}
