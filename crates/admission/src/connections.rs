//! `max_connections`. Every session is known here, so that a rule which comes later, or whose hours begin, counts those
//! that are there already, and one that goes forgets them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use rules::{CompiledRule, MatchingLimits, Mode, RuleId, Timestamp};

use crate::login::Login;
use crate::policy::Policy;
use crate::who::Who;

#[derive(Debug)]
pub(crate) struct Connections {
    policy: Arc<ArcSwap<Policy>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<u64, Session>,
    last_id: u64,
    /// Sessions under each rule, as far as the rules were counted.
    under: HashMap<RuleId, u32>,
    counted: Option<Counted>,
}

#[derive(Debug)]
struct Session {
    login: Arc<Login>,
    under: Vec<RuleId>,
}

/// By which policy the sessions were counted, and when that is no longer right.
#[derive(Debug, Clone, Copy)]
struct Counted {
    generation: u64,
    until: Option<Timestamp>,
}

/// The limit that has no room.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full(pub(crate) RuleId);

/// Limits in `warn` that have no room.
pub(crate) type Warned = Vec<RuleId>;

impl Connections {
    pub(crate) fn new(policy: Arc<ArcSwap<Policy>>) -> Arc<Connections> {
        Arc::new(Connections { policy, state: Mutex::default() })
    }

    /// Whether a session would be let in now.
    pub(crate) fn look(&self, login: &Login, now: Timestamp) -> Result<(), Full> {
        let mut state = self.lock();
        // Loaded within the lock: who is counted by an older policy is counted anew before the next one is let in.
        let policy = self.policy.load();
        state.count_anew(&policy, now);
        state.judge(&policy, login, now).map(drop)
    }

    pub(crate) fn enter(self: &Arc<Self>, login: &Arc<Login>, now: Timestamp) -> Result<(Connected, Warned), Full> {
        let mut state = self.lock();
        state.last_id += 1;
        let id = state.last_id;
        let warned = state.enter(id, &self.policy.load(), login, now)?;
        Ok((Connected { connections: Arc::clone(self), id }, warned))
    }

    /// Sessions under a rule.
    pub(crate) fn used(&self, rule: &str, now: Timestamp) -> u32 {
        let mut state = self.lock();
        state.count_anew(&self.policy.load(), now);
        state.used(rule)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The maps are whole between any two statements, so a panic elsewhere cannot have broken them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that counts, until it is dropped.
#[derive(Debug)]
pub(crate) struct Connected {
    connections: Arc<Connections>,
    id: u64,
}

impl Connected {
    /// It is somebody else's now. What it had is given back first: a session never needs two places. If there is no room it
    /// has none.
    pub(crate) fn change(&mut self, login: &Arc<Login>, now: Timestamp) -> Result<Warned, Full> {
        let mut state = self.connections.lock();
        state.leave(self.id);
        state.enter(self.id, &self.connections.policy.load(), login, now)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.connections.lock().leave(self.id);
    }
}

impl State {
    fn enter(&mut self, id: u64, policy: &Policy, login: &Arc<Login>, now: Timestamp) -> Result<Warned, Full> {
        self.count_anew(policy, now);
        let (under, warned) = self.judge(policy, login, now)?;
        self.count(&under);
        self.sessions.insert(id, Session { login: Arc::clone(login), under });
        Ok(warned)
    }

    fn leave(&mut self, id: u64) {
        let Some(session) = self.sessions.remove(&id) else { return };
        for rule in &session.under {
            if let Some(count) = self.under.get_mut(rule) {
                *count -= 1;
                if *count == 0 {
                    self.under.remove(rule);
                }
            }
        }
    }

    fn used(&self, rule: &str) -> u32 {
        self.under.get(rule).copied().unwrap_or(0)
    }

    fn count(&mut self, rules: &[RuleId]) {
        rules.iter().for_each(|rule| *self.under.entry(rule.clone()).or_default() += 1);
    }

    /// Does nothing unless the policy is another one, or a rule's time has begun or ended.
    fn count_anew(&mut self, policy: &Policy, now: Timestamp) {
        let holds =
            |counted: Counted| counted.generation == policy.generation && counted.until.is_none_or(|until| now < until);
        if self.counted.is_some_and(holds) {
            return;
        }
        self.under.clear();
        let mut sessions = std::mem::take(&mut self.sessions);
        for session in sessions.values_mut() {
            session.under = owners(policy, &session.login, now).ids();
            self.count(&session.under);
        }
        self.sessions = sessions;
        self.counted = Some(Counted { generation: policy.generation, until: policy.connections_change(now) });
    }

    /// The rules that count a session, and those in `warn` that are full.
    fn judge(&self, policy: &Policy, login: &Login, now: Timestamp) -> Result<(Vec<RuleId>, Warned), Full> {
        let owners = owners(policy, login, now);
        let is_full =
            |rule: &&CompiledRule| rule.effect.limits.max_connections.is_some_and(|limit| self.used(&rule.id) >= limit);
        match owners.enforced.iter().find(is_full) {
            Some(rule) => Err(Full(rule.id.clone())),
            None => Ok((owners.ids(), owners.warned().filter(is_full).map(|rule| rule.id.clone()).collect())),
        }
    }
}

#[derive(Default)]
struct Limiting<'p> {
    enforced: MatchingLimits<'p>,
    with_warned: MatchingLimits<'p>,
}

impl<'p> Limiting<'p> {
    fn warned(&self) -> impl Iterator<Item = &'p CompiledRule> + use<'p, '_> {
        self.with_warned.iter().filter(|rule| !self.enforced.contains(rule))
    }

    fn ids(&self) -> Vec<RuleId> {
        self.enforced.iter().chain(self.warned()).map(|rule| rule.id.clone()).collect()
    }
}

fn owners<'p>(policy: &'p Policy, login: &Login, now: Timestamp) -> Limiting<'p> {
    if !policy.limits_connections() {
        return Limiting::default();
    }
    let who = Who::new(policy, login.identities(&policy.identity));
    let judged = who.judge_login(policy, login.schema.as_deref(), now);
    let with_warned = judged.with_warned.unwrap_or_else(|| judged.enforced.clone());
    match policy.defaults.mode {
        Mode::Enforce => Limiting { enforced: judged.enforced, with_warned },
        Mode::Warn => Limiting { enforced: MatchingLimits::default(), with_warned },
        Mode::Off => Limiting::default(),
    }
}

#[cfg(test)]
mod tests;
