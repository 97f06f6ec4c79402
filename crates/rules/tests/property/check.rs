//! One set of rules and one client's query, judged by the index and by the oracle.

use std::cell::Cell;
use std::collections::BTreeSet;

use identity::Identity;
use rules::{Fields, Judgement, MatchingLimits, Mode, Query, QueryShapes, Rule, RuleSet, Schema, Tables, Timestamp};
use statement::{Class, Classes, Fingerprints};

use super::oracle::{self, Asked, Expected, Touched};
use super::subjects;

/// How often something happened, to see that the cases are worth their time.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) cases: u32,
    pub(crate) shares: u32,
    pub(crate) limits: u32,
    pub(crate) connections: u32,
    pub(crate) warned: u32,
    pub(crate) stricter_by_claim: u32,
    pub(crate) parsed: u32,
    /// It was seen at once that nothing matches.
    pub(crate) idle: u32,
    pub(crate) shielded: u32,
    pub(crate) thresholds: u32,
    pub(crate) skips: u32,
    pub(crate) weights: u32,
}

pub(crate) struct Asking<'a> {
    asked: &'a Asked,
    parsed: Cell<u32>,
    gated: bool,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(asked: &'a Asked) -> Asking<'a> {
        Asking { asked, parsed: Cell::new(0), gated: true }
    }
}

impl Query for Asking<'_> {
    fn schema(&self) -> Schema<'_> {
        if self.asked.schema_is_unknown { Schema::Unknown } else { Schema::known(self.asked.schema.as_deref()) }
    }

    fn classes(&self) -> Classes {
        Class::ALL.into_iter().filter(|class| self.asked.classes.contains(class.as_str())).collect()
    }

    fn shapes(&self) -> QueryShapes {
        QueryShapes { certain: self.asked.certain_shapes, possible: self.asked.shapes }
    }

    fn fingerprints(&self) -> &Fingerprints {
        &self.asked.given
    }

    fn tables(&self) -> Tables<'_> {
        self.parsed.set(self.parsed.get() + 1);
        match &self.asked.tables {
            Touched::Known(tables) => Tables::Known(tables),
            Touched::Among(tables) => Tables::Among(tables),
            Touched::Unknown => Tables::Unknown,
        }
    }

    fn exemption_matters(&self) -> bool {
        self.gated
    }
}

/// Panics if they disagree.
pub(crate) fn check(
    rules: &[Rule],
    [trusted, all]: [&Identity; 2],
    asked: &Asked,
    now: Timestamp,
    default_mode: Mode,
    seen: &mut Seen,
) {
    let set = RuleSet::new(rules.to_vec(), &subjects::digests);
    let judge = |identity: &Identity| {
        let case = oracle::Case { rules, identity, asked, now, default_mode, digests: subjects::digests };
        judge_one(&set, &case)
    };
    let (on_trusted, parsed) = judge(trusted);
    let (on_all, _) = judge(all);
    let stands = on_trusted.clone().stricter(on_all.clone());
    seen.idle += u32::from(is_idle(&set, trusted, asked, now, default_mode));
    assert_monotone(&on_trusted, &stands);
    seen.cases += 1;
    seen.parsed += parsed;
    seen.shares += u32::from(stands.enforced.share.is_some());
    seen.limits += u32::from(!stands.enforced.concurrency.is_empty());
    seen.thresholds += u32::from(stands.enforced.has_thresholds());
    seen.skips += u32::from(stands.enforced.has_skips());
    seen.weights += u32::from(stands.enforced.weight() != 1.0);
    seen.warned += u32::from(stands.with_warned.is_some());
    seen.stricter_by_claim += u32::from(stands.enforced.strictness() > on_trusted.enforced.strictness());
    let case = oracle::Case { rules, identity: trusted, asked, now, default_mode, digests: subjects::digests };
    seen.connections += u32::from(check_login(&set, &case));
    seen.shielded += check_shields(rules, asked, now, &[on_trusted, on_all]);
    for identity in [trusted, all] {
        let case = oracle::Case { rules, identity, asked, now, default_mode, digests: subjects::digests };
        check_explanation(&set, &case);
    }
}

fn judge_one<'s>(set: &'s RuleSet, case: &oracle::Case) -> (Judgement<'s>, u32) {
    let query = Asking::new(case.asked);
    let candidates = set.candidates(case.identity);
    let judgement = set.judge(&candidates, case.identity, &query, case.now, case.default_mode);
    assert!(query.parsed.get() <= 1, "parsed {} times", query.parsed.get());
    let enforced = oracle::judge(case, false);
    assert_same(&judgement.enforced, &enforced);
    let warned = oracle::judge(case, true);
    assert_same(judgement.with_warned.as_ref().unwrap_or(&judgement.enforced), &warned);
    if let Some(with_warned) = &judgement.with_warned {
        assert_ne!(*with_warned, judgement.enforced);
    }
    (judgement, query.parsed.get())
}

/// Whether a query that no gate restricts is seen to match nothing; then judging finds the same.
fn is_idle(set: &RuleSet, identity: &Identity, asked: &Asked, now: Timestamp, default_mode: Mode) -> bool {
    let candidates = set.candidates(identity);
    let mut idle = false;
    for gated in [true, false] {
        let query = Asking { gated, ..Asking::new(asked) };
        idle = !set.may_match(&candidates, &query);
        let judgement = set.judge(&candidates, identity, &query, now, default_mode);
        assert!(!(idle && judgement.matched), "{judgement:?} {asked:?}");
        assert!(!idle || query.parsed.get() == 0, "{asked:?}");
    }
    idle
}

fn assert_same(fields: &Fields, expected: &Expected) {
    assert_eq!(fields.strictness(), expected.strictness, "{fields:?} {expected:?}");
    let owner = fields.share.map(|rule| rule.id.to_string());
    assert!(expected.share.contains(&owner), "{owner:?} is not in {expected:?}");
    assert_limits(&fields.concurrency, &expected.concurrency);
    assert_eq!(fields.weight(), expected.weight, "{fields:?}");
    for gate in subjects::GATES {
        for own in [0.5, 7.0, 100.0] {
            assert_eq!(fields.threshold(gate, own), expected.threshold(gate, own), "{gate} {own} {expected:?}");
        }
        assert_eq!(fields.threshold_owner(gate).is_some(), expected.thresholds.contains_key(gate));
        assert_eq!(fields.skips(gate), expected.skips.contains(gate), "{gate} {expected:?}");
    }
    let distinct: BTreeSet<&str> = fields.owners().map(|rule| &*rule.id).collect();
    assert_eq!(distinct.len(), fields.owners().count());
    assert_eq!(fields.is_empty(), distinct.is_empty());
}

fn assert_limits(limits: &MatchingLimits, expected: &BTreeSet<String>) {
    let found: Vec<String> = limits.iter().map(|rule| rule.id.to_string()).collect();
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), *expected);
}

/// What a client says of itself never makes anything easier for it.
fn assert_monotone(on_trusted: &Judgement, stands: &Judgement) {
    assert!(stands.enforced.strictness() >= on_trusted.enforced.strictness());
    let kept = on_trusted.enforced.concurrency.iter().all(|rule| stands.enforced.concurrency.contains(rule));
    assert!(kept);
    assert!(stands.enforced.weight() <= on_trusted.enforced.weight());
    for gate in subjects::GATES {
        for own in [0.5, 7.0, 100.0] {
            assert!(stands.enforced.threshold(gate, own) <= on_trusted.enforced.threshold(gate, own));
        }
        assert!(!stands.enforced.skips(gate) || on_trusted.enforced.skips(gate));
    }
}

fn check_login(set: &RuleSet, case: &oracle::Case) -> bool {
    let candidates = set.candidates(case.identity);
    let schema = case.asked.schema.as_deref();
    let judgement = set.judge_login(&candidates, case.identity, schema, case.now, case.default_mode);
    let ids = |limits: &MatchingLimits| limits.iter().map(|rule| rule.id.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(ids(&judgement.enforced), oracle::judge_login(case, false));
    assert_eq!(ids(judgement.with_warned.as_ref().unwrap_or(&judgement.enforced)), oracle::judge_login(case, true));
    for gate in subjects::GATES {
        let found = (judgement.skips(gate), judgement.threshold(gate, 7.0));
        assert_eq!(found, oracle::login_at(case, false, gate, 7.0), "{gate}");
        assert_eq!(judgement.would_skip(gate), oracle::login_at(case, true, gate, 7.0).0, "{gate}");
    }
    !judgement.enforced.is_empty()
}

/// A rule that is said to be always shielded never owns. Where a fact is in doubt each rule is tried by itself, so there it may.
fn check_shields(rules: &[Rule], asked: &Asked, now: Timestamp, judgements: &[Judgement]) -> u32 {
    let mut shielded = 0;
    for warning in RuleSet::warnings(rules, &identity::Settings::default(), now) {
        let rules::WarningKind::AlwaysShielded { field: rules::Field::Share, .. } = warning.kind else { continue };
        if matches!(asked.tables, Touched::Unknown) || asked.is_doubtful {
            continue;
        }
        shielded += 1;
        for judgement in judgements {
            let owners = std::iter::once(&judgement.enforced).chain(&judgement.with_warned);
            for owner in owners.filter_map(|fields| fields.share) {
                assert_ne!(owner.id, warning.rule, "{warning} {rules:#?} {asked:?}");
            }
        }
    }
    shielded
}

/// Every rule is explained once, and those that are said to own do.
fn check_explanation(set: &RuleSet, case: &oracle::Case) {
    let query = Asking::new(case.asked);
    let considered = set.explain(case.identity, &query, case.now, case.default_mode);
    assert_eq!(considered.len(), case.rules.len());
    let owning = |field: rules::Field| -> BTreeSet<String> {
        let owns = |considered: &&rules::Considered| match &considered.outcome {
            rules::Outcome::Matches { mode: Mode::Enforce, owns, .. } => owns.contains(&field),
            _ => false,
        };
        considered.iter().filter(owns).map(|considered| considered.rule.id.to_string()).collect()
    };
    let expected = oracle::judge(case, false);
    let share: BTreeSet<Option<String>> = owning(rules::Field::Share).into_iter().map(Some).collect();
    let owned = if share.is_empty() { BTreeSet::from([None]) } else { share };
    assert!(owned.len() == 1 && owned.is_subset(&expected.share), "{considered:#?}");
    assert_eq!(owning(rules::Field::MaxConcurrency), expected.concurrency, "{considered:#?}");
    assert_eq!(owning(rules::Field::MaxConnections), oracle::judge_login(case, false), "{considered:#?}");
    considered.iter().for_each(|considered| assert!(!considered.outcome.to_string().is_empty()));
}
