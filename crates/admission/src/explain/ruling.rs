//! What the owners say, before any dice are rolled.

use std::fmt;
use std::time::Duration;

use rules::{Action, CompiledRule, Fields, InTransaction, RuleId, Share, Timestamp};
use tokio::time::Instant;

use crate::attempt::Attempt;
use crate::gatekeeper::Gatekeeper;
use crate::policy::Policy;
use crate::port::Refusal;
use crate::refusal::{Reason, Words, refusal};
use crate::refusing::retry_after;
use crate::unit::{Bound, Turn};

/// It prints as a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Ruling {
    NeverDelayed,
    /// Its transaction has been decided.
    GoesOn,
    NoRule,
    Exempt {
        rule: RuleId,
    },
    /// Only limits concern it.
    Limited {
        places: Vec<Place>,
    },
    Dice {
        rule: RuleId,
        /// The part that loses.
        ratio: f64,
        lost: Lost,
        places: Vec<Place>,
    },
    Held {
        rule: RuleId,
        patience: Duration,
        ends: Option<Timestamp>,
        then: Then,
    },
}

/// What becomes of one that has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    Refused,
    /// It rolls again about every 100 ms for so long.
    Delayed(Duration, Then),
}

/// When its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Refused,
    /// What holds locks must finish.
    Passes,
}

/// A place that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub rule: RuleId,
    pub limit: u32,
    pub used: u32,
    pub patience: Duration,
    pub rejects: bool,
}

pub(super) struct Case<'a> {
    pub(super) keeper: &'a Gatekeeper,
    pub(super) policy: &'a Policy,
    pub(super) turn: &'a Turn,
    pub(super) bound: Bound,
    pub(super) now: Timestamp,
    pub(super) client: &'a str,
}

impl Case<'_> {
    pub(super) fn ruling(&self, fields: &Fields<'_>) -> (Ruling, Option<Refusal>) {
        match self.turn {
            Turn::Free => return (Ruling::NeverDelayed, None),
            Turn::GoesOn => return (Ruling::GoesOn, None),
            Turn::GoesOnUnlessRuled if !rules_writers(fields) => return (Ruling::GoesOn, None),
            Turn::GoesOnUnlessRuled | Turn::Decide(_) => {}
            Turn::Refused(refusal) => return (Ruling::GoesOn, Some((**refusal).clone())),
        }
        let places: Vec<Place> = fields.concurrency.iter().filter_map(|rule| self.place(rule)).collect();
        let share = fields.share.and_then(|rule| Some((rule, rule.effect.share?)));
        match share {
            Some((rule, Share::Exempt)) => (Ruling::Exempt { rule: rule.id.clone() }, None),
            Some((rule, Share::Hold)) => {
                let held = Ruling::Held {
                    rule: rule.id.clone(),
                    patience: self.patience(rule),
                    ends: rule.expires,
                    then: self.then(),
                };
                (held, self.refusal(rule, Reason::Hold))
            }
            Some((rule, Share::Ratio(ratio))) => {
                let refusal = if ratio > 0.0 { self.refusal(rule, Reason::Ratio) } else { None };
                let refusal = refusal.or_else(|| self.refusal_of_limits(fields));
                (Ruling::Dice { rule: rule.id.clone(), ratio, lost: self.lost(rule), places }, refusal)
            }
            None if places.is_empty() => (Ruling::NoRule, None),
            None => (Ruling::Limited { places }, self.refusal_of_limits(fields)),
        }
    }

    fn place(&self, rule: &CompiledRule) -> Option<Place> {
        Some(Place {
            rule: rule.id.clone(),
            limit: rule.effect.limits.max_concurrency?,
            used: self.keeper.used(&rule.id).0,
            patience: self.patience(rule),
            rejects: self.action(rule) == Action::Reject && self.bound != Bound::Locked,
        })
    }

    fn patience(&self, rule: &CompiledRule) -> Duration {
        let arrival = Instant::now();
        Attempt::new(arrival, self.bound).deadline(rule, &self.policy.defaults) - arrival
    }

    fn action(&self, rule: &CompiledRule) -> Action {
        rule.action.unwrap_or(self.policy.defaults.action)
    }

    fn lost(&self, rule: &CompiledRule) -> Lost {
        let rejects = match self.bound {
            Bound::Full | Bound::Brief => self.action(rule) == Action::Reject,
            Bound::Locked => rule.in_transaction == InTransaction::Reject,
        };
        if rejects { Lost::Refused } else { Lost::Delayed(self.patience(rule), self.then()) }
    }

    fn then(&self) -> Then {
        if self.bound == Bound::Locked { Then::Passes } else { Then::Refused }
    }

    fn refusal_of_limits(&self, fields: &Fields<'_>) -> Option<Refusal> {
        let rule = fields.concurrency.iter().next()?;
        self.refusal(rule, Reason::Concurrency)
    }

    fn refusal(&self, rule: &CompiledRule, reason: Reason) -> Option<Refusal> {
        if self.bound == Bound::Locked && self.lost(rule) != Lost::Refused {
            return None;
        }
        let retry_after = retry_after(Some(rule), reason, self.now);
        let words = Words { rule: &rule.id, reason, client: self.client, retry_after, id: 0 };
        Some(refusal(self.policy.defaults.error, &words))
    }
}

fn rules_writers(fields: &Fields<'_>) -> bool {
    fields.share.is_some_and(|rule| rule.in_transaction != InTransaction::Pass)
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ruling::NeverDelayed => f.write_str("passes: it is never delayed"),
            Ruling::GoesOn => f.write_str("passes: its transaction has been decided"),
            Ruling::NoRule => f.write_str("passes: no rule decides"),
            Ruling::Exempt { rule } => write!(f, "passes: exempt by {rule}"),
            Ruling::Limited { places } => write!(f, "passes{}", Places(places)),
            Ruling::Dice { rule, ratio, places, .. } if *ratio <= 0.0 => {
                write!(f, "passes: {rule} lets all pass{}", Places(places))
            }
            Ruling::Dice { rule, ratio, lost, places } => {
                let loses = ratio * 100.0;
                write!(f, "{loses} % lose by {rule} and are {lost}; the others pass{}", Places(places))
            }
            Ruling::Held { rule, patience, ends, then } => {
                write!(f, "held by {rule} for {patience:?} at most")?;
                if let Some(ends) = ends {
                    write!(f, ", or until it ends at {ends}")?;
                }
                write!(f, ", then {then}")
            }
        }
    }
}

struct Places<'a>(&'a [Place]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, place) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { " with a place under " } else { " and under " })?;
            let Place { rule, limit, used, patience, rejects } = place;
            write!(f, "{rule} ({used} of {limit} taken; ")?;
            if *rejects { f.write_str("no waiting)")? } else { write!(f, "it waits {patience:?} at most)")? }
        }
        Ok(())
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Refused => f.write_str("refused at once"),
            Lost::Delayed(patience, then) => {
                write!(f, "held, to roll again about every 100 ms for {patience:?} at most, then {then}")
            }
        }
    }
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Then::Refused => "refused",
            Then::Passes => "let pass",
        })
    }
}
