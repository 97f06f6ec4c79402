//! A rule made ready for matching, with what it keeps count of.

mod asked;
mod fact;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use identity::Identity;
use statement::{Class, Fingerprint};

pub(crate) use asked::Asked;
pub(crate) use fact::Fact;

use crate::activity::Activity;
use crate::gates::{GateEffect, GateNames};
use crate::matching::{Condition, Key};
use crate::query::{Query, Truth};
use crate::rule::{Do, Mode, Origin, Rule, Share};
use crate::specificity::{Exactness, Fit};
use crate::tables::TableSet;
use crate::timestamp::Timestamp;

/// A rule in a [`RuleSet`](crate::RuleSet). Equal only to itself.
#[derive(Debug)]
pub struct CompiledRule {
    rule: Rule,
    index: u32,
    keys: u16,
    holds: Conditions,
    not: Conditions,
    /// A condition without a value that anything could fit.
    matches_nothing: bool,
    is_of_connection: bool,
    activity: Activity,
    gates: GateEffect,
    hits: Arc<Hits>,
}

/// Conditions by what they ask: who, what, and what only a parser knows.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) facts: Vec<Fact>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) tables: Option<TableSet>,
}

/// How often a rule decided. Shared by the generations of a rule.
#[derive(Debug, Default)]
pub struct Hits {
    matched: AtomicU64,
    /// Milliseconds since 1970; 0: never.
    last: AtomicI64,
}

impl Hits {
    pub fn count(&self, now: Timestamp) {
        self.matched.fetch_add(1, Ordering::Relaxed);
        self.last.store(now.0, Ordering::Relaxed);
    }

    pub fn matched(&self) -> u64 {
        self.matched.load(Ordering::Relaxed)
    }

    pub fn last(&self) -> Option<Timestamp> {
        Some(self.last.load(Ordering::Relaxed)).filter(|last| *last != 0).map(Timestamp)
    }
}

impl CompiledRule {
    pub(crate) fn new(
        rule: Rule,
        index: u32,
        hits: Arc<Hits>,
        gates: &GateNames,
        digests: &dyn Fn(&str) -> Option<Fingerprint>,
    ) -> CompiledRule {
        let holds = Conditions::new(&rule.matching.conditions, digests);
        let not = Conditions::new(&rule.matching.not, digests);
        let all = || rule.matching.conditions.iter().chain(&rule.matching.not);
        CompiledRule {
            index,
            keys: u16::try_from(all().count()).unwrap_or(u16::MAX),
            matches_nothing: holds.has_an_empty_one(),
            is_of_connection: all().all(|condition| condition.key.is_of_connection()),
            holds,
            not,
            activity: Activity::default(),
            gates: GateEffect::new(&rule.effect, gates),
            hits,
            rule,
        }
    }

    /// Its place in [`RuleSet::rules`](crate::RuleSet::rules).
    pub fn index(&self) -> u32 {
        self.index
    }

    pub fn hits(&self) -> &Arc<Hits> {
        &self.hits
    }

    /// What it says about gates.
    pub(crate) fn gates(&self) -> &GateEffect {
        &self.gates
    }

    /// Whether it is about this client, whatever it asks and whenever.
    pub fn concerns(&self, identity: &Identity) -> bool {
        !self.matches_nothing && self.fits_identity(identity).is_some()
    }

    /// Conditions and negated ones.
    pub(crate) fn keys(&self) -> u16 {
        self.keys
    }

    pub(crate) fn holds(&self) -> &Conditions {
        &self.holds
    }

    pub(crate) fn not(&self) -> &Conditions {
        &self.not
    }

    /// Whether no identity and no statement can match it, whenever.
    pub(crate) fn matches_nothing(&self) -> bool {
        self.matches_nothing
    }

    pub(crate) fn needs_tables(&self) -> bool {
        self.holds.tables.is_some() || self.not.tables.is_some()
    }

    /// The mode in which it counts now, `None` if it does not.
    pub(crate) fn mode_at(&self, now: Timestamp, default: Mode) -> Option<Mode> {
        let mode = self.mode.unwrap_or(default);
        let counts = mode != Mode::Off && !self.is_expired(now) && self.is_active(now);
        counts.then_some(mode)
    }

    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub(crate) fn is_active(&self, now: Timestamp) -> bool {
        self.active.as_ref().is_none_or(|active| self.activity.is_active(active, now))
    }

    /// Whether who asks fits, and how exactly.
    pub(crate) fn fits_identity(&self, identity: &Identity) -> Option<Exactness> {
        let mut exactness = Exactness::default();
        for fact in &self.holds.facts {
            exactness.add(fact.fit(identity)?);
        }
        if self.not.facts.iter().any(|fact| fact.fit(identity).is_some()) {
            return None;
        }
        for _ in 0..self.holds.asked.len() + usize::from(self.holds.tables.is_some()) {
            exactness.add(Fit::Exact);
        }
        Some(exactness)
    }

    /// Whether the statement fits, tables aside.
    pub(crate) fn fits_query(&self, query: &impl Query) -> Truth {
        let mut truth = Truth::Certain;
        for asked in &self.holds.asked {
            truth = truth.min(asked.holds(query));
            if truth == Truth::False {
                return truth;
            }
        }
        self.not.asked.iter().fold(truth, |truth, asked| truth.min(asked.holds(query).negated()))
    }

    /// Whether it is about connections only, and the schema of the login fits.
    pub(crate) fn fits_login(&self, schema: Option<&[u8]>) -> bool {
        let fits = |asked: &Asked| match asked {
            Asked::Schema(schemas) => schema.is_some_and(|schema| schemas.contain(schema)),
            Asked::Class(_) | Asked::Shape(_) | Asked::Fingerprint(_) => false,
        };
        self.is_of_connection && self.holds.asked.iter().all(fits) && !self.not.asked.iter().any(fits)
    }

    /// Whether it could match some statement of this class.
    pub(crate) fn allows_class(&self, class: Class) -> bool {
        let is_class = |asked: &Asked| matches!(asked, Asked::Class(classes) if classes.named().contains(class));
        let is_other = |asked: &Asked| matches!(asked, Asked::Class(classes) if !classes.possible().including_calls().contains(class));
        !self.holds.asked.iter().any(is_other) && !self.not.asked.iter().any(is_class)
    }

    /// Whether what it sets stands instead of what rules of the file say.
    pub(crate) fn replaces_file(&self) -> bool {
        self.overrides && self.origin == Origin::Runtime
    }

    /// It restricts somebody, whatever else it does.
    pub(crate) fn restricts(&self) -> bool {
        let limits = self.effect.limits;
        self.effect.share.is_some_and(|share| share.strictness() > 0.0)
            || limits.max_concurrency.is_some()
            || limits.max_connections.is_some()
            || !self.effect.thresholds.is_empty()
            || self.effect.weight.is_some_and(|weight| weight < Do::WEIGHT)
    }

    /// It makes things easier for somebody than it would be for those that other rules restrict.
    pub(crate) fn favours(&self) -> bool {
        self.effect.share.is_some_and(|share| matches!(share, Share::Exempt) || share.strictness() <= 0.0)
            || self.effect.skip_gates.is_some()
            || self.effect.weight.is_some_and(|weight| weight >= Do::WEIGHT)
    }
}

impl Deref for CompiledRule {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        &self.rule
    }
}

impl PartialEq for CompiledRule {
    fn eq(&self, other: &CompiledRule) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Conditions {
    pub(crate) fn new(conditions: &[Condition], digests: &dyn Fn(&str) -> Option<Fingerprint>) -> Conditions {
        let mut made = Conditions::default();
        for condition in conditions {
            match &condition.key {
                Key::Table => made.tables = Some(TableSet::new(&condition.values)),
                Key::Class | Key::Shape | Key::Schema | Key::Fingerprint => {
                    made.asked.extend(Asked::new(condition, digests));
                }
                Key::Scope
                | Key::User
                | Key::Address
                | Key::Listener
                | Key::Tool
                | Key::Attr(_)
                | Key::Tag(_)
                | Key::QueryAttr(_) => made.facts.extend(Fact::new(condition)),
            }
        }
        // The cheapest question first.
        made.asked.sort_by_key(Asked::cost);
        made
    }

    pub(crate) fn has_an_empty_one(&self) -> bool {
        self.facts.iter().any(Fact::is_empty)
            || self.asked.iter().any(Asked::is_empty)
            || self.tables.as_ref().is_some_and(TableSet::is_empty)
    }
}
