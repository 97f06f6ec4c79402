//! Of the rules that match: what each owns, which of its limits count, and who owns what it does not.

use identity::Identity;
use statement::{Classes, Fingerprints, Table};

use super::{Because, Field, Outcome, Shielded};
use crate::compiled::CompiledRule;
use crate::judgement::{Judgement, LoginJudgement};
use crate::matching::Key;
use crate::query::{Certainty, Query, QueryShapes, Schema, Tables, Truth};
use crate::rule::{Do, Mode, Origin, Rule, Share};
use crate::ruleset::RuleSet;
use crate::specificity::{Claim, Exactness};
use crate::standing::{SkipSlot, Slot};
use crate::tables::{Touch, fit_whole};
use crate::timestamp::Timestamp;

pub(super) struct Case<'q, Q> {
    pub(super) identity: &'q Identity,
    pub(super) query: &'q Q,
    pub(super) now: Timestamp,
    pub(super) default_mode: Mode,
}

/// The judgement, and who would own each field among the rules that match as a whole.
pub(super) struct Matched<'s> {
    judgement: Judgement<'s>,
    login: LoginJudgement<'s>,
    enforced: Slots<'s>,
    with_warned: Slots<'s>,
}

/// Of each field that a matching rule sets.
#[derive(Default)]
struct Slots<'s>(Vec<(Field, AnySlot<'s>)>);

enum AnySlot<'s> {
    One(Slot<'s>),
    Skips(SkipSlot<'s>),
}

impl<'s> Matched<'s> {
    pub(super) fn new<Q: Query>(rules: &'s RuleSet, case: &Case<'_, Q>) -> Matched<'s> {
        let Case { identity, query, now, default_mode } = *case;
        let candidates = rules.candidates(identity);
        let mut matched = Matched {
            judgement: rules.judge(&candidates, identity, &Asking(query), now, default_mode),
            login: rules.judge_login(&candidates, identity, query.schema().name(), now, default_mode),
            enforced: Slots::default(),
            with_warned: Slots::default(),
        };
        for rule in rules.found(&candidates, query) {
            if let (Some(exactness), Some(mode)) = (fits_as_a_whole(rule, case), rule.mode_at(now, default_mode)) {
                let claim = Claim { rule, exactness };
                matched.with_warned.add(claim);
                if mode == Mode::Enforce {
                    matched.enforced.add(claim);
                }
            }
        }
        matched
    }

    /// Of a rule that matches, at least in part.
    pub(super) fn outcome<Q: Query>(&self, rule: &'s CompiledRule, case: &Case<'_, Q>) -> Outcome<'s> {
        let mode = rule.mode.unwrap_or(case.default_mode);
        let exactness = fits_as_a_whole(rule, case);
        let (mut owns, mut shielded) = (Vec::new(), Vec::new());
        for field in Field::of(rule) {
            let owners = self.deciding(&field, mode);
            if owners.contains(&Some(rule)) {
                owns.push(field);
                continue;
            }
            let owner = owners.iter().flatten().next().copied();
            let (by, because) = match exactness {
                _ if field == Field::MaxConnections && !rule.fits_login(case.query.schema().name()) => {
                    (None, Because::NotAtLogin)
                }
                _ if field.is_limit() => {
                    let replacing = owners.iter().flatten().find(|owner| owner.replaces_file()).copied();
                    (replacing, Because::Overridden)
                }
                None => (owner, Because::Partly),
                Some(exactness) => self.shield(Claim { rule, exactness }, &field, mode, owner),
            };
            shielded.push(Shielded { field, by, because });
        }
        Outcome::Matches { mode, partly: exactness.is_none(), owns, shielded }
    }

    /// Who owns a field in the end; of limits all that count.
    fn deciding(&self, field: &Field, mode: Mode) -> Vec<Option<&'s CompiledRule>> {
        let as_warned = mode == Mode::Warn;
        let with_warned = self.judgement.with_warned.as_ref().filter(|_| as_warned);
        let fields = with_warned.unwrap_or(&self.judgement.enforced);
        let login_with_warned = self.login.with_warned.as_ref().filter(|_| as_warned);
        let connections = login_with_warned.unwrap_or(&self.login.enforced);
        match field {
            Field::Share => vec![fields.share],
            Field::MaxConcurrency => fields.concurrency.iter().map(Some).collect(),
            Field::MaxConnections => connections.iter().map(Some).collect(),
            Field::Threshold(gate) => vec![fields.threshold_owner(gate)],
            Field::SkipGates => vec![fields.skips_owner()],
            Field::Weight => vec![fields.weight_owner()],
        }
    }

    fn shield(
        &self,
        claim: Claim<'s>,
        field: &Field,
        mode: Mode,
        owner: Option<&'s CompiledRule>,
    ) -> (Option<&'s CompiledRule>, Because) {
        let slots = if mode == Mode::Enforce { &self.enforced } else { &self.with_warned };
        match slots.owner(field, claim.rule.origin) {
            Some(first) if first.rule != claim.rule => (Some(first.rule), why(&first, &claim, field)),
            // It is the first of its own kind, so what stands is of the other kind, or of a part of the tables.
            Some(_) | None => {
                let overridden = owner.is_some_and(CompiledRule::replaces_file);
                let because = if overridden { Because::Overridden } else { Because::OtherOriginStricter };
                (owner, because)
            }
        }
    }
}

impl<'s> Slots<'s> {
    fn add(&mut self, claim: Claim<'s>) {
        for field in Field::of(claim.rule).into_iter().filter(|field| !field.is_limit()) {
            let at = self.0.iter().position(|(known, _)| *known == field).unwrap_or_else(|| {
                self.0.push((field.clone(), AnySlot::new(&field)));
                self.0.len() - 1
            });
            match self.0.get_mut(at).map(|(_, slot)| slot) {
                Some(AnySlot::One(slot)) => slot.add(claim, |rule| field.strictness(rule)),
                Some(AnySlot::Skips(slot)) => slot.add(claim, claim.rule.gates().skips.unwrap_or_default()),
                None => {}
            }
        }
    }

    /// The owner among the rules that a rule of this origin competes with.
    fn owner(&self, field: &Field, origin: Origin) -> Option<Claim<'s>> {
        let (_, slot) = self.0.iter().find(|(known, _)| known == field)?;
        match slot {
            AnySlot::One(slot) => slot.owner(origin),
            AnySlot::Skips(slot) => slot.owner(origin),
        }
    }
}

impl AnySlot<'_> {
    fn new(field: &Field) -> Self {
        match field {
            Field::SkipGates => AnySlot::Skips(SkipSlot::default()),
            Field::Share | Field::MaxConcurrency | Field::MaxConnections | Field::Threshold(_) | Field::Weight => {
                AnySlot::One(Slot::default())
            }
        }
    }
}

impl Field {
    /// Those that a rule sets.
    pub fn of(rule: &Rule) -> Vec<Field> {
        let Do { share, limits, thresholds, skip_gates, weight } = &rule.effect;
        let alone = [
            share.map(|_| Field::Share),
            limits.max_concurrency.map(|_| Field::MaxConcurrency),
            limits.max_connections.map(|_| Field::MaxConnections),
            skip_gates.as_ref().map(|_| Field::SkipGates),
            weight.map(|_| Field::Weight),
        ];
        alone.into_iter().flatten().chain(thresholds.keys().cloned().map(Field::Threshold)).collect()
    }

    /// Every matching rule's counts, so the field has no owner.
    pub(crate) fn is_limit(&self) -> bool {
        match self {
            Field::MaxConcurrency | Field::MaxConnections => true,
            Field::Share | Field::Threshold(_) | Field::SkipGates | Field::Weight => false,
        }
    }

    pub(crate) fn is_set(&self, rule: &Rule) -> bool {
        match self {
            Field::Share => rule.effect.share.is_some(),
            Field::MaxConcurrency => rule.effect.limits.max_concurrency.is_some(),
            Field::MaxConnections => rule.effect.limits.max_connections.is_some(),
            Field::Threshold(gate) => rule.effect.thresholds.contains_key(gate),
            Field::SkipGates => rule.effect.skip_gates.is_some(),
            Field::Weight => rule.effect.weight.is_some(),
        }
    }

    /// Larger is stricter. Limits are not compared.
    pub(crate) fn strictness(&self, rule: &Rule) -> f64 {
        let effect = &rule.effect;
        match self {
            Field::Share => effect.share.map_or(0.0, Share::strictness),
            Field::Threshold(gate) => effect.thresholds.get(gate).map_or(f64::NEG_INFINITY, |value| -value),
            // Of equally specific ones what all of them skip is skipped, so none is the stricter as a whole.
            Field::SkipGates | Field::MaxConcurrency | Field::MaxConnections => 0.0,
            Field::Weight => -effect.weight.unwrap_or(Do::WEIGHT),
        }
    }
}

fn why(owner: &Claim<'_>, other: &Claim<'_>, field: &Field) -> Because {
    if owner.rule.priority != other.rule.priority {
        Because::Priority
    } else if owner.rule.keys() != other.rule.keys() {
        Because::MoreKeys
    } else if owner.exactness != other.exactness {
        Because::MoreExact
    } else if field.strictness(owner.rule) > field.strictness(other.rule) {
        Because::Stricter
    } else {
        Because::Id
    }
}

/// How exactly it fits; `None` if it does not, or not all of the statement's tables.
fn fits_as_a_whole<Q: Query>(rule: &CompiledRule, case: &Case<'_, Q>) -> Option<Exactness> {
    let exactness = rule.fits_identity(case.identity).filter(|_| rule.fits_query(case.query) == Truth::Certain)?;
    let known = || case.query.tables().known();
    let fits = |(tables, certainty)| fit_whole(rule, tables, case.query.schema(), certainty);
    let whole = !rule.needs_tables() || known().is_some_and(fits);
    whole.then_some(exactness)
}

/// The tables surely do not fit.
pub(super) fn failed_tables<'a>(rule: &CompiledRule, query: &impl Query) -> Option<Outcome<'a>> {
    if !rule.needs_tables() {
        return None;
    }
    let schema = query.schema();
    let (tables, certainty) = query.tables().known()?;
    if rule.holds().tables.as_ref().is_some_and(|set| set.touch_any(tables, schema) == Touch::No) {
        return Some(Outcome::ConditionFailed { key: Key::Table, found: printed(tables) });
    }
    let left_out = rule.not().tables.as_ref().is_some_and(|set| set.touch_any(tables, schema) == Touch::Yes);
    (left_out && certainty == Certainty::Known).then(|| Outcome::NotFailed { key: Key::Table, found: printed(tables) })
}

fn printed(tables: &[Table]) -> Option<String> {
    let print = |table: &Table| match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.to_string(),
    };
    let names: Vec<String> = tables.iter().map(print).collect();
    Some(names.join(", ")).filter(|names| !names.is_empty())
}

/// The same query, by somebody who wants to know of every exemption.
struct Asking<'q, Q>(&'q Q);

impl<Q: Query> Query for Asking<'_, Q> {
    fn schema(&self) -> Schema<'_> {
        self.0.schema()
    }

    fn classes(&self) -> Classes {
        self.0.classes()
    }

    fn shapes(&self) -> QueryShapes {
        self.0.shapes()
    }

    fn fingerprints(&self) -> &Fingerprints {
        self.0.fingerprints()
    }

    fn tables(&self) -> Tables<'_> {
        self.0.tables()
    }

    fn tables_in_doubt(&self) -> bool {
        self.0.tables_in_doubt()
    }
}
