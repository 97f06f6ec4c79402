//! What is decided as a whole: an autocommit statement, or a phase of a transaction.
//!
//! A transaction that holds row locks must finish, or everybody else waits for it; one that has only read may still be
//! stopped. What a statement's place in its transaction means for its verdict is said here, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use statement::{Class, TransactionEffect};
use tokio::time::Instant;

use crate::port::{Outcome, Refusal, SessionState};

/// How long a statement may be held behind which a transaction's metadata locks wait, if nobody has said otherwise.
pub const BRIEF: Duration = Duration::from_secs(1);

/// How long a statement of a lock holder may be held, once its grace is over.
pub const LOCKED: Duration = Duration::from_millis(250);

/// Of a statement, what its place in a transaction depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub class: Class,
    pub free: bool,
    pub transaction: TransactionEffect,
    /// A transaction begins or ends in the text and data follows it.
    pub crosses_boundary: bool,
    pub commits_implicitly: bool,
    /// It ends its transaction without keeping anything.
    pub rolls_back: bool,
}

impl Facts {
    /// Never delayed, and nothing that a transaction would notice.
    pub const FREE: Facts = Facts {
        class: Class::Control,
        free: true,
        transaction: TransactionEffect::None,
        crosses_boundary: false,
        commits_implicitly: false,
        rolls_back: false,
    };
}

/// How long what holds nothing but a snapshot, and what holds locks, passes without being asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Graces {
    pub unit: Duration,
    pub lock: Duration,
    pub lock_statements: u64,
}

impl Default for Graces {
    fn default() -> Self {
        Graces { unit: Duration::from_secs(30), lock: Duration::from_secs(30), lock_statements: 1000 }
    }
}

/// What is to be done with a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Never delayed.
    Free,
    /// Its unit has been decided.
    GoesOn,
    /// Its unit has been decided, but a rule may say otherwise of what has written (`in_transaction`).
    GoesOnUnlessRuled,
    Decide(Bound),
    /// Its transaction has been refused.
    Refused(Arc<Refusal>),
}

/// How long a decision may hold a statement, and what happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// As long as the rule says.
    Full,
    /// Its transaction has only read, and holds metadata locks: a second, or as long as was chosen for such, then it is
    /// rejected.
    AfterReads,
    /// Its transaction may hold more than these: a second, then it is rejected.
    Brief,
    /// It holds locks: a quarter of a second, then it passes.
    Locked,
}

#[derive(Debug, Default)]
pub struct Unit {
    phase: Phase,
    /// Since when, and for how many statements, this session has held locks of any kind.
    locked: Option<Locked>,
    under_way: Option<UnderWay>,
}

/// The statement that has been let through and not been answered yet.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    facts: Facts,
    /// A transaction was open when it was asked for.
    in_transaction: bool,
    /// It passed by an exemption.
    exempt: bool,
}

#[derive(Debug, Clone, Copy)]
struct Locked {
    since: Instant,
    statements: u64,
}

/// `Idle`, `Unsure`, `Exempt` → any; `Reading` → `Exempt`, `Writing`, `Refused`; all → `Idle` when the transaction ends.
#[derive(Debug, Default)]
enum Phase {
    /// No data statement of the transaction, if there is one, has been decided.
    #[default]
    Idle,
    /// A statement failed that may have begun a transaction: an ERR does not say.
    Unsure,
    /// It has read plainly, and holds no row locks.
    Reading { judged: Instant },
    /// Only exempt statements and temporary tables so far. What they locked is no reason to let others pass.
    Exempt,
    /// It has written or locked something.
    Writing,
    Refused {
        refusal: Arc<Refusal>,
        /// The server has begun it, so that its flags will show its end. Under `autocommit=0` it may not have.
        begun: bool,
    },
}

impl Unit {
    /// As in the middle of a transaction that has only read.
    pub(crate) fn reading(judged: Instant) -> Unit {
        Unit { phase: Phase::Reading { judged }, ..Unit::default() }
    }

    /// What is to be done with a statement that has come. Most need not know the time.
    #[inline]
    pub fn turn(
        &mut self,
        facts: &Facts,
        session: SessionState,
        graces: &Graces,
        now: impl FnOnce() -> Instant,
    ) -> Turn {
        if facts.free {
            return Turn::Free;
        }
        if matches!(self.phase, Phase::Idle) && !session.holds_locks {
            self.locked = None;
            return Turn::Decide(Bound::Full);
        }
        self.turn_within(facts, session, graces, now)
    }

    fn turn_within(
        &mut self,
        facts: &Facts,
        session: SessionState,
        graces: &Graces,
        now: impl FnOnce() -> Instant,
    ) -> Turn {
        if !session.in_transaction && session.autocommit && !matches!(self.phase, Phase::Unsure) {
            // It has ended by something that nobody asked for here.
            self.phase = Phase::Idle;
        }
        if let Phase::Refused { refusal, .. } = &self.phase {
            return Turn::Refused(Arc::clone(refusal));
        }
        // Table locks and user-level locks outlive a transaction; row locks do not outlive what ends theirs.
        let breaks_out = facts.crosses_boundary || facts.commits_implicitly;
        if session.holds_locks || (matches!(self.phase, Phase::Writing) && !breaks_out) {
            return self.turn_of_lock_holder(graces, now());
        }
        self.locked = None;
        match self.phase {
            Phase::Idle => Turn::Decide(Bound::Full),
            Phase::Reading { judged } => {
                let again = || now().saturating_duration_since(judged) >= graces.unit;
                if facts.class.locks_or_writes() || breaks_out || again() {
                    Turn::Decide(Bound::AfterReads)
                } else {
                    Turn::GoesOn
                }
            }
            Phase::Unsure | Phase::Exempt | Phase::Writing | Phase::Refused { .. } => Turn::Decide(Bound::Brief),
        }
    }

    fn turn_of_lock_holder(&mut self, graces: &Graces, now: Instant) -> Turn {
        let locked = self.locked.get_or_insert(Locked { since: now, statements: 0 });
        locked.statements += 1;
        let over =
            now.saturating_duration_since(locked.since) >= graces.lock || locked.statements > graces.lock_statements;
        match (over, &self.phase) {
            (true, _) => Turn::Decide(Bound::Locked),
            (false, Phase::Writing) => Turn::GoesOnUnlessRuled,
            (false, Phase::Idle | Phase::Unsure | Phase::Exempt | Phase::Reading { .. } | Phase::Refused { .. }) => {
                Turn::GoesOn
            }
        }
    }

    /// It may go.
    #[inline]
    pub fn admitted(&mut self, facts: &Facts, session: SessionState, exempt: bool) {
        self.under_way = Some(UnderWay { facts: *facts, in_transaction: session.in_transaction, exempt });
    }

    /// It was this statement that was decided about.
    #[inline]
    pub fn judged(&mut self, now: impl FnOnce() -> Instant) {
        if let Phase::Reading { judged } = &mut self.phase {
            *judged = now();
        }
    }

    /// It was refused. Inside a transaction that is the last word on it: a client that ignores the error must not
    /// commit the rest.
    pub fn refused(&mut self, refusal: &Refusal, session: SessionState) {
        self.under_way = None;
        if session.in_transaction || !session.autocommit {
            self.phase = Phase::Refused { refusal: Arc::new(refusal.clone()), begun: session.in_transaction };
        }
    }

    /// A reply has ended. True when the unit has ended with it.
    #[inline]
    pub fn settled(&mut self, outcome: Outcome, now: impl FnOnce() -> Instant) -> bool {
        let under_way = self.under_way.take();
        // What nobody asked for here may end a transaction, and does nothing else to it.
        let UnderWay { facts, in_transaction, exempt } = under_way.unwrap_or(UnderWay {
            facts: Facts::FREE,
            in_transaction: outcome.session.in_transaction,
            exempt: false,
        });
        if outcome.succeeded && facts.transaction != TransactionEffect::None {
            self.phase = Phase::Idle;
        }
        if let Phase::Refused { begun, .. } = &mut self.phase {
            *begun |= outcome.session.in_transaction;
            if outcome.session.in_transaction || !(*begun || outcome.session.autocommit) {
                return true;
            }
            self.phase = Phase::Idle;
        }
        if !outcome.session.in_transaction {
            let failed = !outcome.succeeded && !facts.free && !in_transaction;
            let unsure = failed && (!outcome.session.autocommit || may_begin(facts.class));
            self.phase = if unsure { Phase::Unsure } else { Phase::Idle };
            return true;
        }
        if facts.free {
            return matches!(self.phase, Phase::Idle);
        }
        self.phase = match std::mem::take(&mut self.phase) {
            Phase::Writing => Phase::Writing,
            _ if exempt => Phase::Exempt,
            // DDL that ends no transaction concerns a temporary table, which nobody else waits for.
            _ if facts.class == Class::Ddl => Phase::Exempt,
            _ if facts.class.locks_or_writes() => Phase::Writing,
            Phase::Idle | Phase::Unsure => Phase::Reading { judged: now() },
            phase @ (Phase::Exempt | Phase::Reading { .. } | Phase::Refused { .. }) => phase,
        };
        false
    }

    /// The session begins anew.
    pub fn reset(&mut self) {
        *self = Unit::default();
    }

    pub fn is_refused(&self) -> bool {
        matches!(self.phase, Phase::Refused { .. })
    }
}

/// A statement that is not in its own text may begin a transaction and fail in it.
fn may_begin(class: Class) -> bool {
    match class {
        Class::Call | Class::Unparsed => true,
        Class::Control | Class::Read | Class::Write | Class::Ddl => false,
    }
}

#[cfg(test)]
mod tests;
