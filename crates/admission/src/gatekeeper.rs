//! What all sessions' gates share: the policy in force, the limits, the clients and their counts.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use identity::{Client as Known, Clients};
use rules::{Mode, Timestamp};
use statement::ParseCache;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::limits::{Limits, Need};
use crate::policy::Policy;
use crate::port::{Admission, Client, Gate, Refusal};
use crate::refusal::{Reason, Words, too_many_connections};
use crate::session_gate::{Asker, SessionGate};
use crate::stats::{ClientStats, Counted};

pub struct Gatekeeper {
    pub(crate) policy: ArcSwap<Policy>,
    /// The generation of `policy`, where a session can see cheaply that it has changed.
    pub(crate) generation: AtomicU64,
    changed: watch::Sender<u64>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) connections: Arc<Limits>,
    pub(crate) clients: Clients<ClientStats>,
    pub(crate) parsed: ParseCache,
    /// Units that wait, of all clients.
    pub(crate) waiting: AtomicUsize,
    started: Instant,
    wall: Wall,
    seeds: AtomicU64,
}

/// The wall clock.
pub type Wall = Box<dyn Fn() -> Timestamp + Send + Sync>;

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gatekeeper").field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Gatekeeper {
    /// `seed` decides every roll of the dice.
    pub fn new(policy: Policy, wall: Wall, seed: u64) -> Arc<Gatekeeper> {
        let generation = policy.generation;
        Arc::new(Gatekeeper {
            policy: ArcSwap::from_pointee(policy),
            generation: AtomicU64::new(generation),
            changed: watch::channel(generation).0,
            limits: Arc::default(),
            connections: Arc::default(),
            clients: Clients::default(),
            parsed: ParseCache::new(),
            waiting: AtomicUsize::new(0),
            started: Instant::now(),
            wall,
            seeds: AtomicU64::new(seed),
        })
    }

    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Puts a policy in force. What is held is judged anew.
    pub fn apply(&self, policy: Policy) {
        let generation = policy.generation;
        self.policy.store(Arc::new(policy));
        self.generation.store(generation, Ordering::Release);
        self.changed.send_replace(generation);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub fn now(&self) -> Timestamp {
        (self.wall)()
    }

    pub(crate) fn uptime_millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn seed(&self) -> u64 {
        // SplitMix64's constant: consecutive seeds are far apart.
        self.seeds.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)
    }

    /// Every client that is remembered, and what it asked and got.
    pub fn clients(&self) -> Vec<(Known<ClientStats>, Counted)> {
        let counted = |client: Known<ClientStats>| {
            let counted = client.value.counted();
            (client, counted)
        };
        self.clients.list().into_iter().map(counted).collect()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Units that run under a rule's `max_concurrency`, and sessions under its `max_connections`.
    pub fn used(&self, rule: &str) -> (u32, u32) {
        (self.limits.used(rule), self.connections.used(rule))
    }

    /// The limits on connections that concern a client, by its login.
    fn connection_needs(&self, policy: &Policy, asker: &Asker, schema: Option<&[u8]>) -> Vec<Need> {
        if policy.defaults.mode != Mode::Enforce {
            return Vec::new();
        }
        let owners = asker.judge_login(policy, schema, self.now()).enforced;
        let need = |rule: &rules::CompiledRule| {
            let limit = rule.effect.limits.max_connections?;
            Some(Need { rule: rule.id.clone(), limit, generation: policy.generation })
        };
        owners.iter().filter_map(need).collect()
    }

    fn too_many(&self, asker: &Asker, needs: &[Need]) -> Refusal {
        let full = needs.iter().find(|need| self.connections.used(&need.rule) >= need.limit).or(needs.first());
        asker.stats.rejected();
        too_many_connections(&Words {
            rule: full.map_or("-", |need| &need.rule),
            reason: Reason::Connections,
            client: asker.identities.claimed.name.as_str(),
            retry_after: std::time::Duration::from_secs(1),
            id: self.seed(),
        })
    }

    /// Places under the limits on connections.
    pub(crate) fn take_connection(
        &self,
        policy: &Policy,
        asker: &Asker,
        schema: Option<&[u8]>,
    ) -> Result<Option<crate::limits::Places>, Refusal> {
        let needs = self.connection_needs(policy, asker, schema);
        if needs.is_empty() {
            return Ok(None);
        }
        self.connections.take(&needs).map(Some).ok_or_else(|| self.too_many(asker, &needs))
    }
}

/// An [`Admission`] needs to hand itself to its gates.
impl Admission for Arc<Gatekeeper> {
    fn may_connect(&self, client: &Client<'_>) -> Result<(), Refusal> {
        let policy = self.policy.load();
        if policy.rules.is_empty() {
            return Ok(());
        }
        let asker = Asker::of_connection(self, &policy, client);
        let needs = self.connection_needs(&policy, &asker, client.database);
        if self.connections.has_room(&needs) { Ok(()) } else { Err(self.too_many(&asker, &needs)) }
    }

    fn enter(&self, client: &Client<'_>) -> Result<Box<dyn Gate>, Refusal> {
        Ok(Box::new(SessionGate::new(Arc::clone(self), client)?))
    }
}
