//! All rules, and what they say together.

mod by_table;

use std::collections::HashMap;
use std::sync::Arc;

use identity::Identity;
use statement::Fingerprint;

use crate::compiled::{CompiledRule, Hits};
use crate::gates::GateNames;
use crate::index::{Index, Lists};
use crate::judgement::{Judgement, LoginJudgement};
use crate::possible::PossibleClaim;
use crate::query::{Query, Truth};
use crate::rule::{Mode, Rule};
use crate::specificity::{Claim, Exactness};
use crate::standing::{LoginStanding, Standing};
use crate::timestamp::Timestamp;

/// Rules compiled: immutable but for their counts, and shared by all sessions.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Box<[Arc<CompiledRule>]>,
    index: Index,
}

/// The rules that an identity fits, whatever it asks. It holds for one identity and one [`RuleSet`] only.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    plain: Vec<Candidate>,
    /// Those on tables.
    with_tables: Vec<Candidate>,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    rule: u32,
    exactness: Exactness,
}

impl Candidates {
    pub fn len(&self) -> usize {
        self.plain.len() + self.with_tables.len()
    }

    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.with_tables.is_empty()
    }
}

/// A rule that matches, and how sure that is.
enum Matched<'a> {
    Certain(Claim<'a>),
    Possible(PossibleClaim<'a>),
}

/// What is judged, and when.
struct Case<'q, Q> {
    candidates: &'q Candidates,
    /// What the index finds by what is asked.
    lists: Lists<'q>,
    identity: &'q Identity,
    query: &'q Q,
    now: Timestamp,
    default_mode: Mode,
}

impl RuleSet {
    /// `digests` gives the fingerprint that was learnt for a digest as MySQL prints it.
    pub fn new(rules: Vec<Rule>, digests: &dyn Fn(&str) -> Option<Fingerprint>) -> RuleSet {
        RuleSet::compile(rules, digests, |_| Arc::default())
    }

    /// The rules that were there before, told by their ids, go on counting.
    pub fn after(previous: &RuleSet, rules: Vec<Rule>, digests: &dyn Fn(&str) -> Option<Fingerprint>) -> RuleSet {
        let known: HashMap<&str, &Arc<Hits>> = previous.rules.iter().map(|rule| (&*rule.id, rule.hits())).collect();
        RuleSet::compile(rules, digests, |rule| known.get(&*rule.id).map(|hits| Arc::clone(hits)).unwrap_or_default())
    }

    fn compile(
        rules: Vec<Rule>,
        digests: &dyn Fn(&str) -> Option<Fingerprint>,
        hits: impl Fn(&Rule) -> Arc<Hits>,
    ) -> RuleSet {
        let gates = GateNames::of(&rules);
        let compile = |(index, rule): (u32, Rule)| {
            let hits = hits(&rule);
            Arc::new(CompiledRule::new(rule, index, hits, &gates, digests))
        };
        let rules: Box<[Arc<CompiledRule>]> = (0..).zip(rules).map(compile).collect();
        let index = Index::new(rules.iter().map(Arc::as_ref));
        RuleSet { rules, index }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// In the order in which they were given.
    pub fn rules(&self) -> &[Arc<CompiledRule>] {
        &self.rules
    }

    pub fn candidates(&self, identity: &Identity) -> Candidates {
        let mut candidates = Candidates::default();
        self.candidates_into(identity, &mut candidates);
        candidates
    }

    /// The same without a new allocation, where there is room.
    pub fn candidates_into(&self, identity: &Identity, candidates: &mut Candidates) {
        let Candidates { plain, with_tables } = candidates;
        plain.clear();
        with_tables.clear();
        let unknown = |rule: &u32| Candidate { rule: *rule, exactness: Exactness::default() };
        self.index.by_identity(identity, |found| plain.extend(found.iter().map(unknown)));
        plain.sort_unstable_by_key(|candidate| candidate.rule);
        plain.dedup_by_key(|candidate| candidate.rule);
        plain.retain_mut(|candidate| {
            let Some(rule) = self.rule(candidate.rule) else { return false };
            let Some(exactness) = rule.fits_identity(identity) else { return false };
            candidate.exactness = exactness;
            if rule.needs_tables() {
                with_tables.push(*candidate);
            }
            !rule.needs_tables()
        });
    }

    /// `false`: whatever the time, judging would find that nothing matches. It may say yes in vain, never no. `candidates` must
    /// be those of whoever asks.
    ///
    /// Most queries concern no rule, and to see that is a small part of what it costs to see who owns what.
    #[inline]
    pub fn may_match<Q: Query>(&self, candidates: &Candidates, query: &Q) -> bool {
        let classes = query.classes();
        let tables = &self.index.tables;
        !candidates.is_empty()
            || tables.can_restrict(classes)
            || (tables.can_favour(classes) && query.exemption_matters())
            || !self.index.by_query(query).is_empty()
    }

    /// The owners of each field among the rules that match. `candidates` must be those of this identity. No allocation.
    pub fn judge<Q: Query>(
        &self,
        candidates: &Candidates,
        identity: &Identity,
        query: &Q,
        now: Timestamp,
        default_mode: Mode,
    ) -> Judgement<'_> {
        let lists = self.index.by_query(query);
        let case = Case { candidates, lists, identity, query, now, default_mode };
        let mut standing = Standing::default();
        let mut is_doubtful = false;
        self.each_plain(&case, |found, mode| match found {
            Matched::Certain(claim) => standing.add(claim, mode),
            Matched::Possible(_) => is_doubtful = true,
        });
        let tables_matter = self.tables_matter(&case, &standing);
        if !is_doubtful {
            return if tables_matter { self.judge_tables(&case, &standing) } else { standing.judgement() };
        }
        let mut judgement =
            if tables_matter { self.judge_tables(&case, &standing) } else { standing.clone().judgement() };
        self.each_plain(&case, |found, mode| match found {
            Matched::Certain(_) => {}
            Matched::Possible(claim) => {
                judgement = claim.stricter(&standing, std::mem::take(&mut judgement), mode);
            }
        });
        judgement
    }

    /// The rules without tables that match.
    fn each_plain<'s, Q: Query>(&'s self, case: &Case<'_, Q>, mut found: impl FnMut(Matched<'s>, Mode)) {
        for candidate in &case.candidates.plain {
            if let Some((matched, mode)) = self.matched(case, candidate.rule, Some(candidate.exactness)) {
                found(matched, mode);
            }
        }
        for rule in case.lists.iter().flat_map(|list| &list.plain) {
            if let Some((matched, mode)) = self.matched(case, *rule, None) {
                found(matched, mode);
            }
        }
    }

    /// The owners of `max_connections`, and who passes a gate on logins, on what is known of a connection when it logs in. A
    /// rule with any other key does not count. `candidates` must be those of this identity.
    pub fn judge_login(
        &self,
        candidates: &Candidates,
        identity: &Identity,
        schema: Option<&[u8]>,
        now: Timestamp,
        default_mode: Mode,
    ) -> LoginJudgement<'_> {
        let mut standing = LoginStanding::default();
        let known = candidates.plain.iter().map(|candidate| (candidate.rule, Some(candidate.exactness)));
        let by_schema = self.index.by_schema(schema).into_iter().flat_map(|list| &list.plain);
        for (rule, exactness) in known.chain(by_schema.map(|rule| (*rule, None))) {
            let claim = self.rule(rule).and_then(|rule| {
                let mode = rule.mode_at(now, default_mode)?;
                let exactness = exactness.or_else(|| rule.fits_identity(identity))?;
                rule.fits_login(schema).then_some((Claim { rule, exactness }, mode))
            });
            if let Some((claim, mode)) = claim {
                standing.add(claim, mode);
            }
        }
        standing.judgement()
    }

    /// The next moment at which a rule ends, or its hours begin or end.
    pub fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        let next = |rule: &Arc<CompiledRule>| {
            let expiry = rule.expires;
            let hours = rule.active.as_ref().filter(|_| !rule.is_expired(now)).and_then(|hours| hours.next_change(now));
            [expiry, hours].into_iter().flatten().filter(|moment| *moment > now).min()
        };
        self.rules.iter().filter_map(next).min()
    }

    /// All rules that can match, and some that do not.
    pub(crate) fn found<'s>(
        &'s self,
        candidates: &Candidates,
        query: &impl Query,
    ) -> impl Iterator<Item = &'s CompiledRule> {
        let known = candidates.plain.iter().chain(&candidates.with_tables).map(|candidate| candidate.rule);
        let lists = self.index.by_query(query).into_iter();
        let by_query = lists.flat_map(|list| list.plain.iter().chain(&list.with_tables)).copied();
        let by_table = self.index.tables.rules.iter().copied();
        known.chain(by_query).chain(by_table).filter_map(|rule| self.rule(rule))
    }

    fn rule(&self, index: u32) -> Option<&CompiledRule> {
        self.rules.get(usize::try_from(index).ok()?).map(Arc::as_ref)
    }

    /// A rule that counts now and fits, tables aside.
    fn matched<Q: Query>(
        &self,
        case: &Case<'_, Q>,
        index: u32,
        exactness: Option<Exactness>,
    ) -> Option<(Matched<'_>, Mode)> {
        let rule = self.rule(index)?;
        let mode = rule.mode_at(case.now, case.default_mode)?;
        let exactness = exactness.or_else(|| rule.fits_identity(case.identity))?;
        let claim = Claim { rule, exactness };
        let matched = match rule.fits_query(case.query) {
            Truth::Certain => Matched::Certain(claim),
            Truth::Possible => Matched::Possible(PossibleClaim::new(claim)),
            Truth::False => return None,
        };
        Some((matched, mode))
    }
}

#[cfg(test)]
mod tests;
