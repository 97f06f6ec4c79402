//! A refusal on its way to the client: counted, logged, and said after a pause.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;
use rules::{CompiledRule, RuleId, Share, Timestamp};
use statement::Fingerprint;
use tracing::debug;

use crate::policy::{Defaults, Placed, Policy};
use crate::port::{Hold, Refusal, Verdict};
use crate::refusal::{NOBODY, Reason, Words, refusal};
use crate::session_gate::{AdmittedSession, Asker};
use crate::stats::Effect;

const LEAST_RETRY: Duration = Duration::from_millis(100);
const MOST_RETRY: Duration = Duration::from_secs(60);

/// Why a unit does not go on.
#[derive(Debug)]
pub(crate) struct Stopped {
    rule: Option<RuleId>,
    reason: Reason,
    retry_after: Duration,
}

impl Stopped {
    pub(crate) fn by(rule: Option<&CompiledRule>, reason: Reason, now: Timestamp) -> Stopped {
        Stopped { rule: rule.map(|rule| rule.id.clone()), reason, retry_after: retry_after(rule, reason, now) }
    }

    /// A gate lets nothing like it through.
    pub(crate) fn by_gate(gate: &Placed) -> Stopped {
        Stopped { rule: Some(gate.name().clone()), reason: Reason::Gate, retry_after: Duration::from_secs(1) }
    }

    /// Too many wait already, whatever for.
    pub(crate) fn by_the_queue() -> Stopped {
        Stopped { rule: None, reason: Reason::Queue, retry_after: Duration::from_secs(1) }
    }

    /// The words for the client. Counts the rule, not the unit.
    pub(crate) fn refuse(
        &self,
        policy: &Policy,
        asker: &Asker,
        fingerprint: impl FnOnce() -> Option<Fingerprint>,
        dice: &mut SmallRng,
    ) -> Refusal {
        asker.stats.by_rule_or_nobody(self.rule.as_ref(), self.reason, Effect::Rejected);
        let words = Words {
            rule: self.rule.as_deref().unwrap_or(NOBODY),
            reason: self.reason,
            client: asker.who.name(),
            retry_after: self.retry_after,
            id: dice.random(),
        };
        debug!(
            rule = words.rule,
            reason = %words.reason,
            client = words.client,
            user = %String::from_utf8_lossy(asker.who.user()),
            fingerprint = fingerprint().map(|fingerprint| fingerprint.to_string()),
            id = format_args!("{:016x}", words.id),
            "rejected"
        );
        refusal(policy.defaults.error, &words)
    }
}

/// When it makes sense to try again.
pub(crate) fn retry_after(rule: Option<&CompiledRule>, reason: Reason, now: Timestamp) -> Duration {
    let until_it_ends = || rule.and_then(|rule| rule.expires).map_or(Duration::from_secs(1), |end| end.since(now));
    match rule.and_then(|rule| rule.effect.share).filter(|_| reason != Reason::Concurrency) {
        Some(Share::Ratio(ratio)) if ratio < 1.0 => LEAST_RETRY.mul_f64(1.0 / (1.0 - ratio)).min(MOST_RETRY),
        Some(Share::Ratio(_) | Share::Hold) => until_it_ends().clamp(LEAST_RETRY, MOST_RETRY),
        Some(Share::Exempt) | None => LEAST_RETRY,
    }
}

/// A random time around the mean before a refusal, so that a client that tries again at once, for ever, is a nuisance
/// only to itself.
pub(crate) fn pause(defaults: &Defaults, dice: &mut SmallRng) -> Duration {
    let roll: f64 = dice.random();
    // From a third of it to five thirds.
    defaults.reject_pause.mul_f64((1.0 + 4.0 * roll) / 3.0)
}

/// The refusal after this pause.
pub(crate) fn after(pause: Duration, refusal: Refusal, session: &Arc<AdmittedSession>) -> Verdict {
    if pause.is_zero() {
        return Verdict::Refuse(refusal);
    }
    let session = Arc::clone(session);
    let hold: Hold = Box::pin(async move {
        tokio::time::sleep(pause).await;
        session.refuse(&refusal);
        Err(refusal)
    });
    Verdict::Hold(hold)
}
