//! A unit that waits: for its next roll, for a place, for its rule to end. It is judged anew whenever the policy changes.
//!
//! The future is dropped when its client leaves, is killed or the proxy shuts down: everything it has goes with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use rules::{CompiledRule, Fields, Mode, RuleId, Share};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::debug;

use crate::attempt::{Attempt, Step};
use crate::gatekeeper::Gatekeeper;
use crate::limits::{Need, Places, Waiter};
use crate::policy::{Defaults, Policy};
use crate::port::{Permit, Refusal};
use crate::question::KnownQuestion;
use crate::refusal::{Reason, Words, refusal};
use crate::session_gate::Asker;
use crate::stats::{Effect, take};
use crate::unit::Bound;

/// Everything that a unit which waits needs to be judged again.
pub(crate) struct Held {
    pub(crate) keeper: Arc<Gatekeeper>,
    pub(crate) asker: Arc<Asker>,
    pub(crate) question: KnownQuestion,
    pub(crate) attempt: Attempt,
    /// What the first judgement said.
    pub(crate) step: Step,
    /// Limits that its unit has places under already.
    pub(crate) has: Vec<RuleId>,
    pub(crate) dice: SmallRng,
}

/// Why a unit does not go on.
struct Stopped {
    rule: Option<RuleId>,
    reason: Reason,
    retry_after: Duration,
}

/// Cancel safe: dropped, it was never there.
pub(crate) async fn hold(mut held: Held) -> Result<Permit, Refusal> {
    let mut changes = held.keeper.changes();
    let mut policy = held.keeper.policy();
    let stopped = match Wait::begin(&held, &policy) {
        Some(mut wait) => match held.wait(&mut policy, &mut changes).await {
            Ok(permit) => {
                wait.ended = true;
                held.asker.stats.held(held.attempt.arrival.elapsed());
                held.asker.stats.passed();
                return Ok(permit);
            }
            Err(stopped) => {
                wait.ended = true;
                stopped
            }
        },
        None => Stopped { rule: None, reason: Reason::Queue, retry_after: Duration::from_secs(1) },
    };
    Err(held.refuse(&policy, &stopped).await)
}

impl Held {
    async fn wait(&mut self, policy: &mut Arc<Policy>, changes: &mut watch::Receiver<u64>) -> Result<Permit, Stopped> {
        let mut first = Some(self.step);
        loop {
            changes.mark_unchanged();
            if self.keeper.generation.load(Ordering::Acquire) != policy.generation {
                *policy = self.keeper.policy();
                self.asker = self.asker.renewed(&self.keeper, policy);
                first = None;
            }
            let current = Arc::clone(policy);
            let fields = self.judge(&current);
            let dice = &mut self.dice;
            let now = Instant::now();
            let step = match first.take() {
                Some(step) => step,
                None => self.attempt.step(fields.share, &current.defaults, now, &mut || dice.random()),
            };
            match step {
                Step::Exempt => return Ok(Permit::free()),
                Step::Go => match self.places(&current, &fields, changes).await? {
                    Some(permit) => return Ok(permit),
                    None => continue,
                },
                Step::Wait(until) => {
                    self.note(&fields);
                    tokio::select! {
                        () = sleep_until(self.or_expiry(until, &fields)) => {}
                        _ = changes.changed() => {}
                    }
                }
                Step::Refuse(reason) => return Err(self.stopped(fields.share, reason)),
            }
        }
    }

    fn judge<'p>(&self, policy: &'p Policy) -> Fields<'p> {
        if policy.rules.is_empty() || policy.defaults.mode == Mode::Off {
            return Fields::default();
        }
        policy.in_force(self.asker.judge(policy, &self.question, self.keeper.now())).0
    }

    /// Places under every limit. `None`: the policy has changed, so ask again.
    async fn places(
        &mut self,
        policy: &Policy,
        fields: &Fields<'_>,
        changes: &mut watch::Receiver<u64>,
    ) -> Result<Option<Permit>, Stopped> {
        let needs: Vec<Need> = policy.needs(fields).filter(|need| !self.has.contains(&need.rule)).collect();
        if needs.is_empty() {
            return Ok(Some(Permit::free()));
        }
        if let Some(places) = self.keeper.limits.take(&needs) {
            return Ok(Some(Permit::with(places)));
        }
        let limits = fields.concurrency.iter().filter(|rule| needs.iter().any(|need| need.rule == rule.id));
        let deadlines = limits.map(|rule| (self.attempt.deadline(rule, &policy.defaults), rule));
        let Some((deadline, rule)) = deadlines.min_by_key(|(deadline, _)| *deadline) else {
            return Ok(Some(Permit::free()));
        };
        let rejects = rule.action.unwrap_or(policy.defaults.action) == rules::Action::Reject;
        if rejects && self.attempt.bound() != Bound::Locked {
            return Err(self.stopped(Some(rule), Reason::Concurrency));
        }
        self.asker.stats.by_rule(&rule.id, Reason::Concurrency, Effect::Held);
        let identity = &self.asker.identities.claimed;
        let waiter = Waiter { user: identity.user.as_ref().into(), name: identity.name.as_str().into() };
        let mut waiting = self.keeper.limits.wait(&needs, waiter);
        let places: Option<Places> = tokio::select! {
            places = waiting.places() => Some(places),
            () = sleep_until(self.or_expiry(deadline, fields)) => None,
            _ = changes.changed() => return Ok(None),
        };
        drop(waiting);
        match places {
            Some(places) => Ok(Some(Permit::with(places))),
            None if Instant::now() < deadline => Ok(None),
            // What holds locks must finish.
            None if self.attempt.bound() == Bound::Locked => {
                self.asker.stats.overdrawn();
                Ok(Some(Permit::free()))
            }
            None => Err(self.stopped(Some(rule), Reason::Concurrency)),
        }
    }

    /// A rule that ends by the clock changes no policy.
    fn or_expiry(&self, until: Instant, fields: &Fields<'_>) -> Instant {
        let now = self.keeper.now();
        let ends = fields.owners().filter_map(|rule| rule.expires).filter(|expires| *expires > now).min();
        match ends {
            Some(expires) => until.min(Instant::now() + expires.since(now) + Duration::from_millis(1)),
            None => until,
        }
    }

    fn note(&self, fields: &Fields<'_>) {
        if let Some(rule) = fields.share {
            self.asker.stats.by_rule(&rule.id, crate::session_gate::reason(rule), Effect::Held);
        }
    }

    fn stopped(&self, rule: Option<&CompiledRule>, reason: Reason) -> Stopped {
        Stopped { rule: rule.map(|rule| rule.id.clone()), reason, retry_after: self.retry_after(rule) }
    }

    /// When it makes sense to try again.
    fn retry_after(&self, rule: Option<&CompiledRule>) -> Duration {
        const LEAST: Duration = Duration::from_millis(100);
        const MOST: Duration = Duration::from_secs(60);
        let until_it_ends =
            || rule.and_then(|rule| rule.expires).map_or(Duration::from_secs(1), |end| end.since(self.keeper.now()));
        match rule.and_then(|rule| rule.effect.share) {
            Some(Share::Ratio(ratio)) if ratio < 1.0 => LEAST.mul_f64(1.0 / (1.0 - ratio)).min(MOST),
            Some(Share::Ratio(_) | Share::Hold) => until_it_ends().clamp(LEAST, MOST),
            Some(Share::Exempt) | None => LEAST,
        }
    }

    async fn refuse(&mut self, policy: &Policy, stopped: &Stopped) -> Refusal {
        let stats = &self.asker.stats;
        stats.rejected();
        if let Some(rule) = &stopped.rule {
            stats.by_rule(rule, stopped.reason, Effect::Rejected);
        }
        let id: u64 = self.dice.random();
        let identity = &self.asker.identities.claimed;
        let rule = stopped.rule.as_deref().unwrap_or("-");
        debug!(
            rule,
            reason = %stopped.reason,
            client = %identity.name,
            user = %String::from_utf8_lossy(&identity.user),
            fingerprint = self.question.known.as_ref().map(|(fingerprint, _)| fingerprint.to_string()),
            id = format_args!("{id:016x}"),
            "rejected"
        );
        let words = Words {
            rule,
            reason: stopped.reason,
            client: identity.name.as_str(),
            retry_after: stopped.retry_after,
            id,
        };
        let refused = refusal(policy.defaults.error, &words);
        let length = pause(&policy.defaults, self.dice.random());
        if !length.is_zero() {
            sleep(length).await;
        }
        refused
    }
}

/// A random time around the mean before a refusal, so that a client that tries again at once, for ever, is a nuisance
/// only to itself. `roll` is from 0 to 1.
pub(crate) fn pause(defaults: &Defaults, roll: f64) -> Duration {
    // From a third of it to five thirds.
    defaults.reject_pause.mul_f64((1.0 + 4.0 * roll) / 3.0)
}

/// A place among those who wait, of this client and of all.
struct Wait {
    keeper: Arc<Gatekeeper>,
    asker: Arc<Asker>,
    /// It was not left.
    ended: bool,
}

impl Wait {
    fn begin(held: &Held, policy: &Policy) -> Option<Wait> {
        let (keeper, asker) = (Arc::clone(&held.keeper), Arc::clone(&held.asker));
        if !take(&keeper.waiting, policy.queue.total) {
            return None;
        }
        if !asker.stats.wait(policy.queue.per_identity) {
            keeper.waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Wait { keeper, asker, ended: false })
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.keeper.waiting.fetch_sub(1, Ordering::Relaxed);
        self.asker.stats.waited();
        if !self.ended {
            self.asker.stats.left();
        }
    }
}
