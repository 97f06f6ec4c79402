//! Whom a rule concerns now, of the clients that are remembered: for whoever has just added it.

use std::collections::BTreeSet;

use admission::policy::Policy;
use admission::stats::ClientStats;
use identity::{Connection, Identity};
use rules::{CompiledRule, Field, Judgement, Key, Mode, Outcome, Query, QueryShapes, Rule, Schema, Tables, Timestamp};
use serde_json::{Value as Json, json};
use statement::{Class, Classes, Fingerprint, Fingerprints, Shapes};

use super::Steering;

#[derive(Debug, Default)]
pub(super) struct Whom {
    /// Those whom it decides about.
    hits: BTreeSet<String>,
    /// Those whom it will decide about when they ask what it names.
    may_hit: BTreeSet<String>,
    /// Those whom another rule shields from it, and which.
    shielded: BTreeSet<(String, String)>,
}

impl Whom {
    pub(super) fn json(&self) -> [(&'static str, Json); 3] {
        let shielded: Vec<Json> =
            self.shielded.iter().map(|(client, by)| json!({ "client": client, "by": by })).collect();
        [("hits", json!(self.hits)), ("may_hit", json!(self.may_hit)), ("shielded", json!(shielded))]
    }

    fn note(&mut self, client: &str, found: Found) {
        match found {
            Found::Nothing => {}
            Found::Hit => drop(self.hits.insert(client.to_owned())),
            Found::Shielded(by) => self.shielded.extend(by.into_iter().map(|by| (client.to_owned(), by))),
        }
    }
}

enum Found {
    Nothing,
    Hit,
    Shielded(Vec<String>),
}

impl Steering {
    /// Judged as their next queries would be. Nobody's dice are rolled.
    pub(super) fn whom_it_hits(&self, rule: &Rule, now: Timestamp) -> Whom {
        let policy = self.keeper.policy();
        let mut whom = Whom::default();
        let Some(compiled) = policy.rules.rules().iter().find(|known| known.id == rule.id) else { return whom };
        for (client, _) in self.keeper.clients() {
            // Where many share an entry, its identity is that of one of them.
            if client.value.identity().name == client.name {
                look(&policy, compiled, &client.value, now, &mut whom);
            }
        }
        whom
    }
}

fn look(policy: &Policy, rule: &CompiledRule, client: &ClientStats, now: Timestamp, whom: &mut Whom) {
    let claimed = client.identity();
    let trusted = trusted(policy, claimed);
    let both = || std::iter::once(&**claimed).chain(&trusted);
    if !both().any(|identity| rule.concerns(identity)) {
        return;
    }
    let name = claimed.name.as_str();
    if !is_known_by_class(rule) {
        whom.may_hit.insert(name.to_owned());
        return;
    }
    if rule.effect.limits.max_connections.is_some() {
        whom.note(name, at_login(policy, rule, claimed, trusted.as_ref(), now));
    }
    if Field::of(rule).iter().any(|field| *field != Field::MaxConnections) {
        for class in client.classes().filter(|class| *class != Class::Control) {
            whom.note(name, asking(policy, rule, claimed, trusted.as_ref(), class, now));
        }
    }
}

/// Of what clients ask only the class is remembered.
fn is_known_by_class(rule: &Rule) -> bool {
    rule.matching.conditions.iter().chain(&rule.matching.not).all(|condition| match condition.key {
        Key::Scope
        | Key::User
        | Key::Address
        | Key::Listener
        | Key::Class
        | Key::Tool
        | Key::Attr(_)
        | Key::Tag(_)
        | Key::QueryAttr(_) => true,
        Key::Schema | Key::Fingerprint | Key::Table | Key::Shape => false,
    })
}

/// A statement of some class, as it would be judged: twice, and the stricter stands.
fn asking(
    policy: &Policy,
    rule: &CompiledRule,
    claimed: &Identity,
    trusted: Option<&Identity>,
    class: Class,
    now: Timestamp,
) -> Found {
    let query = SomeQuery { class, fingerprints: Fingerprints::one(Fingerprint(0)) };
    let rules = &policy.rules;
    let judge = |who: &Identity| rules.judge(&rules.candidates(who), who, &query, now, Mode::Enforce);
    let judgement: Judgement<'_> = match trusted {
        Some(trusted) => judge(trusted).stricter(judge(claimed)),
        None => judge(claimed),
    };
    let fields = match rule.mode {
        Some(Mode::Warn) => judgement.with_warned.unwrap_or(judgement.enforced),
        Some(Mode::Enforce | Mode::Off) | None => judgement.enforced,
    };
    if fields.owners().any(|owner| owner == rule) {
        return Found::Hit;
    }
    let mut by = Vec::new();
    for who in std::iter::once(claimed).chain(trusted) {
        let Outcome::Matches { owns, shielded, .. } = rules.explain_rule(rule, who, &query, now, Mode::Enforce) else {
            continue;
        };
        by.extend(shielded.iter().filter_map(|shielded| Some(shielded.by?.id.to_string())));
        // Of one of the two judgements it is the owner, and the other is stricter.
        by.extend(fields.share.filter(|_| !owns.is_empty()).map(|owner| owner.id.to_string()));
    }
    if by.is_empty() { Found::Nothing } else { Found::Shielded(by) }
}

fn at_login(
    policy: &Policy,
    rule: &CompiledRule,
    claimed: &Identity,
    trusted: Option<&Identity>,
    now: Timestamp,
) -> Found {
    let rules = &policy.rules;
    let judge = |who: &Identity| rules.judge_login(&rules.candidates(who), who, None, now, Mode::Enforce);
    let judgement = match trusted {
        Some(trusted) => judge(trusted).stricter(judge(claimed)),
        None => judge(claimed),
    };
    let limits = match rule.mode {
        Some(Mode::Warn) => judgement.with_warned.unwrap_or(judgement.enforced),
        Some(Mode::Enforce | Mode::Off) | None => judgement.enforced,
    };
    // A limit that is added while the proxy runs counts wherever it matches: no other one shields a client from it.
    if limits.contains(rule) { Found::Hit } else { Found::Nothing }
}

/// Who it is on trusted facts alone, if that may differ.
fn trusted(policy: &Policy, claimed: &Identity) -> Option<Identity> {
    if !claimed.has_claims() || policy.identity.trusts_claims_of(&claimed.user, claimed.address) {
        return None;
    }
    let connection = Connection {
        user: &claimed.user,
        address: claimed.address,
        certificate: claimed.certificate.as_deref(),
        listener: &claimed.listener,
        attributes: &[],
    };
    Some(Identity::clone(&identity::of_connection(&policy.identity, &connection).claimed))
}

/// Any statement of a class, of which nothing else is known.
struct SomeQuery {
    class: Class,
    fingerprints: Fingerprints,
}

impl Query for SomeQuery {
    fn schema(&self) -> Schema<'_> {
        Schema::None
    }

    fn classes(&self) -> Classes {
        Classes::of(self.class)
    }

    fn shapes(&self) -> QueryShapes {
        QueryShapes { certain: Shapes::empty(), possible: Shapes::empty() }
    }

    fn fingerprints(&self) -> &Fingerprints {
        &self.fingerprints
    }

    fn tables(&self) -> Tables<'_> {
        Tables::Unknown
    }
}
