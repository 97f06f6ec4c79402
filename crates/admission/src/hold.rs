//! A unit that waits: for its next roll, for a place, for its rule to end. It is judged anew whenever the policy changes,
//! and once a second for what only the clock changes.
//!
//! The future is dropped when its client leaves, is killed or the proxy shuts down: everything it has goes with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use rules::{Action, CompiledRule, Fields, RuleId};
use tokio::time::{Instant, sleep, sleep_until};

use crate::attempt::{Attempt, Step};
use crate::gatekeeper::Gatekeeper;
use crate::limits::{Limits, Need, Places, Waiter, Waiting};
use crate::policy::Policy;
use crate::port::{Permit, Refusal};
use crate::question::KnownQuestion;
use crate::refusal::Reason;
use crate::refusing::{Stopped, pause};
use crate::room::{End, Seat};
use crate::session_gate::Asker;
use crate::stats::Effect;
use crate::unit::Bound;
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
    /// What its unit has places under already.
    pub(crate) had: Had,
    /// The rules that have been counted for holding it.
    pub(crate) blamed: Vec<(RuleId, Reason)>,
    pub(crate) dice: SmallRng,
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

/// A place in the queue for these limits.
struct Line {
    rules: Vec<RuleId>,
    waiting: Waiting,
}

impl Line {
    fn is_for(&self, needs: &[Need]) -> bool {
        self.rules.len() == needs.len() && needs.iter().all(|need| self.rules.contains(&need.rule))
    }
}

/// Cancel safe: dropped, it was never there.
pub(crate) async fn hold(mut held: Held) -> Result<Permit, Refusal> {
    match held.wait().await {
        Ok(permit) => {
            held.seat.ends(End::Passed);
            Ok(permit)
        }
        Err(stopped) => {
            let fingerprint = held.question.known.as_ref().map(|(fingerprint, _)| *fingerprint);
            let refusal = stopped.refuse(&held.policy, &held.asker, || fingerprint, &mut held.dice);
            held.seat.ends(End::Rejected);
            sleep(pause(&held.policy.defaults, &mut held.dice)).await;
            Err(refusal)
        }
    }
}

/// What comes of a judgement.
enum Next {
    Pass(Option<Places>),
    Stop(Stopped),
    Wait(Instant),
}

impl Held {
    async fn wait(&mut self) -> Result<Permit, Stopped> {
        let mut changes = self.keeper.changes();
        let mut line = None;
        let mut first = Some(self.step);
        loop {
            changes.mark_unchanged();
            if self.renew() {
                first = None;
            }
            let until = match self.next(first.take(), &mut line) {
                Next::Pass(places) => return Ok(self.pass(places)),
                Next::Stop(stopped) => return Err(stopped),
                Next::Wait(until) => until,
            };
            tokio::select! {
                biased;
                places = called(&mut line) => return Ok(self.pass(Some(places))),
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

    fn judge<'p>(&self, policy: &'p Policy) -> (Fields<'p>, Option<Fields<'p>>) {
        if policy.is_idle() {
            return (Fields::default(), None);
        }
        policy.in_force(self.asker.who.judge(policy, &self.question, self.keeper.now()))
    }

    fn next(&mut self, known: Option<Step>, line: &mut Option<Line>) -> Next {
        let policy = Arc::clone(&self.policy);
        let (fields, _) = self.judge(&policy);
        let now = Instant::now();
        let dice = &mut self.dice;
        let roll = &mut || dice.random();
        let step = known.unwrap_or_else(|| self.attempt.step(fields.share, &policy.defaults, now, roll));
        let (until, rule, reason) = match step {
            Step::Exempt => return Next::Pass(None),
            Step::Refuse(reason) => return Next::Stop(self.stopped(fields.share, reason)),
            Step::Wait(until) => {
                *line = None;
                (until, fields.share, fields.share.map_or(Reason::Ratio, Reason::of_share))
            }
            Step::Go => match self.stand_in_line(&policy, &fields, line, now) {
                Ok((until, rule)) => (until, Some(rule), Reason::Concurrency),
                Err(next) => return next,
            },
        };
        if let Some(rule) = rule {
            self.blame(&rule.id, reason);
        }
        Next::Wait(self.believed(until, &fields, now))
    }

    /// Until when, and for which rule's limit. `Err`: there is nothing to stand in line for, or no longer.
    fn stand_in_line<'p>(
        &self,
        policy: &'p Policy,
        fields: &Fields<'p>,
        line: &mut Option<Line>,
        now: Instant,
    ) -> Result<(Instant, &'p CompiledRule), Next> {
        let limits = &self.keeper.limits;
        let needs: Vec<Need> = policy.needs(fields).filter(|need| !self.had.limits.contains(&need.rule)).collect();
        if needs.is_empty() {
            return Err(Next::Pass(None));
        }
        if line.as_ref().is_some_and(|line| line.is_for(&needs)) {
            // Its place in the line outlives a reload.
            limits.learn(&needs);
        } else {
            *line = None;
            if let Some(places) = limits.take(&needs) {
                return Err(Next::Pass(Some(places)));
            }
        }
        let full = limits.full(&needs);
        let keeps = |rule: &&CompiledRule| full.is_empty() || full.contains(&rule.id);
        let needed = fields.concurrency.iter().filter(|rule| needs.iter().any(|need| need.rule == rule.id));
        let deadlines = needed.filter(keeps).map(|rule| (self.attempt.deadline(rule, &policy.defaults), rule));
        let Some((deadline, rule)) = deadlines.min_by_key(|(deadline, _)| *deadline) else {
            return Err(Next::Pass(None));
        };
        let rejects = rule.action.unwrap_or(policy.defaults.action) == Action::Reject;
        match self.attempt.bound() {
            // What holds locks must finish.
            Bound::Locked if now >= deadline => {
                self.asker.stats.overdrawn();
                return Err(Next::Pass(None));
            }
            Bound::Full | Bound::Brief if rejects || now >= deadline => {
                return Err(Next::Stop(self.stopped(Some(rule), Reason::Concurrency)));
            }
            Bound::Full | Bound::Brief | Bound::Locked => {}
        }
        line.get_or_insert_with(|| {
            let who = &self.asker.who;
            let waiter = Waiter { user: who.user().into(), name: who.name().into() };
            Line { rules: needs.iter().map(|need| need.rule.clone()).collect(), waiting: limits.wait(&needs, waiter) }
        });
        Ok((deadline, rule))
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

    fn pass(&mut self, places: Option<Places>) -> Permit {
        let policy = Arc::clone(&self.policy);
        let (enforced, warned) = self.judge(&policy);
        let shadow = warned.and_then(|warned| {
            let passing = Passing {
                keeper: &self.keeper,
                policy: &policy,
                stats: &self.asker.stats,
                bound: self.attempt.bound(),
                had: &self.had.shadows,
            };
            let dice = &mut self.dice;
            passing.warn(&enforced, &warned, &mut || dice.random())
        });
        Permit::with(places.into_iter().chain(shadow).collect())
    }
}

/// Never, for one that stands in no line.
async fn called(line: &mut Option<Line>) -> Places {
    match line {
        Some(line) => line.waiting.places().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
