//! Why a statement would get the verdict that it would get now: plain data, for whoever prints it. Nothing is counted,
//! nothing is taken, and no dice are rolled.

mod at_gate;
mod ruling;

use std::sync::Arc;

use identity::{Identity, Said};
use rules::{Field, Fields, GateName, Mode as RuleMode, Origin, Outcome, Query, RuleId, Schema, Timestamp};
use statement::{Class, Classes, Doubts, Fingerprint, ParseCache, Scan, Shapes, Table};
use tokio::time::Instant;

pub use at_gate::{AtGate, Concerns, Does, Measured};
pub use ruling::{Lost, Place, Ruling, Then};

use crate::decision::{self, Enforcing, Situation, decide};
use crate::gatekeeper::Gatekeeper;
use crate::login::Login;
use crate::note;
use crate::policy::Policy;
use crate::port::{Client, Refusal, SessionState};
use crate::question::{Decidable, Question, TextQuestion};
use crate::spoken;
use crate::unit::{Bound, Turn, Unit};
use crate::who::Who;

/// Bytes of a normalised text that are shown.
const NORMALISED: usize = 4096;

#[derive(Debug, Clone)]
pub struct Explanation {
    /// Who asks, by all that is said.
    pub claimed: Arc<Identity>,
    /// By what is proven alone. `None`: that is the same, or this client's claims are trusted.
    pub trusted: Option<Arc<Identity>>,
    /// What was said of it and did not count: two values for one key, or too many.
    pub conflicts: u32,
    /// The strictest class that it may have.
    pub class: Class,
    /// Every class that a statement of it may have.
    pub classes: Classes,
    /// Why a fact of it is not certain.
    pub doubts: Doubts,
    /// Never delayed, whatever the rules say.
    pub free: bool,
    pub shapes: Shapes,
    /// The first is that of the whole text, where it has one.
    pub fingerprints: Vec<Fingerprint>,
    /// With its literals as `?`.
    pub normalised: String,
    pub tables: Touched,
    /// Its place in its transaction. One that is open is taken for one that has only read.
    pub turn: Turn,
    /// On all facts and, where that may differ, on the trusted ones.
    pub judgements: Vec<Judged>,
    /// Of both judgements the stricter, in force.
    pub owners: Owned,
    /// The same with the rules that only warn, if that is different.
    pub warned: Option<Owned>,
    /// Every gate of the policy, by its name.
    pub gates: Vec<AtGate>,
    /// What comes of it.
    pub ruling: Ruling,
    /// What would come of it if no rule and no gate only warned, if that is different.
    pub would_be: Option<Ruling>,
    /// What the client would get if it were refused, with an id of its own. `None`: nothing can refuse it.
    pub refusal: Option<Refusal>,
    /// The same of one that the rules let pass and a gate refuses, if that is different.
    pub gate_refusal: Option<Refusal>,
}

/// The tables that a statement touches, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    These(Vec<Table>),
    /// Or none: they are names in a text that the parser does not know.
    SomeOf(Vec<Table>),
    Any,
}

/// What became of every rule in one judgement, the owners first.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub on: Facts,
    pub considered: Vec<Considered>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facts {
    All,
    Trusted,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    pub rule: RuleId,
    pub origin: Origin,
    pub mode: RuleMode,
    pub matches: bool,
    pub owns: Vec<Field>,
    /// Why, as a sentence.
    pub because: String,
}

/// The rules that own each field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owned {
    pub share: Option<RuleId>,
    pub concurrency: Vec<RuleId>,
    /// Of gates of the policy. The gate's own may still be the lower one.
    pub thresholds: Vec<(GateName, RuleId)>,
    pub skip_gates: Option<RuleId>,
    pub weight: Option<RuleId>,
}

impl Owned {
    fn of(fields: &Fields<'_>, policy: &Policy) -> Owned {
        let names = policy.gates.iter().map(|placed| placed.name());
        let owner = |gate: &Arc<str>| Some((gate.clone(), fields.threshold_owner(gate)?.id.clone()));
        Owned {
            thresholds: names.filter_map(owner).collect(),
            skip_gates: fields.skips_owner().map(|rule| rule.id.clone()),
            weight: fields.weight_owner().map(|rule| rule.id.clone()),
            share: fields.share.map(|rule| rule.id.clone()),
            concurrency: fields.concurrency.iter().map(|rule| rule.id.clone()).collect(),
        }
    }
}

impl Gatekeeper {
    /// What a statement of this client would meet now. `attributes` are the query's.
    pub fn explain(
        &self,
        client: &Client<'_>,
        sql: &[u8],
        scan: &Scan,
        state: SessionState,
        attributes: &[(Vec<u8>, Vec<u8>)],
    ) -> Explanation {
        let policy = self.policy();
        let cache = ParseCache::new();
        let question = TextQuestion::new(sql, scan, Schema::known(client.database), &cache, Some(&self.catalog));
        let facts = note::facts(scan, question.class());
        let said = spoken::comments(sql, scan).unwrap_or_else(spoken::nothing);
        let pairs = attributes.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));
        let (who, conflicts) = who(&policy, client, &said.with_query_attributes(pairs));
        let turn = turn(&facts, state, &policy);

        if !policy.gates.is_empty() {
            question.mind_gates();
        }
        let now = self.now();
        let situation = Situation {
            policy: &policy,
            who: &who,
            question: &question,
            turn: &turn,
            gates: self.gates.now(policy.gates.concerning(&who, &question)),
            enforcing: Enforcing::AsConfigured,
        };
        let decision = decide(&situation, || now);
        let owners = decision::judge(&situation, now).0;
        let (enforced, with_warned) = (&owners.enforced, owners.with_warned());
        let bound = match &turn {
            Turn::Decide(bound) => *bound,
            Turn::GoesOnUnlessRuled => Bound::Locked,
            Turn::Free | Turn::GoesOn | Turn::Refused(_) => Bound::Full,
        };
        let tables = touched(&question);
        let case = ruling::Case { keeper: self, policy: &policy, turn: &turn, bound, now, client: who.name() };
        let seen = self.gates.seen();
        let at_gates = at_gate::AtGates { case: &case, who: &who, question: &question, seen: &seen };
        let gates = at_gates.all(enforced, with_warned);
        let in_force = gates.iter().filter(|gate| gate.mode == RuleMode::Enforce);
        let (ruling, refusals) = case.ruling(&decision, in_force.cloned().collect());
        let all_enforced =
            Situation { gates: situation.gates.all_enforced(), enforcing: Enforcing::Everything, ..situation };
        let would_be = decide(&all_enforced, || now);
        let would_be = case.ruling(&would_be, at_gates.all(with_warned, with_warned)).0;
        Explanation {
            judgements: judgements(&policy, &who, &question, now),
            owners: Owned::of(enforced, &policy),
            warned: owners.warned.as_ref().map(|warned| Owned::of(warned, &policy)),
            gates,
            claimed: Arc::clone(&who.identities.claimed),
            trusted: who.identities.trusted.clone(),
            conflicts,
            class: facts.class,
            classes: question.classes(),
            doubts: scan.doubts | question.doubt_of_tables(),
            free: facts.free,
            shapes: scan.shapes,
            fingerprints: question.fingerprints().iter().collect(),
            normalised: statement::normalize(sql, scan.mode(), NORMALISED),
            tables,
            turn,
            would_be: Some(would_be).filter(|other| *other != ruling),
            ruling,
            refusal: refusals.first,
            gate_refusal: refusals.of_gate,
        }
    }
}

fn who(policy: &Policy, client: &Client<'_>, said: &Said<'_>) -> (Who, u32) {
    let connection = Login::new(client).identities(&policy.identity);
    let query = identity::of_query(&policy.identity, &connection, said);
    let conflicts = connection.conflicts + query.conflicts;
    (Who::new(policy, query), conflicts)
}

fn turn(facts: &crate::unit::Facts, state: SessionState, policy: &Policy) -> Turn {
    let now = Instant::now();
    let mut unit = if state.in_transaction { Unit::reading(now) } else { Unit::default() };
    unit.turn(facts, state, &policy.defaults.graces, || now)
}

fn judgements(policy: &Policy, who: &Who, question: &TextQuestion<'_>, now: Timestamp) -> Vec<Judged> {
    let judged = |on, identity: &Identity| {
        let considered = policy.rules.explain(identity, question, now, RuleMode::Enforce);
        Judged { on, considered: considered.iter().map(considered_of).collect() }
    };
    let trusted = who.identities.trusted.as_deref().map(|identity| judged(Facts::Trusted, identity));
    [judged(Facts::All, &who.identities.claimed)].into_iter().chain(trusted).collect()
}

fn considered_of(considered: &rules::Considered<'_>) -> Considered {
    let (matches, owns) = match &considered.outcome {
        Outcome::Matches { owns, .. } => (true, owns.clone()),
        Outcome::Off
        | Outcome::Expired { .. }
        | Outcome::Inactive { .. }
        | Outcome::ConditionFailed { .. }
        | Outcome::NotFailed { .. } => (false, Vec::new()),
    };
    Considered {
        rule: considered.rule.id.clone(),
        origin: considered.rule.origin,
        mode: considered.rule.mode.unwrap_or_default(),
        matches,
        owns,
        because: considered.outcome.to_string(),
    }
}

fn touched(question: &TextQuestion<'_>) -> Touched {
    match question.tables() {
        rules::Tables::Known(tables) => Touched::These(tables.to_vec()),
        rules::Tables::Among(tables) => Touched::SomeOf(tables.to_vec()),
        rules::Tables::Unknown => Touched::Any,
    }
}

#[cfg(test)]
mod tests;
