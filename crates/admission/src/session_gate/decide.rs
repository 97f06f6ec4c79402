//! What is not free: which rules own it, and what they say.

use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rules::{CompiledRule, Fields, InTransaction, Judgement, Timestamp};
use tokio::time::Instant;

use super::asker::Asker;
use super::under_way::UnderWay;
use crate::attempt::{Attempt, Step};
use crate::gatekeeper::Gatekeeper;
use crate::hold::{Had, Held, hold};
use crate::limits::{Need, Places};
use crate::policy::Policy;
use crate::port::{Permit, Refusal, SessionState, Verdict};
use crate::question::Question;
use crate::refusal::Reason;
use crate::refusing::{self, Stopped};
use crate::stats::Effect;
use crate::unit::{Bound, Facts, Turn, Unit};
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
    pub(super) under_way: &'a mut UnderWay,
    pub(super) dice: &'a mut SmallRng,
}

impl Decision<'_> {
    #[inline]
    pub(super) fn decide(self, question: &impl Question) -> Verdict {
        self.asker.stats.saw(self.facts.class);
        let turn = self.unit.turn(&self.facts, self.session, &self.policy.defaults.graces, Instant::now);
        let bound = match &turn {
            Turn::Free | Turn::GoesOn => return self.goes_on(),
            Turn::GoesOnUnlessRuled if !self.policy.rules_on_transactions => return self.goes_on(),
            Turn::GoesOnUnlessRuled => Bound::Locked,
            Turn::Decide(bound) => *bound,
            Turn::Refused(refusal) => return self.refuse_again(refusal),
        };
        if self.policy.is_idle() {
            return self.pass();
        }
        let now = self.keeper.now();
        let judgement = self.asker.who.judge(self.policy, question, now);
        if !judgement.matched {
            return self.pass();
        }
        let must_be_ruled = matches!(turn, Turn::GoesOnUnlessRuled);
        self.weigh(question, judgement, bound, must_be_ruled, now)
    }

    /// Some rule matched.
    fn weigh(
        self,
        question: &impl Question,
        judgement: Judgement<'_>,
        bound: Bound,
        must_be_ruled: bool,
        now: Timestamp,
    ) -> Verdict {
        let policy = self.policy;
        let (enforced, warned) = policy.in_force(judgement);
        if must_be_ruled && enforced.share.is_none_or(|rule| rule.in_transaction == InTransaction::Pass) {
            return self.goes_on();
        }
        count(&enforced, warned.as_ref(), now);
        let arrival = Instant::now();
        let mut attempt = Attempt::new(arrival, bound);
        let dice = &mut *self.dice;
        let step = attempt.step(enforced.share, &policy.defaults, arrival, &mut || dice.random());
        match step {
            Step::Exempt => return self.pass_warning(&enforced, warned.as_ref(), bound),
            Step::Refuse(reason) => {
                return self.refuse(&Stopped::by(enforced.share, reason, now), question);
            }
            Step::Go => {
                let needs = self.needs(&enforced);
                let places = if needs.is_empty() { Some(None) } else { self.keeper.limits.take(&needs).map(Some) };
                if let Some(places) = places {
                    self.places.extend(places);
                    return self.pass_warning(&enforced, warned.as_ref(), bound);
                }
            }
            Step::Wait(_) => {}
        }
        let who = &self.asker.who;
        let Some(seat) = self.keeper.room.enter(who.user(), &self.asker.stats, &policy.queue, arrival) else {
            return self.refuse(&Stopped::by_the_queue(), question);
        };
        self.under_way.hold(self.facts);
        Verdict::Hold(Box::pin(hold(Held {
            keeper: Arc::clone(self.keeper),
            policy: Arc::clone(policy),
            asker: Arc::clone(self.asker),
            question: question.keep(),
            attempt,
            step,
            had: Had::of(self.keeper, self.places),
            blamed: Vec::new(),
            dice: SmallRng::seed_from_u64(self.dice.random()),
            seat,
        })))
    }

    /// The limits that a unit needs places under and has none yet.
    fn needs(&self, fields: &Fields<'_>) -> Vec<Need> {
        let limits = &self.keeper.limits;
        let has = |need: &Need| self.places.iter().any(|places| places.rules_under(limits).contains(&need.rule));
        self.policy.needs(fields).filter(|need| !has(need)).collect()
    }

    fn pass_warning(self, enforced: &Fields<'_>, warned: Option<&Fields<'_>>, bound: Bound) -> Verdict {
        if let Some(warned) = warned {
            let had = Had::of(self.keeper, self.places);
            let stats = &self.asker.stats;
            let passing = Passing { keeper: self.keeper, policy: self.policy, stats, bound, had: &had.shadows };
            let dice = &mut *self.dice;
            self.places.extend(passing.warn(enforced, warned, &mut || dice.random()));
        }
        self.pass()
    }

    fn refuse(self, stopped: &Stopped, question: &impl Question) -> Verdict {
        self.asker.stats.rejected();
        let refusal = stopped.refuse(self.policy, self.asker, || question.known_fingerprint(), self.dice);
        refusing::after(refusing::pause(&self.policy.defaults, self.dice), refusal)
    }

    fn refuse_again(self, refusal: &Refusal) -> Verdict {
        self.asker.stats.rejected();
        self.asker.stats.by_rule_or_nobody(None, Reason::Transaction, Effect::Rejected);
        refusing::after(refusing::pause(&self.policy.defaults, self.dice), refusal.clone())
    }

    /// It was decided about, and passes.
    #[inline]
    fn pass(self) -> Verdict {
        self.unit.judged(Instant::now);
        self.goes_on()
    }

    #[inline]
    fn goes_on(self) -> Verdict {
        self.asker.stats.passed();
        self.unit.admitted(&self.facts, self.session);
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
