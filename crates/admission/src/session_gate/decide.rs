//! What is not free: who asks, which rules own it, and what they say.

use identity::Said;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rules::{CompiledRule, Fields, InTransaction, Mode, Query};
use std::sync::Arc;
use tokio::time::Instant;

use super::asker::Asker;
use super::{Context, State};
use crate::attempt::{Attempt, Step};
use crate::hold::{Held, hold, pause};
use crate::limits::{Need, Places};
use crate::policy::Policy;
use crate::port::{Ask, Permit, Refusal, Verdict};
use crate::question::{self, KnownQuestion};
use crate::stats::Effect;
use crate::unit::{Bound, Facts, Turn};

/// A statement on its way to a verdict.
pub(super) struct Asked<'a> {
    pub(super) facts: Facts,
    pub(super) ask: &'a Ask<'a>,
    /// What its comments say of who asks, if they say anything.
    pub(super) said: Option<&'a Said<'a>>,
}

impl State {
    pub(super) fn decide<Q: Query>(
        &mut self,
        context: &Context,
        asked: Asked<'_>,
        question: &Q,
        keep: impl FnOnce() -> KnownQuestion,
    ) -> Verdict {
        let Context { keeper, policy } = context;
        let Asked { facts, ask, said } = asked;
        let asker = match (said, ask.attributes) {
            (None, None) => Arc::clone(self.askers.own()),
            (said, None) => self.askers.of(keeper, policy, said),
            (said, Some(_)) => {
                let attributes = question::attributes(ask.attributes);
                let pairs = attributes.iter().map(|(name, value)| (*name, value.as_ref()));
                let said = said.cloned().unwrap_or_else(|| identity::read_comments(b"", b"", None));
                self.askers.of(keeper, policy, Some(&said.with_query_attributes(pairs)))
            }
        };
        asker.stats.saw(facts.class);

        let arrival = Instant::now();
        let turn = self.unit.turn(&facts, ask.session, &policy.defaults.graces, arrival);
        let bound = match &turn {
            Turn::Free | Turn::GoesOn => return self.pass_as(&facts, &asker, None),
            Turn::GoesOnUnlessRuled if !policy.rules_on_transactions => return self.pass_as(&facts, &asker, None),
            Turn::GoesOnUnlessRuled => Bound::Locked,
            Turn::Decide(bound) => *bound,
            Turn::Refused(refusal) => {
                asker.stats.rejected();
                return self.refuse_again(policy, refusal);
            }
        };
        if policy.rules.is_empty() || policy.defaults.mode == Mode::Off {
            return self.pass_as(&facts, &asker, Some(arrival));
        }
        let now = keeper.now();
        let judgement = asker.judge(policy, question, now);
        if !judgement.matched {
            return self.pass_as(&facts, &asker, Some(arrival));
        }
        let (enforced, warned) = policy.in_force(judgement);
        if let Some(warned) = warned {
            self.warn(policy, &asker, &warned, bound, arrival);
        }
        enforced.count(now);
        let rules_writers = enforced.share.is_some_and(|rule| rule.in_transaction != InTransaction::Pass);
        if turn == Turn::GoesOnUnlessRuled && !rules_writers {
            return self.pass_as(&facts, &asker, None);
        }
        let mut attempt = Attempt::new(arrival, bound);
        let dice = &mut self.dice;
        let step = attempt.step(enforced.share, &policy.defaults, arrival, &mut || dice.random());
        let needs = match step {
            Step::Exempt => return self.pass_as(&facts, &asker, Some(arrival)),
            Step::Go => self.needs(policy, &enforced),
            Step::Wait(_) | Step::Refuse(_) => Vec::new(),
        };
        if step == Step::Go {
            if needs.is_empty() {
                return self.pass_as(&facts, &asker, Some(arrival));
            }
            if let Some(places) = keeper.limits.take(&needs) {
                self.places.push(places);
                return self.pass_as(&facts, &asker, Some(arrival));
            }
        }
        self.under_way.hold(facts);
        Verdict::Hold(Box::pin(hold(Held {
            keeper: Arc::clone(keeper),
            asker,
            question: keep(),
            attempt,
            step,
            has: self.places.iter().flat_map(Places::rules).cloned().collect(),
            dice: SmallRng::seed_from_u64(self.dice.random()),
        })))
    }

    /// The limits that a unit needs places under and has none yet.
    fn needs(&self, policy: &Policy, fields: &Fields<'_>) -> Vec<Need> {
        let has = |need: &Need| self.places.iter().any(|places| places.is_under(&need.rule));
        policy.needs(fields).filter(|need| !has(need)).collect()
    }

    /// Counts what rules in `warn` would have done.
    fn warn(&mut self, policy: &Policy, asker: &Asker, fields: &Fields<'_>, bound: Bound, now: Instant) {
        let Some(rule) = fields.share else { return };
        let dice = &mut self.dice;
        let step = Attempt::new(now, bound).step(Some(rule), &policy.defaults, now, &mut || dice.random());
        if matches!(step, Step::Wait(_) | Step::Refuse(_)) {
            asker.stats.warned();
            asker.stats.by_rule(&rule.id, reason(rule), Effect::Warned);
        }
    }

    fn refuse_again(&mut self, policy: &Policy, refusal: &Refusal) -> Verdict {
        let refusal = refusal.clone();
        let length = pause(&policy.defaults, self.dice.random());
        if length.is_zero() {
            return Verdict::Refuse(refusal);
        }
        Verdict::Hold(Box::pin(async move {
            tokio::time::sleep(length).await;
            Err(refusal)
        }))
    }

    #[inline]
    fn pass_as(&mut self, facts: &Facts, asker: &Asker, decided: Option<Instant>) -> Verdict {
        asker.stats.passed();
        self.unit.admitted(facts, decided);
        Verdict::Pass(Permit::free())
    }
}

/// Why the owner of a share holds something.
pub(crate) fn reason(rule: &CompiledRule) -> crate::refusal::Reason {
    match rule.effect.share {
        Some(rules::Share::Hold) => crate::refusal::Reason::Hold,
        Some(rules::Share::Ratio(_) | rules::Share::Exempt) | None => crate::refusal::Reason::Ratio,
    }
}
