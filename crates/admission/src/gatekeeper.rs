//! What all sessions' gates share: the policy in force, the limits, the clients and their counts.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use catalog::Catalog;
use health::Flow;
use identity::{Client as Known, Clients, Counts};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rules::{LoginJudgement, Mode, Timestamp};
use statement::{Doubts, ParseCache};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::connections::{Connections, Full};
use crate::gates::{Gates, InFlight, ShardId};
use crate::limits::Limits;
use crate::login::Login;
use crate::policy::{Placed, Policy};
use crate::port::{Admission, Client, Gate, Refusal};
use crate::refusal::{Reason, Words, too_many_connections};
use crate::room::Room;
use crate::session_gate::SessionGate;
use crate::shared_catalog::SharedCatalog;
use crate::stats::{ClientStats, Counted, Forgetting, Forgotten};
use crate::who::Who;

pub struct Gatekeeper {
    policy: Arc<ArcSwap<Policy>>,
    /// The generation of `policy`, where a session can see cheaply that it has changed.
    pub(crate) generation: AtomicU64,
    changed: watch::Sender<u64>,
    /// Policies are put in force one after the other.
    applying: Mutex<()>,
    pub(crate) limits: Arc<Limits>,
    /// What runs under the limits of rules that only warn.
    pub(crate) shadows: Arc<Limits>,
    pub(crate) gates: Arc<Gates>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) clients: Clients<ClientStats>,
    forgotten: Arc<Mutex<Forgetting>>,
    pub(crate) parsed: ParseCache,
    /// The tables that the views, routines and triggers of the upstream touch.
    pub(crate) catalog: SharedCatalog,
    catalog_wanted: Arc<Notify>,
    pub(crate) room: Arc<Room>,
    pub(crate) conflicts: AtomicU64,
    /// Statements in doubt, by the reasons of [`Doubts::NAMES`].
    doubts: [AtomicU64; Doubts::NAMES.len()],
    /// Statements in doubt for any reason.
    doubtful: AtomicU64,
    started: Instant,
    wall: Wall,
    seeds: AtomicU64,
    /// Sessions so far.
    sessions: AtomicU64,
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
    pub fn new(mut policy: Policy, wall: Wall, seed: u64) -> Arc<Gatekeeper> {
        let generation = policy.generation;
        let in_flight: Arc<InFlight> = Arc::default();
        let (limits, shadows) = (Limits::counting(Arc::clone(&in_flight)), Limits::counting(Arc::clone(&in_flight)));
        let gates = Gates::new(in_flight, Arc::clone(&limits), Arc::clone(&shadows));
        policy.gates = gates.adopt(std::mem::take(&mut policy.planned));
        let policy = Arc::new(ArcSwap::from_pointee(policy));
        let forgotten: Arc<Mutex<Forgetting>> = Arc::default();
        Arc::new(Gatekeeper {
            connections: Connections::new(Arc::clone(&policy)),
            policy,
            generation: AtomicU64::new(generation),
            changed: watch::channel(generation).0,
            applying: Mutex::default(),
            limits,
            shadows,
            gates,
            clients: remembered(&forgotten),
            forgotten,
            parsed: ParseCache::new(),
            catalog: SharedCatalog::unknown(),
            catalog_wanted: Arc::default(),
            room: Arc::default(),
            conflicts: AtomicU64::new(0),
            doubts: Default::default(),
            doubtful: AtomicU64::new(0),
            started: Instant::now(),
            wall,
            seeds: AtomicU64::new(seed),
            sessions: AtomicU64::new(0),
        })
    }

    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Puts a policy in force. What is held is judged anew. Its generation must be another than the one before, or sessions
    /// would not see it: if it is not higher, it is made so.
    pub fn apply(&self, mut policy: Policy) {
        let _one_at_a_time = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = policy.generation.max(self.generation.load(Ordering::Relaxed) + 1);
        policy.generation = generation;
        policy.gates = self.gates.adopt(std::mem::take(&mut policy.planned));
        self.policy.store(Arc::new(policy));
        self.generation.store(generation, Ordering::Release);
        self.changed.send_replace(generation);
    }

    /// Replaces what is known of the upstream's views, routines and triggers by what was read from this moment on.
    pub fn set_catalog(&self, catalog: Arc<Catalog>, read_from: Instant) {
        self.catalog.store(catalog, read_from);
    }

    /// Notified when a statement may have changed the upstream's catalogue. Several notifications may count as one.
    pub fn catalog_wanted(&self) -> &Arc<Notify> {
        &self.catalog_wanted
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

    /// The gates, for those who measure and those who look.
    pub fn gates(&self) -> &Arc<Gates> {
        &self.gates
    }

    /// Where a new session counts.
    pub(crate) fn shard(&self) -> ShardId {
        InFlight::shard(self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn dice(&self) -> SmallRng {
        // SplitMix64's constant: consecutive seeds are far apart.
        SmallRng::seed_from_u64(self.seeds.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed))
    }

    /// Every client that is remembered, and what it asked and got.
    pub fn clients(&self) -> Vec<(Known<ClientStats>, Counted)> {
        let counted = |client: Known<ClientStats>| {
            let counted = client.value.counted();
            (client, counted)
        };
        self.clients.list().into_iter().map(counted).collect()
    }

    /// The same, and the sums of what those asked and got who are not remembered any more.
    pub fn clients_and_forgotten(&self) -> (Vec<(Known<ClientStats>, Counted)>, Forgotten) {
        // Who leaves in between would be in both or in neither.
        for _ in 0..10 {
            let left = self.clients.counts().left;
            let (clients, forgotten) = (self.clients(), self.forgotten());
            if self.clients.counts().left == left {
                return (clients, forgotten);
            }
        }
        (self.clients(), self.forgotten())
    }

    fn forgotten(&self) -> Forgotten {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).so_far()
    }

    /// Units that wait, of all clients.
    pub fn waiting(&self) -> usize {
        self.room.count()
    }

    /// The same, but for those who wait because so many do: else the queue could never become shorter.
    pub fn queue_length(&self) -> usize {
        self.waiting().saturating_sub(self.gates.waiting_only_for(health::BuiltIn::QueueLength))
    }

    /// Units that run under a rule's `max_concurrency`, in force or only warning, and sessions under its
    /// `max_connections`.
    pub fn used(&self, rule: &str) -> (u32, u32) {
        let running = self.limits.used(rule) + self.shadows.used(rule);
        (running, self.connections.used(rule, self.now()))
    }

    /// How often something that a client said of itself did not count, because it also said otherwise or too much.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Counts a statement, once and for each reason for which a fact of it is not certain.
    #[inline]
    pub(crate) fn count_doubts(&self, doubts: Doubts) {
        if !doubts.is_empty() {
            self.doubtful.fetch_add(1, Ordering::Relaxed);
            for ((_, doubt), count) in Doubts::NAMES.into_iter().zip(&self.doubts) {
                count.fetch_add(u64::from(doubts.contains(doubt)), Ordering::Relaxed);
            }
        }
    }

    /// Statements of which some fact is not certain.
    pub fn doubtful_statements(&self) -> u64 {
        self.doubtful.load(Ordering::Relaxed)
    }

    /// Doubts about statements, by their reason. A statement may have several.
    pub fn doubts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Doubts::NAMES.into_iter().zip(&self.doubts).map(|((name, _), count)| (name, count.load(Ordering::Relaxed)))
    }

    /// How full the table of clients is, and who found no room in it.
    pub fn client_counts(&self) -> Counts {
        self.clients.counts()
    }

    /// Gates on logins stop one who would come; nobody waits at them, since a connection that waits is one too.
    fn pass_login_gates(&self, policy: &Policy, login: &Login) -> Result<(), Refusal> {
        let who = Who::new(policy, login.identities(&policy.identity));
        let concerning = policy.gates.concerning_login(&who, login.schema.as_deref());
        if concerning.enforced | concerning.warned == 0 {
            return Ok(());
        }
        let judged = who.judge_login(policy, login.schema.as_deref(), self.now());
        for placed in policy.gates.iter().filter(|placed| !judged.skips(placed.name())) {
            if concerning.warned & placed.slot.bit() != 0 && self.stops_login(placed, &judged, &self.shadows) {
                self.gates.login_stopped(placed.name(), Mode::Warn);
            }
            if concerning.enforced & placed.slot.bit() != 0 && self.stops_login(placed, &judged, &self.limits) {
                self.gates.login_stopped(placed.name(), Mode::Enforce);
                return Err(too_many_connections(&Words {
                    rule: placed.name(),
                    reason: Reason::Gate,
                    client: who.name(),
                    retry_after: Duration::from_secs(1),
                    id: self.dice().random(),
                }));
            }
        }
        Ok(())
    }

    fn stops_login(&self, placed: &Placed, judged: &LoginJudgement<'_>, limits: &Arc<Limits>) -> bool {
        if limits.flow(placed.slot) == Flow::Waking {
            // Nobody has measured yet: one login is not what a server breaks by, and the next is judged.
            self.gates.want();
            return false;
        }
        let own = placed.gate.settings.threshold;
        let needs = placed.needs(judged.threshold(placed.name(), own), true).collect::<Vec<_>>();
        limits.take(&needs).is_none()
    }

    /// What a client without room under `max_connections` gets.
    pub(crate) fn too_many(&self, full: &Full, client: &str) -> Refusal {
        too_many_connections(&Words {
            rule: &full.0,
            reason: Reason::Connections,
            client,
            retry_after: Duration::from_secs(1),
            id: self.dice().random(),
        })
    }
}

/// A table of clients whose counts outlive them.
fn remembered(forgotten: &Arc<Mutex<Forgetting>>) -> Clients<ClientStats> {
    let forgotten = Arc::clone(forgotten);
    Clients::default().on_leave(move |client: Known<ClientStats>| {
        forgotten.lock().unwrap_or_else(PoisonError::into_inner).add(&client.name, &client.value.counted());
    })
}

/// An [`Admission`] needs to hand itself to its gates.
impl Admission for Arc<Gatekeeper> {
    /// Nothing is remembered of one who may be anybody.
    fn may_connect(&self, client: &Client<'_>) -> Result<(), Refusal> {
        let policy = self.policy.load();
        if policy.gates.look_at_logins() {
            self.pass_login_gates(&policy, &Login::new(client))?;
        }
        self.may_become(client)
    }

    fn may_become(&self, client: &Client<'_>) -> Result<(), Refusal> {
        let policy = self.policy.load();
        if !policy.limits_connections() {
            return Ok(());
        }
        let login = Login::new(client);
        self.connections.look(&login, self.now()).map_err(|full| {
            let identities = login.identities(&policy.identity);
            self.too_many(&full, identities.claimed.name.as_str())
        })
    }

    fn enter(&self, client: &Client<'_>) -> Result<Box<dyn Gate>, Refusal> {
        Ok(Box::new(SessionGate::new(Arc::clone(self), client)?))
    }
}

#[cfg(test)]
mod tests;
