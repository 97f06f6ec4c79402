//! One unit's attempts to pass the dice: pure, the time and the roll are given.

use std::time::Duration;

use rules::{Action, CompiledRule, InTransaction, RuleId, Share};
use tokio::time::Instant;

use crate::policy::Defaults;
use crate::refusal::Reason;
use crate::unit::{BRIEF, Bound, LOCKED};

/// A lost roll is tried again after this, more or less by half: as a client that behaves would.
const AGAIN: Duration = Duration::from_millis(100);

/// For a delay that is longer than clocks can count.
const AGES: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A unit on its way, from its arrival on.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub arrival: Instant,
    bound: Bound,
    dice: Dice,
}

#[derive(Debug, Clone, Default)]
enum Dice {
    #[default]
    NotRolled,
    /// A won roll stands until its rule changes.
    Won(Rolled),
    Lost(Rolled, Instant),
}

/// What was rolled for.
#[derive(Debug, Clone, PartialEq)]
struct Rolled {
    rule: RuleId,
    ratio: f64,
}

/// What the owner of the share says now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// On to the limits.
    Go,
    /// Past everything.
    Exempt,
    /// Not now; ask again then, or when the rules change.
    Wait(Instant),
    Refuse(Reason),
}

impl Attempt {
    pub fn new(arrival: Instant, bound: Bound) -> Attempt {
        Attempt { arrival, bound, dice: Dice::NotRolled }
    }

    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// When a hold by this rule ends.
    pub fn deadline(&self, rule: &CompiledRule, defaults: &Defaults) -> Instant {
        let wanted = rule.max_delay.unwrap_or(defaults.max_delay);
        self.deadline_after(wanted, defaults.max_delay_after_reads)
    }

    /// When a hold ends that should last so long, if its transaction allows it; `after_reads`: what one allows that has only
    /// read.
    pub fn deadline_after(&self, wanted: Duration, after_reads: Duration) -> Instant {
        let allowed = match self.bound {
            Bound::Full => wanted,
            Bound::AfterReads => wanted.min(after_reads),
            Bound::Brief => wanted.min(BRIEF),
            Bound::Locked => wanted.min(LOCKED),
        };
        self.arrival.checked_add(allowed).unwrap_or_else(|| self.arrival + AGES)
    }

    /// How much of this pause before a refusal there may be. What may hold locks waits a second at the most, in all.
    pub fn pause(&self, wanted: Duration, now: Instant) -> Duration {
        match self.bound {
            Bound::Full => wanted,
            Bound::AfterReads | Bound::Brief | Bound::Locked => {
                wanted.min((self.arrival + BRIEF).saturating_duration_since(now))
            }
        }
    }

    /// `roll` gives numbers from 0 to 1, 1 not among them.
    pub fn step(
        &mut self,
        owner: Option<&CompiledRule>,
        defaults: &Defaults,
        now: Instant,
        roll: &mut dyn FnMut() -> f64,
    ) -> Step {
        let Some((rule, share)) = owner.and_then(|rule| rule.effect.share.map(|share| (rule, share))) else {
            return Step::Go;
        };
        match share {
            Share::Exempt => Step::Exempt,
            Share::Ratio(ratio) => self.ratio(rule, ratio, defaults, now, roll),
            Share::Hold if self.bound == Bound::Locked && self.rejects(rule, defaults) => Step::Refuse(Reason::Hold),
            Share::Hold => self.wait_or_refuse(rule, defaults, now, None, Reason::Hold),
        }
    }

    fn ratio(
        &mut self,
        rule: &CompiledRule,
        ratio: f64,
        defaults: &Defaults,
        now: Instant,
        roll: &mut dyn FnMut() -> f64,
    ) -> Step {
        if ratio <= 0.0 {
            return Step::Go;
        }
        let same = |rolled: &Rolled| rolled.rule == rule.id && rolled.ratio == ratio;
        match &self.dice {
            Dice::Won(won) if same(won) => return Step::Go,
            Dice::Lost(lost, again) if same(lost) => {
                let again = *again;
                // The last word is the deadline's, not another roll's.
                if now < again || now >= self.deadline(rule, defaults) {
                    return self.wait_or_refuse(rule, defaults, now, Some(again), Reason::Ratio);
                }
            }
            // Another rule's roll says nothing of this one's.
            Dice::NotRolled | Dice::Won(_) | Dice::Lost(..) => {}
        }
        let rolled = || Rolled { rule: rule.id.clone(), ratio };
        if roll() >= ratio {
            self.dice = Dice::Won(rolled());
            return Step::Go;
        }
        if self.rejects(rule, defaults) {
            return Step::Refuse(Reason::Ratio);
        }
        let again = now + AGAIN.mul_f64(0.5 + roll());
        self.dice = Dice::Lost(rolled(), again);
        self.wait_or_refuse(rule, defaults, now, Some(again), Reason::Ratio)
    }

    fn rejects(&self, rule: &CompiledRule, defaults: &Defaults) -> bool {
        match self.bound {
            Bound::Full | Bound::AfterReads | Bound::Brief => rule.action.unwrap_or(defaults.action) == Action::Reject,
            Bound::Locked => rule.in_transaction == InTransaction::Reject,
        }
    }

    fn wait_or_refuse(
        &self,
        rule: &CompiledRule,
        defaults: &Defaults,
        now: Instant,
        again: Option<Instant>,
        reason: Reason,
    ) -> Step {
        let deadline = self.deadline(rule, defaults);
        if now >= deadline {
            // What holds locks must finish.
            return if self.bound == Bound::Locked { Step::Go } else { Step::Refuse(reason) };
        }
        Step::Wait(again.map_or(deadline, |again| again.min(deadline)))
    }
}

#[cfg(test)]
mod tests;
