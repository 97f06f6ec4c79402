//! What each gate has to do with a statement, and what it would do with it now.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use health::{Aggregate, Control, Flow, MetricName, State, Unit};
use rules::{Action, Fields, Mode, Query, RuleId};
use statement::Classes;
use tokio::time::Instant;

use super::ruling::{Case, Then};
use crate::attempt::Attempt;
use crate::gates::GateSeen;
use crate::limits::{Limits, Need};
use crate::policy::{Concerning, Gate, Placed};
use crate::question::TextQuestion;
use crate::unit::{Bound, Turn};
use crate::who::Who;

#[derive(Debug, Clone, PartialEq)]
pub struct AtGate {
    pub gate: Arc<str>,
    pub metric: MetricName,
    pub unit: Unit,
    pub control: Control,
    pub mode: Mode,
    pub concerns: Concerns,
    /// `None`: nobody measures here, as where a file is asked; or nobody has yet.
    pub measured: Option<Measured>,
    /// The gate's own.
    pub threshold: f64,
    /// What stands for this statement.
    pub stands: f64,
    /// The rule that set it, if it is not the gate's own.
    pub threshold_of: Option<RuleId>,
    /// How long it would wait.
    pub patience: Duration,
    pub does: Does,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    pub aggregate: Aggregate,
    pub state: State,
    pub flow: Flow,
    pub in_flight: f64,
    pub waiting: usize,
}

/// It prints as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concerns {
    Everybody,
    /// Its `match` fits.
    Matches,
    /// By what it says of itself alone: a claim makes nothing easier.
    ByItsClaims,
    /// By what is known of it, whatever it says.
    WithoutItsClaims,
    NotTheClass,
    OnlyLogins,
    NotTheMatch,
    Off,
}

impl Concerns {
    pub fn is_so(&self) -> bool {
        match self {
            Concerns::Everybody | Concerns::Matches | Concerns::ByItsClaims | Concerns::WithoutItsClaims => true,
            Concerns::NotTheClass | Concerns::OnlyLogins | Concerns::NotTheMatch | Concerns::Off => false,
        }
    }

    fn of(gate: &Gate, who: &Who, question: &TextQuestion<'_>) -> Concerns {
        if gate.mode == Mode::Off {
            return Concerns::Off;
        }
        let classes: Classes = gate.classes.iter().copied().collect();
        if !classes.with_possible().including_calls().intersects(question.classes()) {
            return if gate.classes.is_empty() { Concerns::OnlyLogins } else { Concerns::NotTheClass };
        }
        let Some(matcher) = &gate.matching else { return Concerns::Everybody };
        let claimed = matcher.concerns(&who.identities.claimed, question);
        let trusted = who.identities.trusted.as_deref().map(|trusted| matcher.concerns(trusted, question));
        match (claimed, trusted) {
            (true, None | Some(true)) => Concerns::Matches,
            (true, Some(false)) => Concerns::ByItsClaims,
            (false, Some(true)) => Concerns::WithoutItsClaims,
            (false, None | Some(false)) => Concerns::NotTheMatch,
        }
    }
}

impl fmt::Display for Concerns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Concerns::Everybody => "concerns everybody's of this class",
            Concerns::Matches => "its match fits",
            Concerns::ByItsClaims => "its match fits what it says of itself",
            Concerns::WithoutItsClaims => "its match fits what is known of it, whatever it says of itself",
            Concerns::NotTheClass => "not for this class",
            Concerns::OnlyLogins => "for logins only",
            Concerns::NotTheMatch => "its match does not fit",
            Concerns::Off => "off",
        })
    }
}

/// What becomes of it at this gate. It prints as a sentence, but for [`Does::Nothing`], where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// It does not concern it.
    Nothing,
    NeverDelayed,
    /// Its transaction has been decided.
    GoesOn,
    Exempt(RuleId),
    Skipped(RuleId),
    /// Nobody measures.
    NotMeasured,
    Passes,
    /// It lets less than everything through, and this one now.
    HasRoom,
    /// Nobody has measured since the traffic came back: the first one waits for that.
    Wakes,
    Waits(Then),
    Rejects,
}

impl Does {
    /// The gate has a word in it.
    pub fn restricts(&self) -> bool {
        self.stops() || matches!(self, Does::NotMeasured | Does::HasRoom)
    }

    /// It does not go on at once.
    pub fn stops(&self) -> bool {
        match self {
            Does::Wakes | Does::Waits(_) | Does::Rejects => true,
            Does::Nothing
            | Does::NeverDelayed
            | Does::GoesOn
            | Does::Exempt(_)
            | Does::Skipped(_)
            | Does::NotMeasured
            | Does::Passes
            | Does::HasRoom => false,
        }
    }
}

impl AtGate {
    /// What it would do, as a sentence.
    pub fn says(&self) -> String {
        let patience = self.patience;
        match &self.does {
            Does::Nothing => self.concerns.to_string(),
            Does::NeverDelayed => "passes: it is never delayed".to_owned(),
            Does::GoesOn => "passes: its transaction has been decided".to_owned(),
            Does::Exempt(rule) => format!("passes: exempt by {rule}"),
            Does::Skipped(rule) => format!("passes: {rule} skips it"),
            Does::NotMeasured => "not measured here".to_owned(),
            Does::Passes => "passes".to_owned(),
            Does::HasRoom => "passes now".to_owned(),
            Does::Wakes => "waits until it is measured, 1s at most".to_owned(),
            Does::Waits(then) => format!("{} {patience:?} at most, then {then}", self.would("waits", "would wait")),
            Does::Rejects => self.would("refused at once", "would be refused at once").to_owned(),
        }
    }

    fn would(&self, is: &'static str, would_be: &'static str) -> &'static str {
        if self.mode == Mode::Enforce { is } else { would_be }
    }

    /// `6.0s of 5.0s, closed, 1/s, 3 wait`
    pub(super) fn standing(&self) -> String {
        let Some(measured) = &self.measured else { return "not measured here".to_owned() };
        let threshold = self.unit.show(self.stands);
        let value = match measured.aggregate {
            Aggregate::Known(value) => format!("{} of {threshold}", self.unit.show(value)),
            Aggregate::Idle => format!("idle, of {threshold}"),
            Aggregate::Unknown(why) => format!("unknown: {why}"),
        };
        let of = self.threshold_of.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
        format!("{value}{of}; {}; {} wait", measured.flow, measured.waiting)
    }
}

/// Everything that is looked at.
pub(super) struct AtGates<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) who: &'a Who,
    pub(super) question: &'a TextQuestion<'a>,
    pub(super) seen: &'a [GateSeen],
}

impl AtGates<'_> {
    /// Every gate of the policy. Those that are enforced are judged by the rules that are in force, those that warn by `warned`.
    pub(super) fn all(&self, enforced: &Fields<'_>, warned: &Fields<'_>) -> Vec<AtGate> {
        let policy = self.case.policy;
        let concerning = policy.gates.concerning(self.who, self.question);
        let at = |placed: &Placed| match placed.gate.mode {
            Mode::Enforce => self.at(placed, enforced, concerning),
            Mode::Warn | Mode::Off => self.at(placed, warned, concerning),
        };
        let off = policy.gates.off().map(|gate| self.base(gate, Concerns::Off, &Fields::default()));
        let mut all: Vec<AtGate> = policy.gates.iter().map(at).chain(off).collect();
        all.sort_by(|one, two| one.gate.cmp(&two.gate));
        all
    }

    fn at(&self, placed: &Placed, fields: &Fields<'_>, concerning: Concerning) -> AtGate {
        let concerns = Concerns::of(&placed.gate, self.who, self.question);
        let base = self.base(&placed.gate, concerns, fields);
        let does = self.does(placed, &base, fields, concerning);
        AtGate { does, ..base }
    }

    fn base(&self, gate: &Gate, concerns: Concerns, fields: &Fields<'_>) -> AtGate {
        let settings = &gate.settings;
        let seen = self.seen.iter().find(|seen| seen.settings.name == settings.name && seen.since.is_some());
        let stands = fields.threshold(&settings.name, settings.threshold);
        let arrival = Instant::now();
        AtGate {
            gate: settings.name.clone(),
            metric: settings.metric.clone(),
            unit: settings.unit,
            control: settings.control,
            mode: gate.mode,
            concerns,
            measured: seen.map(|seen| Measured {
                aggregate: seen.aggregate,
                state: seen.state,
                flow: seen.flow,
                in_flight: seen.in_flight,
                waiting: seen.waiting,
            }),
            threshold: settings.threshold,
            stands,
            threshold_of: fields
                .threshold_owner(&settings.name)
                .filter(|_| stands != settings.threshold)
                .map(|rule| rule.id.clone()),
            patience: gate.deadline(&Attempt::new(arrival, self.case.bound)) - arrival,
            does: Does::Nothing,
        }
    }

    fn does(&self, placed: &Placed, base: &AtGate, fields: &Fields<'_>, concerning: Concerning) -> Does {
        if !base.concerns.is_so() {
            return Does::Nothing;
        }
        match self.case.turn {
            Turn::Free => return Does::NeverDelayed,
            // What has written must finish, whatever the metrics say.
            Turn::GoesOn | Turn::GoesOnUnlessRuled | Turn::Refused(_) => return Does::GoesOn,
            Turn::Decide(_) => {}
        }
        if let Some(rule) = fields.share.filter(|_| fields.exempt()) {
            return Does::Exempt(rule.id.clone());
        }
        if let Some(rule) = fields.skips_owner().filter(|_| fields.skips(placed.name())) {
            return Does::Skipped(rule.id.clone());
        }
        let Some(measured) = &base.measured else { return Does::NotMeasured };
        let blocked = self.is_blocked(placed, measured, fields, concerning);
        match (measured.flow, placed.gate.mode) {
            (Flow::Waking, Mode::Enforce) if blocked => Does::Wakes,
            // Nobody can say what it would have done.
            (Flow::Waking, Mode::Warn | Mode::Off) => Does::Passes,
            _ if blocked && placed.gate.action == Action::Reject && self.case.bound != Bound::Locked => Does::Rejects,
            _ if blocked => Does::Waits(self.case.then()),
            (Flow::Open, _) => Does::Passes,
            // A looser threshold of a rule's is an exemption up to it.
            _ if base.stands > base.threshold => Does::Passes,
            _ => Does::HasRoom,
        }
    }

    fn is_blocked(&self, placed: &Placed, measured: &Measured, fields: &Fields<'_>, concerning: Concerning) -> bool {
        let Case { keeper, policy, .. } = self.case;
        let (limits, all, restricting): (&Arc<Limits>, u64, u64) = match placed.gate.mode {
            Mode::Enforce => (&keeper.limits, concerning.enforced, concerning.enforced & keeper.gates.restricting()),
            Mode::Warn | Mode::Off => {
                let warning = concerning.warned & keeper.gates.warning();
                (&keeper.shadows, warning, warning)
            }
        };
        let of_this = policy.gate_needs(fields, placed.slot.bit() & all, restricting != 0);
        if !limits.full(&of_this).is_empty() {
            return true;
        }
        // There is room, but others stand in line for it.
        let mut needs: Vec<Need> = policy.needs(fields).collect();
        needs.extend(policy.gate_needs(fields, all, restricting != 0));
        measured.waiting > 0 && !of_this.is_empty() && limits.queued(&needs) > 0
    }
}
