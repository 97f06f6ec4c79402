//! What the owners say, before any dice are rolled.

use std::fmt;
use std::time::Duration;

use rules::{Action, CompiledRule, Fields, InTransaction, RuleId, Share, Timestamp};
use tokio::time::Instant;

use super::at_gate::{AtGate, Does};
use crate::attempt::Attempt;
use crate::decision::{Decision, Why};
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
        /// That it takes without waiting for them.
        places: Vec<Place>,
    },
    /// Only limits and gates concern it.
    Limited {
        places: Vec<Place>,
        gates: Vec<AtGate>,
    },
    Dice {
        rule: RuleId,
        /// The part that loses.
        ratio: f64,
        lost: Lost,
        places: Vec<Place>,
        /// That those who win stand before.
        gates: Vec<AtGate>,
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

impl Ruling {
    /// The gate that what the rules let pass would wait at, or be refused by.
    pub fn stopped_at(&self) -> Option<&AtGate> {
        match self {
            Ruling::Limited { gates, .. } | Ruling::Dice { gates, .. } => stopped_at(gates),
            Ruling::NeverDelayed | Ruling::GoesOn | Ruling::NoRule | Ruling::Exempt { .. } | Ruling::Held { .. } => {
                None
            }
        }
    }
}

/// Of those that stop it, the one whose patience ends first.
fn stopped_at(gates: &[AtGate]) -> Option<&AtGate> {
    gates.iter().filter(|gate| gate.does.stops()).min_by_key(|gate| gate.patience)
}

/// The errors that a client may get.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) first: Option<Refusal>,
    /// If that is another one.
    pub(super) of_gate: Option<Refusal>,
}

impl Refusals {
    fn new(of_rule: Option<Refusal>, of_gate: Option<Refusal>) -> Refusals {
        match of_rule {
            None => Refusals { first: of_gate, of_gate: None },
            first => Refusals { first, of_gate },
        }
    }
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
    /// `gates`: all that count.
    pub(super) fn ruling(&self, decision: &Decision<'_>, gates: Vec<AtGate>) -> (Ruling, Refusals) {
        match decision {
            Decision::Pass(Why::NeverDelayed) => (Ruling::NeverDelayed, Refusals::default()),
            Decision::Pass(Why::GoesOn) | Decision::PassCounted(_) => (Ruling::GoesOn, Refusals::default()),
            Decision::RejectAgain(refusal) => (Ruling::GoesOn, Refusals::new(Some((**refusal).clone()), None)),
            Decision::Reject(owners, _) => self.reject(&owners.enforced),
            Decision::Pass(Why::NoRule) => self.contest(&Fields::default(), gates),
            Decision::Contest(contest) => self.contest(&contest.owners.enforced, gates),
        }
    }

    fn reject(&self, fields: &Fields<'_>) -> (Ruling, Refusals) {
        let Some(rule) = fields.share else { return (Ruling::NoRule, Refusals::default()) };
        let dice = Ruling::Dice {
            rule: rule.id.clone(),
            ratio: 1.0,
            lost: Lost::Refused,
            places: Vec::new(),
            gates: Vec::new(),
        };
        (dice, Refusals::new(self.rejection(rule, Reason::Ratio), None))
    }

    fn contest(&self, fields: &Fields<'_>, mut gates: Vec<AtGate>) -> (Ruling, Refusals) {
        gates.retain(|gate| gate.does.restricts());
        let of_gate = self.refusal_of_gate(&gates);
        let places: Vec<Place> = fields.concurrency.iter().filter_map(|rule| self.place(rule)).collect();
        let share = fields.share.and_then(|rule| Some((rule, rule.effect.share?)));
        match share {
            Some((rule, Share::Exempt)) => (Ruling::Exempt { rule: rule.id.clone(), places }, Refusals::default()),
            Some((rule, Share::Hold)) => {
                let held = Ruling::Held {
                    rule: rule.id.clone(),
                    patience: self.patience(rule),
                    ends: rule.expires,
                    then: self.then(),
                };
                (held, Refusals::new(self.refusal(rule, Reason::Hold), None))
            }
            Some((rule, Share::Ratio(ratio))) => {
                let refusal = if ratio > 0.0 { self.refusal(rule, Reason::Ratio) } else { None };
                let refusals = match (refusal, stopped_at(&gates)) {
                    (None, None) => Refusals::new(self.refusal_of_limits(fields), of_gate),
                    (refusal, _) => Refusals::new(refusal, of_gate),
                };
                (Ruling::Dice { rule: rule.id.clone(), ratio, lost: self.lost(rule), places, gates }, refusals)
            }
            None if places.is_empty() && gates.is_empty() => (Ruling::NoRule, Refusals::default()),
            None => {
                let of_limits = self.refusal_of_limits(fields).filter(|_| stopped_at(&gates).is_none());
                (Ruling::Limited { places, gates }, Refusals::new(of_limits, of_gate))
            }
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
            Bound::Full | Bound::AfterReads | Bound::Brief => self.action(rule) == Action::Reject,
            Bound::Locked => rule.in_transaction == InTransaction::Reject,
        };
        if rejects { Lost::Refused } else { Lost::Delayed(self.patience(rule), self.then()) }
    }

    pub(super) fn then(&self) -> Then {
        if self.bound == Bound::Locked { Then::Passes } else { Then::Refused }
    }

    fn refusal_of_limits(&self, fields: &Fields<'_>) -> Option<Refusal> {
        let rule = fields.concurrency.iter().next()?;
        self.refusal(rule, Reason::Concurrency)
    }

    /// What stands before a gate that restricts, and has no patience left, gets this.
    fn refusal_of_gate(&self, gates: &[AtGate]) -> Option<Refusal> {
        let measured = || gates.iter().find(|gate| gate.does == Does::HasRoom);
        let gate = stopped_at(gates).or_else(measured)?;
        if self.bound == Bound::Locked {
            return None;
        }
        let retry_after = Duration::from_secs(1);
        let words = Words { rule: &gate.gate, reason: Reason::Gate, client: self.client, retry_after, id: 0 };
        Some(refusal(self.policy.defaults.error, &words))
    }

    fn refusal(&self, rule: &CompiledRule, reason: Reason) -> Option<Refusal> {
        if self.bound == Bound::Locked && self.lost(rule) != Lost::Refused {
            return None;
        }
        self.rejection(rule, reason)
    }

    fn rejection(&self, rule: &CompiledRule, reason: Reason) -> Option<Refusal> {
        let retry_after = retry_after(Some(rule), reason, self.now);
        let words = Words { rule: &rule.id, reason, client: self.client, retry_after, id: 0 };
        Some(refusal(self.policy.defaults.error, &words))
    }
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ruling::NeverDelayed => f.write_str("passes: it is never delayed"),
            Ruling::GoesOn => f.write_str("passes: its transaction has been decided"),
            Ruling::NoRule => f.write_str("passes: no rule decides"),
            Ruling::Exempt { rule, places } => write!(f, "passes: exempt by {rule}{}", Counted(places)),
            Ruling::Limited { places, gates } => match stopped_at(gates) {
                None => write!(f, "passes{}", On(places, gates)),
                Some(gate) => write!(f, "{}{}", Stop(gate), On(places, &[])),
            },
            Ruling::Dice { rule, ratio, places, gates, .. } if *ratio <= 0.0 => match stopped_at(gates) {
                None => write!(f, "passes: {rule} lets all pass{}", On(places, gates)),
                Some(gate) => write!(f, "{rule} lets all pass, and it is {}{}", Stop(gate), On(places, &[])),
            },
            Ruling::Dice { rule, ratio, lost, places, gates } => {
                let loses = ratio * 100.0;
                write!(f, "{loses} % lose by {rule} and are {lost}; the others ")?;
                match stopped_at(gates) {
                    None => write!(f, "pass{}", On(places, gates)),
                    Some(gate) => write!(f, "are {}{}", Stop(gate), On(places, &[])),
                }
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

/// Who does not let it pass at once.
struct Stop<'a>(&'a AtGate);

impl fmt::Display for Stop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AtGate { gate, patience, does, .. } = self.0;
        let standing = self.0.standing();
        match does {
            Does::Wakes => write!(f, "held at gate {gate} ({standing}) until it is measured, 1s at most"),
            Does::Waits(then) => write!(f, "held at gate {gate} ({standing}) for {patience:?} at most, then {then}"),
            Does::Rejects => write!(f, "refused by gate {gate} ({standing}) at once"),
            Does::Nothing
            | Does::NeverDelayed
            | Does::GoesOn
            | Does::Exempt(_)
            | Does::Skipped(_)
            | Does::NotMeasured
            | Does::Passes
            | Does::HasRoom => Ok(()),
        }
    }
}

/// Limits that it does not wait for.
struct Counted<'a>(&'a [Place]);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Place { rule, limit, used, .. }) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { ", counted under " } else { " and under " })?;
            write!(f, "{rule} ({used} of {limit} taken)")?;
        }
        Ok(())
    }
}

/// What it needs on its way.
struct On<'a>(&'a [Place], &'a [AtGate]);

impl fmt::Display for On<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (number, place) in self.0.iter().enumerate() {
            first = false;
            f.write_str(if number == 0 { " with a place under " } else { " and under " })?;
            let Place { rule, limit, used, patience, rejects } = place;
            write!(f, "{rule} ({used} of {limit} taken; ")?;
            if *rejects { f.write_str("no waiting)")? } else { write!(f, "it waits {patience:?} at most)")? }
        }
        for gate in self.1 {
            f.write_str(if std::mem::take(&mut first) {
                " with the leave of gate "
            } else {
                " and the leave of gate "
            })?;
            write!(f, "{} ({})", gate.gate, gate.standing())?;
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
