//! What is not free: which rules own it, which gates concern it, and what they say.

use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rules::{CompiledRule, Fields, InTransaction, Judgement, Timestamp};
use tokio::time::Instant;

use super::asker::Asker;
use super::running::Running;
use super::under_way::UnderWay;
use crate::attempt::{Attempt, Step};
use crate::gatekeeper::Gatekeeper;
use crate::hold::{Had, Held, hold};
use crate::limits::{Need, Places, Taken};
use crate::policy::{Concerning, Policy};
use crate::port::{Permit, Refusal, SessionState, Verdict};
use crate::question::Question;
use crate::refusal::Reason;
use crate::refusing::{self, Stopped};
use crate::stats::Effect;
use crate::unit::{BRIEF, Bound, Facts, Turn, Unit};
use crate::warned::Passing;

/// A statement on its way to a verdict.
pub(super) struct Decision<'a> {
    pub(super) keeper: &'a Arc<Gatekeeper>,
    pub(super) policy: &'a Arc<Policy>,
    pub(super) asker: &'a Arc<Asker>,
    pub(super) facts: Facts,
    pub(super) session: SessionState,
    pub(super) unit: &'a mut Unit,
    pub(super) places: &'a mut Vec<Places>,
    pub(super) running: &'a mut Running,
    pub(super) under_way: &'a mut UnderWay,
    pub(super) dice: &'a mut SmallRng,
    /// Of gates that are enforced, and of those that only warn; given up once the statement is counted where it runs.
    pub(super) leaves: Vec<Places>,
    /// It passes by an exemption.
    pub(super) exempt: bool,
}

/// What stands in the way of a unit.
#[derive(Clone, Copy)]
struct Ahead {
    concerning: Concerning,
    /// Of the gates that are enforced, those that restrict.
    restricting: bool,
    /// Of those that only warn, those that would.
    warning: u64,
}

impl Decision<'_> {
    #[inline]
    pub(super) fn decide(self, question: &impl Question) -> Verdict {
        self.asker.stats.saw(self.facts.class);
        let gates = &self.keeper.gates;
        gates.in_flight().asked(self.running.shard());
        let concerning = self.policy.gates.concerning(&self.asker.who, question);
        let turn = self.unit.turn(&self.facts, self.session, &self.policy.defaults.graces, Instant::now);
        let bound = match &turn {
            Turn::Free => return self.goes_on(concerning, 0),
            Turn::GoesOn => return self.goes_on_judged(question, concerning),
            Turn::GoesOnUnlessRuled if !self.policy.rules_on_transactions => {
                return self.goes_on_judged(question, concerning);
            }
            Turn::GoesOnUnlessRuled => Bound::Locked,
            Turn::Decide(bound) => *bound,
            Turn::Refused(refusal) => return self.refuse_again(refusal),
        };
        let must_be_ruled = matches!(turn, Turn::GoesOnUnlessRuled);
        let mut ahead = Ahead {
            concerning,
            restricting: concerning.enforced & gates.restricting() != 0,
            warning: concerning.warned & gates.warning(),
        };
        if must_be_ruled {
            // What has written must finish, whatever the metrics say.
            (ahead.restricting, ahead.warning) = (false, 0);
        }
        let is_gated = ahead.restricting || ahead.warning != 0;
        if self.policy.is_idle() && !is_gated {
            return self.pass(concerning, 0);
        }
        if is_gated {
            question.mind_gates();
        }
        // Nobody need know the time for what no rule can concern.
        if !is_gated && !self.asker.who.may_match(self.policy, question) {
            return self.pass(concerning, 0);
        }
        let now = self.keeper.now();
        let judgement = self.asker.who.judge(self.policy, question, now);
        if !judgement.matched && !is_gated {
            return self.pass(concerning, 0);
        }
        self.weigh(question, judgement, bound, ahead, must_be_ruled, now)
    }

    /// Some rule matched, or some gate restricts.
    fn weigh(
        mut self,
        question: &impl Question,
        judgement: Judgement<'_>,
        bound: Bound,
        ahead: Ahead,
        must_be_ruled: bool,
        now: Timestamp,
    ) -> Verdict {
        let policy = self.policy;
        let (enforced, warned) = policy.in_force(judgement);
        if policy.rejects_certainly(&enforced, question) {
            return self.refuse_certainly(&enforced, question, bound, now);
        }
        if must_be_ruled && enforced.share.is_none_or(|rule| rule.in_transaction == InTransaction::Pass) {
            self.force_places(&enforced, warned.as_ref());
            return self.goes_on(ahead.concerning, 0);
        }
        count(&enforced, warned.as_ref(), now);
        let arrival = Instant::now();
        let mut attempt = Attempt::new(arrival, bound);
        let dice = &mut *self.dice;
        let step = attempt.step(enforced.share, &policy.defaults, arrival, &mut || dice.random());
        let gated = !must_be_ruled;
        match step {
            Step::Exempt => {
                self.force_places(&enforced, None);
                self.exempt = true;
                return self.pass_warning(&enforced, warned.as_ref(), ahead, bound, 0);
            }
            Step::Refuse(reason) => {
                return self.refuse(&Stopped::by(enforced.share, reason, now), question, &attempt);
            }
            Step::Go => {
                let needs = self.needs(&enforced, ahead, gated);
                let taken = if needs.is_empty() { Some(Taken::default()) } else { self.keeper.limits.take(&needs) };
                if let Some(taken) = taken {
                    let asked = self.keep(taken);
                    return self.pass_warning(&enforced, warned.as_ref(), ahead, bound, asked);
                }
            }
            Step::Wait(_) => {}
        }
        let who = &self.asker.who;
        let Some(seat) = self.keeper.room.enter(who.user(), &self.asker.stats, &policy.queue, arrival) else {
            return self.refuse(&Stopped::by_the_queue(), question, &attempt);
        };
        self.under_way.hold(self.facts, ahead.concerning);
        Verdict::Hold(Box::pin(hold(Held {
            keeper: Arc::clone(self.keeper),
            policy: Arc::clone(policy),
            asker: Arc::clone(self.asker),
            question: question.keep(),
            attempt,
            step,
            gated,
            had: Had::of(self.keeper, self.places),
            blamed: Vec::new(),
            dice: SmallRng::seed_from_u64(self.dice.random()),
            seat,
        })))
    }

    /// The limits that a unit needs places under and has none yet, and the gates whose leave it needs.
    fn needs(&self, fields: &Fields<'_>, ahead: Ahead, gated: bool) -> Vec<Need> {
        let mut needs = self.limits_without_place(fields);
        if gated {
            needs.extend(self.policy.gate_needs(fields, ahead.concerning.enforced, ahead.restricting));
        }
        needs
    }

    fn limits_without_place(&self, fields: &Fields<'_>) -> Vec<Need> {
        let limits = &self.keeper.limits;
        let has = |need: &Need| {
            let mut had = self.places.iter().flat_map(|places| places.rules_under(limits));
            had.any(|rule| matches!(&need.thing, crate::limits::Thing::Rule(needed) if needed == rule))
        };
        self.policy.needs(fields).filter(|need| !has(need)).collect()
    }

    /// Counts a unit that passes for another reason under all limits that match and that it has no place under, so that
    /// others wait for it.
    fn force_places<'p>(&mut self, enforced: &Fields<'p>, warned: Option<&Fields<'p>>) {
        let forced = self.keeper.limits.force(&self.limits_without_place(enforced));
        let shadow = warned.and_then(|all| {
            let had = Had::of(self.keeper, self.places);
            let (keeper, policy, stats) = (self.keeper, self.policy, &self.asker.stats);
            let passing = Passing { keeper, policy, stats, bound: Bound::Locked, gates: 0, had: &had.shadows };
            passing.count(enforced, all)
        });
        for taken in forced.into_iter().chain(shadow) {
            self.keep(taken);
        }
    }

    /// What was taken at once. The gates whose leave it was.
    fn keep(&mut self, taken: Taken) -> u64 {
        let Taken { places, leave, charges } = taken;
        self.places.extend(places);
        self.running.charge(charges);
        let asked = leave.as_ref().map_or(0, Places::gates);
        self.leaves.extend(leave);
        asked
    }

    fn pass_warning<'p>(
        mut self,
        enforced: &Fields<'p>,
        warned: Option<&Fields<'p>>,
        ahead: Ahead,
        bound: Bound,
        asked: u64,
    ) -> Verdict {
        if warned.is_some() || ahead.warning != 0 {
            let had = Had::of(self.keeper, self.places);
            let (keeper, policy, stats) = (self.keeper, self.policy, &self.asker.stats);
            let passing = Passing { keeper, policy, stats, bound, gates: ahead.warning, had: &had.shadows };
            let dice = &mut *self.dice;
            let shadow = passing.warn(enforced, warned, &mut || dice.random());
            if let Some(taken) = shadow {
                self.keep(taken);
            }
        }
        self.pass(ahead.concerning, asked)
    }

    fn refuse(self, stopped: &Stopped, question: &impl Question, attempt: &Attempt) -> Verdict {
        self.asker.stats.rejected();
        let refusal = stopped.refuse(self.policy, self.asker, || question.known_fingerprint(), self.dice);
        let wanted = refusing::pause(&self.policy.defaults, self.dice);
        refusing::after(attempt.pause(wanted, Instant::now()), refusal)
    }

    fn refuse_again(self, refusal: &Refusal) -> Verdict {
        self.asker.stats.rejected();
        self.asker.stats.by_rule_or_nobody(None, Reason::Transaction, Effect::Rejected);
        // What its transaction has locked is locked until the client ends it.
        refusing::after(refusing::pause(&self.policy.defaults, self.dice).min(BRIEF), refusal.clone())
    }

    /// It was decided about, and passes.
    #[inline]
    fn pass(self, concerning: Concerning, asked: u64) -> Verdict {
        self.unit.judged(Instant::now);
        self.goes_on(concerning, asked)
    }

    /// Its unit has been decided, or holds locks: it passes, unless a certain rejection names it, and counts under the limits.
    #[inline]
    fn goes_on_judged(self, question: &impl Question, concerning: Concerning) -> Verdict {
        let matters = self.policy.limits_concurrency() || self.policy.has_certain_rejections();
        if matters && !self.policy.is_idle() && self.asker.who.may_match(self.policy, question) {
            return self.judge_what_passes(question, concerning);
        }
        self.goes_on(concerning, 0)
    }

    fn judge_what_passes(mut self, question: &impl Question, concerning: Concerning) -> Verdict {
        let policy = self.policy;
        let now = self.keeper.now();
        let judgement = self.asker.who.judge(policy, question, now);
        if judgement.matched {
            let (enforced, warned) = policy.in_force(judgement);
            if policy.rejects_certainly(&enforced, question) {
                return self.refuse_certainly(&enforced, question, Bound::Locked, now);
            }
            self.force_places(&enforced, warned.as_ref());
        }
        self.goes_on(concerning, 0)
    }

    /// At once, also inside a writing transaction and for a lock holder.
    fn refuse_certainly(
        self,
        enforced: &Fields<'_>,
        question: &impl Question,
        bound: Bound,
        now: Timestamp,
    ) -> Verdict {
        count(enforced, None, now);
        let attempt = Attempt::new(Instant::now(), bound);
        self.refuse(&Stopped::by(enforced.share, Reason::Ratio, now), question, &attempt)
    }

    #[inline]
    fn goes_on(self, concerning: Concerning, asked: u64) -> Verdict {
        self.asker.stats.passed();
        self.unit.admitted(&self.facts, self.session, self.exempt);
        self.running.begin(&self.keeper.gates, &self.facts, concerning, asked);
        Verdict::Pass(Permit::free())
    }
}

/// Counts a decision for every rule that decided, or would have.
fn count(enforced: &Fields<'_>, warned: Option<&Fields<'_>>, now: Timestamp) {
    enforced.count(now);
    let decides = |rule: &CompiledRule| enforced.owners().any(|owner| owner == rule);
    for rule in warned.into_iter().flat_map(Fields::owners).filter(|rule| !decides(rule)) {
        rule.hits().count(now);
    }
}
