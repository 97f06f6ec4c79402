//! Who owns what, while the matching rules are gone through.

mod gates;
mod limits;

use std::cmp::Ordering;

use crate::compiled::CompiledRule;
use crate::judgement::{Fields, Judgement, LoginJudgement};
use crate::rule::{Mode, Origin};
use crate::specificity::{self, Claim};
pub(crate) use gates::SkipSlot;
use gates::ThresholdSlots;
use limits::LimitSlots;

/// The owners so far: by the rules in force, and with those that warn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing<'a> {
    enforced: Slots<'a>,
    with_warned: Slots<'a>,
    matched: bool,
    warns: bool,
}

#[derive(Debug, Clone, Default)]
struct Slots<'a> {
    share: Slot<'a>,
    concurrency: LimitSlots<'a>,
    weight: Slot<'a>,
    skips: SkipSlot<'a>,
    thresholds: ThresholdSlots<'a>,
}

impl<'a> Standing<'a> {
    pub(crate) fn add(&mut self, claim: Claim<'a>, mode: Mode) {
        self.matched = true;
        self.with_warned.add(claim);
        if mode == Mode::Enforce {
            self.enforced.add(claim);
        } else {
            self.warns = true;
        }
    }

    /// Whether it would own something if it matched.
    pub(crate) fn would_change(&self, claim: &Claim<'_>, mode: Mode) -> bool {
        self.with_warned.would_change(claim) || (mode == Mode::Enforce && self.enforced.would_change(claim))
    }

    /// Nothing restricts what is judged.
    pub(crate) fn is_free(&self) -> bool {
        self.with_warned.is_empty() && self.enforced.is_empty()
    }

    pub(crate) fn judgement(self) -> Judgement<'a> {
        let Standing { enforced, with_warned, matched, warns } = self;
        let enforced = enforced.fields();
        let with_warned = warns.then(|| with_warned.fields()).filter(|warned| *warned != enforced);
        Judgement { enforced, with_warned, matched }
    }
}

impl<'a> Slots<'a> {
    fn add(&mut self, claim: Claim<'a>) {
        let effect = &claim.rule.effect;
        if effect.share.is_some() {
            self.share.add(claim, specificity::share);
        }
        if effect.limits.max_concurrency.is_some() {
            self.concurrency.add(claim.rule);
        }
        if effect.weight.is_some() {
            self.weight.add(claim, specificity::weight);
        }
        self.add_gates(claim);
    }

    fn add_gates(&mut self, claim: Claim<'a>) {
        let gates = claim.rule.gates();
        if let Some(skips) = gates.skips {
            self.skips.add(claim, skips);
        }
        if !gates.thresholds.is_empty() {
            self.thresholds.add(claim);
        }
    }

    fn would_change(&self, claim: &Claim<'_>) -> bool {
        let effect = &claim.rule.effect;
        (effect.share.is_some() && self.share.would_change(claim, specificity::share))
            || (effect.limits.max_concurrency.is_some() && self.concurrency.would_change(claim.rule))
            || (effect.weight.is_some() && self.weight.would_change(claim, specificity::weight))
            || (effect.skip_gates.is_some() && self.skips.would_change(claim))
            || self.thresholds.would_change(claim)
    }

    fn is_empty(&self) -> bool {
        self.share.is_empty()
            && self.concurrency.is_empty()
            && self.weight.is_empty()
            && self.skips.is_empty()
            && self.thresholds.is_empty()
    }

    fn fields(self) -> Fields<'a> {
        Fields {
            share: self.share.stricter(specificity::share),
            concurrency: self.concurrency.counting(),
            weighing: self.weight.stricter(specificity::weight),
            skips: self.skips.stands(),
            thresholds: self.thresholds.stand(),
        }
    }
}

/// The owner of one field among the rules of the file, and among those of the run time. What is built in counts with
/// both: a rule added in a hurry for everybody is not meant for the heartbeat either.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot<'a> {
    file: Option<Claim<'a>>,
    runtime: Option<Claim<'a>>,
}

impl<'a> Slot<'a> {
    pub(crate) fn add(&mut self, claim: Claim<'a>, strictness: impl Fn(&CompiledRule) -> f64) {
        let [file, runtime] = counts_with(claim.rule.origin);
        if file && outranks(&claim, self.file, &strictness) {
            self.file = Some(claim);
        }
        if runtime && outranks(&claim, self.runtime, strictness) {
            self.runtime = Some(claim);
        }
    }

    fn would_change(&self, claim: &Claim<'a>, strictness: impl Fn(&CompiledRule) -> f64) -> bool {
        let [file, runtime] = counts_with(claim.rule.origin);
        (file && outranks(claim, self.file, &strictness)) || (runtime && outranks(claim, self.runtime, &strictness))
    }

    fn is_empty(&self) -> bool {
        self.file.is_none() && self.runtime.is_none()
    }

    /// The owner among the rules that a rule of this origin competes with.
    pub(crate) fn owner(&self, origin: Origin) -> Option<Claim<'a>> {
        if origin == Origin::Runtime { self.runtime } else { self.file }
    }

    /// The stricter of both, unless the one of the run time overrides.
    fn stricter(&self, strictness: impl Fn(&CompiledRule) -> f64) -> Option<&'a CompiledRule> {
        match (self.file, self.runtime) {
            (Some(file), Some(runtime)) => {
                let runtimes = overrides(runtime) || strictness(runtime.rule) > strictness(file.rule);
                Some(if runtimes { runtime.rule } else { file.rule })
            }
            (one, two) => one.or(two).map(|claim| claim.rule),
        }
    }
}

fn overrides(claim: Claim<'_>) -> bool {
    claim.rule.replaces_file()
}

/// With the file's, and with the run time's.
fn counts_with(origin: Origin) -> [bool; 2] {
    match origin {
        Origin::BuiltIn => [true, true],
        Origin::File => [true, false],
        Origin::Runtime => [false, true],
    }
}

fn outranks(claim: &Claim<'_>, owner: Option<Claim<'_>>, strictness: impl Fn(&CompiledRule) -> f64) -> bool {
    owner.is_none_or(|owner| claim.compare(&owner, strictness) == Ordering::Greater)
}

/// The same at login: `max_connections`, and what concerns a gate on logins.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoginStanding<'a> {
    enforced: LoginSlots<'a>,
    with_warned: LoginSlots<'a>,
    warns: bool,
}

#[derive(Debug, Clone, Default)]
struct LoginSlots<'a> {
    connections: LimitSlots<'a>,
    others: Slots<'a>,
}

impl<'a> LoginStanding<'a> {
    pub(crate) fn add(&mut self, claim: Claim<'a>, mode: Mode) {
        self.with_warned.add(claim);
        if mode == Mode::Enforce {
            self.enforced.add(claim);
        } else {
            self.warns = true;
        }
    }

    pub(crate) fn judgement(self) -> LoginJudgement<'a> {
        let enforced = self.enforced.connections.counting();
        let with_warned =
            self.warns.then(|| self.with_warned.connections.counting()).filter(|warned| *warned != enforced);
        let (gates, gates_with_warned) = (self.enforced.others.fields(), self.with_warned.others.fields());
        LoginJudgement { enforced, with_warned, gates, gates_with_warned }
    }
}

impl<'a> LoginSlots<'a> {
    fn add(&mut self, claim: Claim<'a>) {
        let effect = &claim.rule.effect;
        if effect.limits.max_connections.is_some() {
            self.connections.add(claim.rule);
        }
        if effect.share.is_some() {
            self.others.share.add(claim, specificity::share);
        }
        self.others.add_gates(claim);
    }
}
