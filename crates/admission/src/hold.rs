//! A unit that waits: for its next roll, for a place, for its rule to end. It is judged anew whenever the policy changes,
//! and once a second for what only the clock changes.
//!
//! The future is dropped when its client leaves, is killed or the proxy shuts down: everything it has goes with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use health::Flow;
use rand::RngExt;
use rand::rngs::SmallRng;
use rules::{Action, CompiledRule, Fields, RuleId};
use tokio::time::{Instant, sleep, sleep_until};

use crate::attempt::{Attempt, Step};
use crate::decision::{Contest, Decision, Enforcing, Situation, decide};
use crate::gatekeeper::Gatekeeper;
use crate::limits::{Limits, Need, Places, Taken, Thing, Waiter, Waiting};
use crate::policy::{Placed, Policy};
use crate::port::{Permit, Refusal};
use crate::question::KnownQuestion;
use crate::refusal::Reason;
use crate::refusing::{Stopped, pause};
use crate::room::{End, Seat};
use crate::session_gate::{AdmittedSession, Asker, Granted};
use crate::stats::Effect;
use crate::unit::{Bound, Turn};
use crate::warned::Passing;

/// How long what was judged is believed: hours begin and end, and clocks are set.
const BELIEVED: Duration = Duration::from_secs(1);

/// Everything that a unit which waits needs to be judged again.
pub(crate) struct Held {
    pub(crate) keeper: Arc<Gatekeeper>,
    /// That `asker` is of.
    pub(crate) policy: Arc<Policy>,
    pub(crate) asker: Arc<Asker>,
    pub(crate) question: KnownQuestion,
    pub(crate) attempt: Attempt,
    /// What the first judgement said.
    pub(crate) step: Step,
    /// Gates may hold it: it is no statement of a transaction that has written.
    pub(crate) is_gated: bool,
    /// What its unit has places under already.
    pub(crate) had: Had,
    /// The rules that have been counted for holding it.
    pub(crate) blamed: Vec<(RuleId, Reason)>,
    pub(crate) dice: SmallRng,
    /// To which what it gets belongs.
    pub(crate) session: Arc<AdmittedSession>,
    pub(crate) seat: Seat,
}

/// Limits that a unit has places under, those that only warn apart.
#[derive(Debug, Default)]
pub(crate) struct Had {
    pub(crate) limits: Vec<RuleId>,
    pub(crate) shadows: Vec<RuleId>,
}

impl Had {
    pub(crate) fn of(keeper: &Gatekeeper, places: &[Places]) -> Had {
        let under =
            |limits: &Arc<Limits>| places.iter().flat_map(|places| places.rules_under(limits)).cloned().collect();
        Had { limits: under(&keeper.limits), shadows: under(&keeper.shadows) }
    }
}

/// A place in the queue for these.
struct Line {
    things: Vec<Thing>,
    waiting: Waiting,
}

impl Line {
    fn is_for(&self, needs: &[Need]) -> bool {
        self.things.len() == needs.len() && needs.iter().all(|need| self.things.contains(&need.thing))
    }
}

/// Who keeps a unit from going.
#[derive(Clone, Copy)]
enum Blocker<'p> {
    Rule(&'p CompiledRule),
    Gate(&'p Placed),
}

impl Blocker<'_> {
    fn rejects(&self, policy: &Policy) -> bool {
        let action = match self {
            Blocker::Rule(rule) => rule.action.unwrap_or(policy.defaults.action),
            Blocker::Gate(placed) => placed.gate.action,
        };
        action == Action::Reject
    }

    fn id(&self) -> &RuleId {
        match self {
            Blocker::Rule(rule) => &rule.id,
            Blocker::Gate(placed) => placed.name(),
        }
    }

    fn reason(&self) -> Reason {
        match self {
            Blocker::Rule(_) => Reason::Concurrency,
            Blocker::Gate(_) => Reason::Gate,
        }
    }
}

/// Cancel safe: dropped, it was never there.
pub(crate) async fn hold(mut held: Held) -> Result<Permit, Refusal> {
    match held.wait().await {
        Ok(granted) => {
            held.seat.ends(End::Passed);
            Ok(held.session.grant(granted))
        }
        Err(stopped) => {
            let fingerprint = held.question.fingerprint();
            let refusal = stopped.refuse(&held.policy, &held.asker, || fingerprint, &mut held.dice);
            held.seat.ends(End::Rejected);
            let wanted = pause(&held.policy.defaults, &mut held.dice);
            sleep(held.attempt.pause(wanted, Instant::now())).await;
            held.session.refuse(&refusal);
            Err(refusal)
        }
    }
}

/// What comes of a judgement.
enum Next {
    Pass(Option<Taken>),
    PassExempt(Option<Taken>),
    Stop(Stopped),
    Wait(Instant),
}

impl Held {
    async fn wait(&mut self) -> Result<Granted, Stopped> {
        let mut changes = self.keeper.changes();
        let mut line = None;
        let mut first = Some(self.step);
        loop {
            changes.mark_unchanged();
            if self.renew() {
                first = None;
            }
            let until = match self.next(first.take(), &mut line) {
                Next::Pass(taken) => return Ok(self.pass(taken, false)),
                Next::PassExempt(taken) => return Ok(self.pass(taken, true)),
                Next::Stop(stopped) => return Err(stopped),
                Next::Wait(until) => until,
            };
            tokio::select! {
                biased;
                taken = called(&mut line) => return Ok(self.pass(Some(taken), false)),
                _ = changes.changed() => {}
                () = sleep_until(until) => {}
            }
        }
    }

    /// Takes up a new policy. Who asks was settled when it asked.
    fn renew(&mut self) -> bool {
        if self.keeper.generation.load(Ordering::Acquire) == self.policy.generation {
            return false;
        }
        self.policy = self.keeper.policy();
        self.asker = Arc::new(self.asker.under(&self.policy));
        true
    }

    fn decide<'p>(&self, policy: &'p Policy) -> Decision<'p> {
        let turn = if self.is_gated { Turn::Decide(self.attempt.bound()) } else { Turn::GoesOnUnlessRuled };
        let (who, question) = (&self.asker.who, &self.question);
        let gates = self.keeper.gates.now(policy.gates.concerning(who, question));
        decide(&Situation { policy, who, question, turn: &turn, gates, enforcing: Enforcing::AsConfigured }, || {
            self.keeper.now()
        })
    }

    fn next(&mut self, known: Option<Step>, line: &mut Option<Line>) -> Next {
        let policy = Arc::clone(&self.policy);
        let contest = match self.decide(&policy) {
            Decision::Pass(_) => return Next::Pass(None),
            Decision::PassCounted(owners) => return Next::Pass(self.force(policy.needs(&owners.enforced).collect())),
            Decision::Reject(owners, _) => return Next::Stop(self.stopped(owners.enforced.share, Reason::Ratio)),
            Decision::RejectAgain(_) => return Next::Stop(self.stopped(None, Reason::Transaction)),
            Decision::Contest(contest) => contest,
        };
        let fields = &contest.owners.enforced;
        let now = Instant::now();
        let dice = &mut self.dice;
        let roll = &mut || dice.random();
        let step = known.unwrap_or_else(|| self.attempt.step(fields.share, &policy.defaults, now, roll));
        let (until, blamed, reason) = match step {
            Step::Exempt => return Next::PassExempt(self.force(contest.needs(&policy))),
            Step::Refuse(reason) => return Next::Stop(self.stopped(fields.share, reason)),
            Step::Wait(until) => {
                *line = None;
                let rule = fields.share.map(|rule| rule.id.clone());
                (until, rule, fields.share.map_or(Reason::Ratio, Reason::of_share))
            }
            Step::Go => match self.stand_in_line(&policy, &contest, line, now) {
                Ok((until, blocker)) => (until, Some(blocker.id().clone()), blocker.reason()),
                Err(next) => return next,
            },
        };
        if let Some(rule) = blamed {
            self.blame(&rule, reason);
        }
        Next::Wait(self.believed(until, fields, now))
    }

    /// Those that its unit has not got yet.
    fn without_place(&self, mut needs: Vec<Need>) -> Vec<Need> {
        let has = |need: &Need| match &need.thing {
            Thing::Rule(rule) => self.had.limits.contains(rule),
            Thing::Gate(_) | Thing::Under(..) => false,
        };
        needs.retain(|need| !has(need));
        needs
    }

    /// Until when, and for whom. `Err`: there is nothing to stand in line for, or no longer.
    fn stand_in_line<'p>(
        &self,
        policy: &'p Policy,
        contest: &Contest<'p>,
        line: &mut Option<Line>,
        now: Instant,
    ) -> Result<(Instant, Blocker<'p>), Next> {
        let limits = &self.keeper.limits;
        let fields = &contest.owners.enforced;
        let needs = self.without_place(contest.needs(policy));
        if needs.is_empty() {
            return Err(Next::Pass(None));
        }
        if line.as_ref().is_some_and(|line| line.is_for(&needs)) {
            // Its place in the line outlives a reload.
            limits.learn(&needs);
        } else {
            *line = None;
            if let Some(taken) = limits.take(&needs) {
                return Err(Next::Pass(Some(taken)));
            }
        }
        let Some((deadline, blocker)) = self.first_deadline(policy, fields, &needs) else {
            *line = None;
            return Err(Next::Pass(self.force(needs)));
        };
        match self.attempt.bound() {
            // What holds locks must finish.
            Bound::Locked if now >= deadline => {
                self.asker.stats.overdrawn();
                *line = None;
                return Err(Next::Pass(self.force(needs)));
            }
            Bound::Full | Bound::AfterReads | Bound::Brief
                if self.is_rejected_by(blocker, policy) || now >= deadline =>
            {
                return Err(Next::Stop(self.stopped_by(blocker)));
            }
            Bound::Full | Bound::AfterReads | Bound::Brief | Bound::Locked => {}
        }
        line.get_or_insert_with(|| {
            let who = &self.asker.who;
            let waiter = Waiter { user: who.user().into(), name: who.name().into(), weight: fields.weight() };
            let things = needs.iter().map(|need| need.thing.clone()).collect();
            let waiting = limits.wait(&needs, waiter);
            self.keeper.gates.want();
            Line { things, waiting }
        });
        Ok((deadline, blocker))
    }

    /// Counts it under the limits that it passes without waiting for: others wait for it.
    fn force(&self, needs: Vec<Need>) -> Option<Taken> {
        let mut limits = self.without_place(needs);
        limits.retain(|need| matches!(need.thing, Thing::Rule(_)));
        self.keeper.limits.force(&limits)
    }

    /// Of those that have no room, or of all if they have by now, the one whose patience ends first.
    fn first_deadline<'p>(
        &self,
        policy: &'p Policy,
        fields: &Fields<'p>,
        needs: &[Need],
    ) -> Option<(Instant, Blocker<'p>)> {
        let full = self.keeper.limits.full(needs);
        let keeps = |need: &&Need| full.is_empty() || full.contains(&need.thing);
        let blocker = |need: &Need| match &need.thing {
            Thing::Rule(id) => {
                let rule = fields.concurrency.iter().find(|rule| rule.id == *id)?;
                Some((self.attempt.deadline(rule, &policy.defaults), Blocker::Rule(rule)))
            }
            Thing::Gate(slot) | Thing::Under(slot, ..) => {
                let placed = policy.gates.at(*slot)?;
                Some((placed.gate.deadline(&self.attempt), Blocker::Gate(placed)))
            }
        };
        needs.iter().filter(keeps).filter_map(blocker).min_by_key(|(deadline, _)| *deadline)
    }

    /// A gate that nobody has measured for is waited for, whatever its action: it is about to say something.
    fn is_rejected_by(&self, blocker: Blocker<'_>, policy: &Policy) -> bool {
        let wakes = match blocker {
            Blocker::Rule(_) => false,
            Blocker::Gate(placed) => self.keeper.limits.flow(placed.slot) == Flow::Waking,
        };
        blocker.rejects(policy) && !wakes
    }

    fn stopped_by(&self, blocker: Blocker<'_>) -> Stopped {
        match blocker {
            Blocker::Rule(rule) => self.stopped(Some(rule), Reason::Concurrency),
            Blocker::Gate(placed) => Stopped::by_gate(placed),
        }
    }

    /// A rule that ends by the clock changes no policy.
    fn believed(&self, until: Instant, fields: &Fields<'_>, now: Instant) -> Instant {
        let wall = self.keeper.now();
        let ends = fields.owners().filter_map(|rule| rule.expires).filter(|expires| *expires > wall).min();
        let for_long = ends.map_or(BELIEVED, |ends| ends.since(wall).min(BELIEVED));
        until.min(now + for_long)
    }

    /// A rule holds a unit once, however often it rolls.
    fn blame(&mut self, rule: &RuleId, reason: Reason) {
        if !self.blamed.iter().any(|(known, why)| known == rule && *why == reason) {
            self.asker.stats.by_rule(rule, reason, Effect::Held);
            self.blamed.push((rule.clone(), reason));
        }
    }

    fn stopped(&self, rule: Option<&CompiledRule>, reason: Reason) -> Stopped {
        Stopped::by(rule, reason, self.keeper.now())
    }

    fn pass(&mut self, taken: Option<Taken>, exempt: bool) -> Granted {
        let policy = Arc::clone(&self.policy);
        let shadow = match self.decide(&policy) {
            Decision::Contest(contest) if contest.warns() => {
                let passing =
                    Passing { keeper: &self.keeper, policy: &policy, stats: &self.asker.stats, had: &self.had.shadows };
                let dice = &mut self.dice;
                passing.warn(&contest, &mut || dice.random())
            }
            Decision::Contest(_)
            | Decision::Pass(_)
            | Decision::PassCounted(_)
            | Decision::Reject(..)
            | Decision::RejectAgain(_) => None,
        };
        Granted { taken: taken.into_iter().chain(shadow).collect(), exempt }
    }
}

/// Never, for one that stands in no line.
async fn called(line: &mut Option<Line>) -> Taken {
    match line {
        Some(line) => line.waiting.taken().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
