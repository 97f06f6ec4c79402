//! What each client asked and got. Two relaxed additions for a query that passes; everything else is off that path.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use identity::{Identity, Name};
use rules::RuleId;
use statement::Class;

use crate::refusal::{NOBODY, Reason};

/// One client's counters. What it asked was, or is, one of four: `seen` = `passed` + `rejected` + `left` + `waiting`.
#[derive(Debug, Default)]
pub struct ClientStats {
    /// Who it is, as it was when it was first seen.
    identity: Arc<Identity>,
    /// A bit for each class of statements that it has asked.
    classes: AtomicU8,
    /// Statements, not logins.
    seen: AtomicU64,
    passed: AtomicU64,
    /// Had to wait, however that ended. The pause before a refusal is no waiting.
    held: AtomicU64,
    rejected: AtomicU64,
    /// Passed although a rule in `warn` would have held or rejected it.
    warned: AtomicU64,
    /// Passed a limit without a place, because it held locks.
    overdrawn: AtomicU64,
    /// Its client left or killed it while it was held.
    left: AtomicU64,
    /// Of those who wait no more.
    hold_micros: AtomicU64,
    waiting: AtomicUsize,
    /// What each rule did, and to logins too: a unit counts once for a rule and an effect. At most [`MOST_RULES`] of them.
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

impl Counted {
    /// Both together. Which rules it was is left out, and who waits now: that is no sum over time.
    #[must_use]
    pub fn and(&self, other: &Counted) -> Counted {
        Counted {
            seen: self.seen.saturating_add(other.seen),
            passed: self.passed.saturating_add(other.passed),
            held: self.held.saturating_add(other.held),
            rejected: self.rejected.saturating_add(other.rejected),
            warned: self.warned.saturating_add(other.warned),
            overdrawn: self.overdrawn.saturating_add(other.overdrawn),
            left: self.left.saturating_add(other.left),
            hold_time: self.hold_time.saturating_add(other.hold_time),
            waiting: 0,
            by_rule: Vec::new(),
        }
    }
}

/// The counts of clients that are not remembered any more, so that sums over all clients never fall.
#[derive(Debug, Default)]
pub(crate) struct Forgetting {
    sums: Counted,
    unattributed: u64,
    by_rule: BTreeMap<(RuleId, Reason, Effect), u64>,
}

/// These counts at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forgotten {
    pub counted: Counted,
    /// Statements of those among them who had no name.
    pub unattributed: u64,
}

/// Rules that the counts of forgotten clients tell apart.
const MOST_FORGOTTEN_RULES: usize = 1024;

impl Forgetting {
    pub(crate) fn add(&mut self, name: &Name, counted: &Counted) {
        self.sums = self.sums.and(counted);
        if name.as_str() == Name::UNATTRIBUTED {
            self.unattributed = self.unattributed.saturating_add(counted.seen);
        }
        for (rule, reason, effect, count) in &counted.by_rule {
            let key = (rule.clone(), *reason, *effect);
            if let Some(sum) = self.by_rule.get_mut(&key) {
                *sum = sum.saturating_add(*count);
            } else if self.by_rule.len() < MOST_FORGOTTEN_RULES {
                self.by_rule.insert(key, *count);
            }
        }
    }

    pub(crate) fn so_far(&self) -> Forgotten {
        let counted = Counted { by_rule: listed(&self.by_rule), ..self.sums.clone() };
        Forgotten { counted, unattributed: self.unattributed }
    }
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

    /// What no rule is to blame for has an id that no rule has.
    pub(crate) fn by_rule_or_nobody(&self, rule: Option<&RuleId>, reason: Reason, effect: Effect) {
        match rule {
            Some(rule) => self.by_rule(rule, reason, effect),
            None => self.by_rule(&NOBODY.into(), reason, effect),
        }
    }

    /// One more waits, unless there are `most` already.
    pub(crate) fn wait(&self, most: usize) -> bool {
        let one_more = |waiting| (waiting < most).then_some(waiting + 1);
        let waits = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        self.held.fetch_add(u64::from(waits), Ordering::Relaxed);
        waits
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.hold_micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
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
            by_rule: listed(&by_rule),
        }
    }
}

fn listed(by_rule: &BTreeMap<(RuleId, Reason, Effect), u64>) -> Vec<(RuleId, Reason, Effect, u64)> {
    by_rule.iter().map(|((rule, reason, effect), count)| (rule.clone(), *reason, *effect, *count)).collect()
}

fn bit(class: Class) -> u8 {
    1 << class as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_what_lasts() {
        let one = Counted {
            seen: 1,
            passed: 2,
            held: 3,
            rejected: 4,
            warned: 5,
            overdrawn: 6,
            left: 7,
            hold_time: Duration::from_millis(8),
            waiting: 9,
            by_rule: vec![("r".into(), Reason::Hold, Effect::Held, 10)],
        };
        let two = one.and(&one);
        let counts = [two.seen, two.passed, two.held, two.rejected, two.warned, two.overdrawn, two.left];
        assert_eq!(counts, [2, 4, 6, 8, 10, 12, 14]);
        assert_eq!((two.hold_time, two.waiting, two.by_rule), (Duration::from_millis(16), 0, Vec::new()));
    }
}
