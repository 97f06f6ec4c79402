//! Carries out the decision about a statement: rolls the dice, takes places, holds, refuses, and counts what came of it.

use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use super::AdmittedSession;
use super::asker::Asker;
use super::running::Running;
use super::under_way::UnderWay;
use crate::attempt::{Attempt, Step};
use crate::decision::{Contest, Decision, Enforcing, Owners, Situation, Why, decide};
use crate::gatekeeper::Gatekeeper;
use crate::hold::{Had, Held, hold};
use crate::limits::{Need, Places, Taken, Thing};
use crate::policy::{Concerning, Policy};
use crate::port::{Permit, Refusal, SessionState, Verdict};
use crate::question::Question;
use crate::refusal::Reason;
use crate::refusing::{self, Stopped};
use crate::stats::Effect;
use crate::unit::{BRIEF, Bound, Facts, Unit};
use crate::warned::Passing;

/// A statement on its way to a verdict, and everything that the verdict may change.
pub(super) struct Action<'a> {
    pub(super) keeper: &'a Arc<Gatekeeper>,
    pub(super) policy: &'a Arc<Policy>,
    pub(super) admitted: &'a Arc<AdmittedSession>,
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

impl Action<'_> {
    #[inline]
    pub(super) fn run(self, question: &impl Question) -> Verdict {
        let (keeper, policy) = (self.keeper, self.policy);
        self.asker.stats.saw(self.facts.class);
        keeper.gates.in_flight().asked(self.running.shard());
        let concerning = policy.gates.concerning(&self.asker.who, question);
        let turn = self.unit.turn(&self.facts, self.session, &policy.defaults.graces, Instant::now);
        let situation = Situation {
            policy,
            who: &self.asker.who,
            question,
            turn: &turn,
            gates: keeper.gates.now(concerning),
            enforcing: Enforcing::AsConfigured,
        };
        match decide(&situation, || keeper.now()) {
            Decision::Pass(Why::NoRule) => self.pass(concerning, 0),
            Decision::Pass(Why::NeverDelayed | Why::GoesOn) => self.goes_on(concerning, 0),
            Decision::PassCounted(owners) => self.pass_counted(&owners, concerning),
            Decision::Reject(owners, bound) => self.reject(&owners, question, bound),
            Decision::RejectAgain(refusal) => self.reject_again(&refusal),
            Decision::Contest(contest) => self.contest(&contest, question, concerning),
        }
    }

    fn contest(mut self, contest: &Contest<'_>, question: &impl Question, concerning: Concerning) -> Verdict {
        let policy = self.policy;
        let owners = &contest.owners;
        owners.count();
        let arrival = Instant::now();
        let mut attempt = Attempt::new(arrival, contest.bound);
        let dice = &mut *self.dice;
        let step = attempt.step(owners.enforced.share, &policy.defaults, arrival, &mut || dice.random());
        match step {
            Step::Exempt => {
                self.force_places(owners, false);
                self.exempt = true;
                return self.pass_warning(contest, concerning, 0);
            }
            Step::Refuse(reason) => {
                return self.refuse(&Stopped::by(owners.enforced.share, reason, owners.now), question, &attempt);
            }
            Step::Go => {
                let needs = self.without_place(contest.needs(policy));
                let taken = if needs.is_empty() { Some(Taken::default()) } else { self.keeper.limits.take(&needs) };
                if let Some(taken) = taken {
                    let asked = self.keep(taken);
                    return self.pass_warning(contest, concerning, asked);
                }
            }
            Step::Wait(_) => {}
        }
        let who = &self.asker.who;
        let Some(seat) = self.keeper.room.enter(who.user(), &self.asker.stats, &policy.queue, arrival) else {
            return self.refuse(&Stopped::by_the_queue(), question, &attempt);
        };
        self.under_way.hold(self.facts, concerning);
        Verdict::Hold(Box::pin(hold(Held {
            keeper: Arc::clone(self.keeper),
            policy: Arc::clone(policy),
            asker: Arc::clone(self.asker),
            question: question.keep(),
            attempt,
            step,
            is_gated: contest.is_gated,
            had: Had::of(self.keeper, self.places),
            blamed: Vec::new(),
            dice: SmallRng::seed_from_u64(self.dice.random()),
            session: Arc::clone(self.admitted),
            seat,
        })))
    }

    /// Those that its unit has not got yet.
    fn without_place(&self, mut needs: Vec<Need>) -> Vec<Need> {
        let limits = &self.keeper.limits;
        let has = |need: &Need| {
            let mut had = self.places.iter().flat_map(|places| places.rules_under(limits));
            had.any(|rule| matches!(&need.thing, Thing::Rule(needed) if needed == rule))
        };
        needs.retain(|need| !has(need));
        needs
    }

    /// Counts a unit that passes for another reason under all limits that match and that it has no place under, so that
    /// others wait for it. `warned`: also under those that only warn.
    fn force_places(&mut self, owners: &Owners<'_>, warned: bool) {
        let needs = self.without_place(self.policy.needs(&owners.enforced).collect());
        let forced = self.keeper.limits.force(&needs);
        let shadow = owners.warned.as_ref().filter(|_| warned).and_then(|all| {
            let had = Had::of(self.keeper, self.places);
            self.passing(&had).count(&owners.enforced, all)
        });
        for taken in forced.into_iter().chain(shadow) {
            self.keep(taken);
        }
    }

    fn passing<'a>(&'a self, had: &'a Had) -> Passing<'a> {
        Passing { keeper: self.keeper, policy: self.policy, stats: &self.asker.stats, had: &had.shadows }
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

    fn pass_warning(mut self, contest: &Contest<'_>, concerning: Concerning, asked: u64) -> Verdict {
        if contest.warns() {
            let had = Had::of(self.keeper, self.places);
            let mut dice = SmallRng::seed_from_u64(self.dice.random());
            if let Some(taken) = self.passing(&had).warn(contest, &mut || dice.random()) {
                self.keep(taken);
            }
        }
        self.pass(concerning, asked)
    }

    fn refuse(self, stopped: &Stopped, question: &impl Question, attempt: &Attempt) -> Verdict {
        self.asker.stats.rejected();
        let refusal = stopped.refuse(self.policy, self.asker, || question.known_fingerprint(), self.dice);
        let wanted = refusing::pause(&self.policy.defaults, self.dice);
        refusing::after(attempt.pause(wanted, Instant::now()), refusal, self.admitted)
    }

    fn reject_again(self, refusal: &Refusal) -> Verdict {
        self.asker.stats.rejected();
        self.asker.stats.by_rule_or_nobody(None, Reason::Transaction, Effect::Rejected);
        // What its transaction has locked is locked until the client ends it.
        let pause = refusing::pause(&self.policy.defaults, self.dice).min(BRIEF);
        refusing::after(pause, refusal.clone(), self.admitted)
    }

    /// It was decided about, and passes.
    #[inline]
    fn pass(self, concerning: Concerning, asked: u64) -> Verdict {
        self.unit.judged(Instant::now);
        self.goes_on(concerning, asked)
    }

    fn pass_counted(mut self, owners: &Owners<'_>, concerning: Concerning) -> Verdict {
        self.force_places(owners, true);
        self.goes_on(concerning, 0)
    }

    /// At once, also inside a writing transaction and for a lock holder.
    fn reject(self, owners: &Owners<'_>, question: &impl Question, bound: Bound) -> Verdict {
        owners.enforced.count(owners.now);
        let attempt = Attempt::new(Instant::now(), bound);
        self.refuse(&Stopped::by(owners.enforced.share, Reason::Ratio, owners.now), question, &attempt)
    }

    #[inline]
    fn goes_on(self, concerning: Concerning, asked: u64) -> Verdict {
        self.asker.stats.passed();
        self.unit.admitted(&self.facts, self.session, self.exempt);
        self.running.begin(&self.keeper.gates, &self.facts, concerning, asked);
        let session = Arc::clone(self.admitted);
        Verdict::Pass(Permit::new(session))
    }
}
