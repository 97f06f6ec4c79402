//! What each client asked and got. Two relaxed additions for a query that passes; everything else is off that path.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use identity::Identity;
use rules::RuleId;
use statement::Class;

use crate::refusal::Reason;

/// One client's counters.
#[derive(Debug, Default)]
pub struct ClientStats {
    /// Who it is, as it was when it was first seen.
    identity: Arc<Identity>,
    /// A bit for each class of statements that it has asked.
    classes: AtomicU8,
    seen: AtomicU64,
    passed: AtomicU64,
    held: AtomicU64,
    rejected: AtomicU64,
    /// Passed although a rule in `warn` would have held or rejected it.
    warned: AtomicU64,
    /// Passed a limit without a place, because it held locks.
    overdrawn: AtomicU64,
    /// Left while it was held.
    left: AtomicU64,
    hold_micros: AtomicU64,
    waiting: AtomicUsize,
    /// At most [`MOST_RULES`] of them.
    by_rule: Mutex<BTreeMap<(RuleId, Reason, Effect), u64>>,
}

/// Rules that one client's counters tell apart; more than these are counted in the sums only.
const MOST_RULES: usize = 64;

/// What a rule did to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    Held,
    Rejected,
    Warned,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Held => "held",
            Effect::Rejected => "rejected",
            Effect::Warned => "warned",
        }
    }
}

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    pub seen: u64,
    pub passed: u64,
    pub held: u64,
    pub rejected: u64,
    pub warned: u64,
    pub overdrawn: u64,
    pub left: u64,
    pub hold_time: Duration,
    pub waiting: usize,
    pub by_rule: Vec<(RuleId, Reason, Effect, u64)>,
}

impl ClientStats {
    pub(crate) fn of(identity: &Arc<Identity>) -> ClientStats {
        ClientStats { identity: Arc::clone(identity), ..ClientStats::default() }
    }

    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// The classes of what it has asked so far.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        let seen = self.classes.load(Ordering::Relaxed);
        Class::ALL.into_iter().filter(move |class| seen & bit(*class) != 0)
    }

    #[inline]
    pub(crate) fn saw(&self, class: Class) {
        self.seen.fetch_add(1, Ordering::Relaxed);
        if self.classes.load(Ordering::Relaxed) & bit(class) == 0 {
            self.classes.fetch_or(bit(class), Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn passed(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn held(&self, time: Duration) {
        self.held.fetch_add(1, Ordering::Relaxed);
        self.hold_micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn rejected(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn warned(&self) {
        self.warned.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn overdrawn(&self) {
        self.overdrawn.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn by_rule(&self, rule: &RuleId, reason: Reason, effect: Effect) {
        let mut by_rule = self.by_rule.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (rule.clone(), reason, effect);
        if let Some(count) = by_rule.get_mut(&key) {
            *count += 1;
        } else if by_rule.len() < MOST_RULES {
            by_rule.insert(key, 1);
        }
    }

    /// A place among those who wait, or `None` if there are `most` already.
    pub(crate) fn wait(&self, most: usize) -> bool {
        take(&self.waiting, most)
    }

    pub(crate) fn waited(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn counted(&self) -> Counted {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let by_rule = self.by_rule.lock().unwrap_or_else(PoisonError::into_inner);
        Counted {
            seen: load(&self.seen),
            passed: load(&self.passed),
            held: load(&self.held),
            rejected: load(&self.rejected),
            warned: load(&self.warned),
            overdrawn: load(&self.overdrawn),
            left: load(&self.left),
            hold_time: Duration::from_micros(load(&self.hold_micros)),
            waiting: self.waiting.load(Ordering::Relaxed),
            by_rule: by_rule
                .iter()
                .map(|((rule, reason, effect), count)| (rule.clone(), *reason, *effect, *count))
                .collect(),
        }
    }
}

fn bit(class: Class) -> u8 {
    1 << class as u8
}

/// Counts one more unless there are `most` already.
pub(crate) fn take(count: &AtomicUsize, most: usize) -> bool {
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < most).then_some(n + 1)).is_ok()
}
