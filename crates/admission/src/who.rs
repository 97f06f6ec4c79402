//! Who asks, twice, and the rules that may concern it: one policy's, and of no other.

use identity::{Identities, Identity};
use rules::{Candidates, Judgement, LoginJudgement, Matcher, Mode, Query, Timestamp};

use crate::policy::Policy;

#[derive(Debug)]
pub(crate) struct Who {
    pub(crate) identities: Identities,
    claimed: Candidates,
    trusted: Candidates,
}

impl Who {
    pub(crate) fn new(policy: &Policy, identities: Identities) -> Who {
        let candidates = |identity: &Identity| policy.rules.candidates(identity);
        let claimed = candidates(&identities.claimed);
        let trusted = identities.trusted.as_deref().map(candidates).unwrap_or_default();
        Who { identities, claimed, trusted }
    }

    /// As it calls itself.
    pub(crate) fn name(&self) -> &str {
        self.identities.claimed.name.as_str()
    }

    pub(crate) fn user(&self) -> &[u8] {
        &self.identities.claimed.user
    }

    /// `false`: judging would find that nothing matches.
    #[inline]
    pub(crate) fn may_match<Q: Query>(&self, policy: &Policy, question: &Q) -> bool {
        // What is asked finds the same rules for both.
        policy.rules.may_match(&self.claimed, question) || !self.trusted.is_empty()
    }

    /// Judged on all facts, and on the trusted ones alone where that may differ; the stricter stands.
    #[inline]
    pub(crate) fn judge<'p, Q: Query>(&self, policy: &'p Policy, question: &Q, now: Timestamp) -> Judgement<'p> {
        let judge = |candidates, identity| policy.rules.judge(candidates, identity, question, now, Mode::Enforce);
        let claimed = judge(&self.claimed, &self.identities.claimed);
        match &self.identities.trusted {
            Some(trusted) => judge(&self.trusted, trusted).stricter(claimed),
            None => claimed,
        }
    }

    /// Whether a gate's match is about this, by what it says of itself or by what is known of it.
    pub(crate) fn concerned<Q: Query>(&self, matcher: &Matcher, question: &Q) -> bool {
        let trusted = self.identities.trusted.as_deref();
        matcher.concerns(&self.identities.claimed, question)
            || trusted.is_some_and(|trusted| matcher.concerns(trusted, question))
    }

    pub(crate) fn concerned_by_login(&self, matcher: &Matcher, schema: Option<&[u8]>) -> bool {
        let trusted = self.identities.trusted.as_deref();
        matcher.concerns_login(&self.identities.claimed, schema)
            || trusted.is_some_and(|trusted| matcher.concerns_login(trusted, schema))
    }

    pub(crate) fn judge_login<'p>(
        &self,
        policy: &'p Policy,
        schema: Option<&[u8]>,
        now: Timestamp,
    ) -> LoginJudgement<'p> {
        let judge = |candidates, identity| policy.rules.judge_login(candidates, identity, schema, now, Mode::Enforce);
        let claimed = judge(&self.claimed, &self.identities.claimed);
        match &self.identities.trusted {
            Some(trusted) => judge(&self.trusted, trusted).stricter(claimed),
            None => claimed,
        }
    }
}
