//! Rules that another one always shields what they match from.

use std::collections::HashMap;

use super::{Warning, WarningKind};
use crate::explain::Field;
use crate::matching::{Condition, Key, Match, Value};
use crate::rule::{Mode, Origin, Rule};
use crate::scope::Pattern;
use crate::timestamp::Timestamp;

/// Pairs that are compared at most, so that a file with 100,000 rules is checked in a moment. What is beyond is not warned
/// of.
const MOST_PAIRS: usize = 5_000_000;

pub(super) fn find(rules: &[Rule], now: Timestamp) -> Vec<Warning> {
    let in_force = |rule: &&Rule| rule.mode != Some(Mode::Off) && rule.expires.is_none_or(|expires| now < expires);
    let rules: Vec<&Rule> = rules.iter().filter(in_force).collect();
    let candidates = Candidates::new(&rules);
    let mut pairs = 0;
    let mut warnings = Vec::new();
    for rule in &rules {
        for field in Field::of(rule).into_iter().filter(|field| !field.is_limit()) {
            let others = candidates.of(rule).inspect(|_| pairs += 1);
            let shield = others.filter(|other| field.is_set(other)).find(|other| shields(other, rule, &field));
            warnings.extend(shield.map(|shield| Warning {
                rule: rule.id.clone(),
                kind: WarningKind::AlwaysShielded { field, by: shield.id.clone() },
            }));
        }
        if pairs > MOST_PAIRS {
            break;
        }
    }
    warnings
}

/// What could shield a rule: it has a value in common, or values that cover many others.
struct Candidates<'a> {
    by_value: HashMap<Text, Vec<&'a Rule>>,
    broad: Vec<&'a Rule>,
}

/// A key and one of its values.
type Text = (Key, String);

impl<'a> Candidates<'a> {
    fn new(rules: &[&'a Rule]) -> Candidates<'a> {
        let mut sharers: HashMap<Text, usize> = HashMap::new();
        for text in rules.iter().flat_map(|rule| &rule.matching.conditions).flat_map(texts) {
            *sharers.entry(text).or_default() += 1;
        }
        let most = |condition: &Condition| texts(condition).filter_map(|text| sharers.get(&text)).max().copied();
        let mut candidates = Candidates { by_value: HashMap::new(), broad: Vec::new() };
        for rule in rules {
            // Whatever it shields has values that this condition has too.
            let exact = rule.matching.conditions.iter().filter(|condition| !is_broad(condition));
            let Some(rarest) = exact.min_by_key(|condition| most(condition)) else {
                candidates.broad.push(rule);
                continue;
            };
            texts(rarest).for_each(|text| candidates.by_value.entry(text).or_default().push(rule));
        }
        candidates
    }

    fn of(&self, rule: &Rule) -> impl Iterator<Item = &'a Rule> {
        let firsts = rule.matching.conditions.iter().filter_map(|condition| texts(condition).next());
        let by_value = firsts.filter_map(|text| self.by_value.get(&text)).flatten();
        by_value.chain(&self.broad).copied().collect::<Vec<&Rule>>().into_iter()
    }
}

fn texts(condition: &Condition) -> impl Iterator<Item = Text> {
    condition.values.iter().map(|value| (condition.key.clone(), format!("{value:?}")))
}

/// A value may cover others that are written otherwise.
fn is_broad(condition: &Condition) -> bool {
    condition.values.iter().any(|value| match value {
        Value::Scope(scope) => !matches!(Pattern::new(&scope.text), Pattern::Part(_) | Pattern::Whole(_)),
        Value::Network(network) => network.prefix_len() != network.max_prefix_len(),
        Value::Table { schema, .. } => schema.is_none(),
        // A class also stands for what may be of it.
        Value::Class(_) => true,
        Value::Text(_) | Value::ExactClass(_) | Value::Fingerprint(_) | Value::Digest(_) | Value::Shape(_) => false,
    })
}

/// Whether `other` owns the field wherever and whenever `rule` matches.
fn shields(other: &Rule, rule: &Rule, field: &Field) -> bool {
    let same_competition = other.origin == rule.origin || other.origin == Origin::BuiltIn;
    other.id != rule.id
        && same_competition
        && lasts_as_long(other, rule)
        && outranks(other, rule, field)
        && matches_all_of(&other.matching, &rule.matching)
}

/// In force whenever the rule is, and as strictly.
fn lasts_as_long(other: &Rule, rule: &Rule) -> bool {
    let ends_first = match (other.expires, rule.expires) {
        (Some(other), Some(rule)) => other < rule,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let same_mode = other.mode == rule.mode || other.mode == Some(Mode::Enforce);
    let same_hours = other.active.is_none() || other.active == rule.active;
    !ends_first && same_mode && same_hours
}

/// Whatever value fits. With the same number of keys both have the same ones, since the other matches all that the rule does.
fn outranks(other: &Rule, rule: &Rule, field: &Field) -> bool {
    let keys = |rule: &Rule| rule.matching.conditions.len() + rule.matching.not.len();
    if other.priority != rule.priority {
        return other.priority > rule.priority;
    }
    if keys(other) != keys(rule) {
        return keys(other) > keys(rule);
    }
    let alike = other.matching.is_same(&rule.matching) || (is_exact(other) && is_exact(rule));
    let (others, rules) = (field.strictness(other), field.strictness(rule));
    // Of equally specific ones what all of them skip is skipped: each counts.
    alike && *field != Field::SkipGates && (others > rules || (others == rules && other.id < rule.id))
}

fn is_exact(rule: &Rule) -> bool {
    let broad = |condition: &Condition| condition.key != Key::Table && is_broad(condition);
    !rule.matching.conditions.iter().any(broad)
}

/// Every condition of `wide` follows from one of `narrow`.
fn matches_all_of(wide: &Match, narrow: &Match) -> bool {
    let of_key = |conditions: &'_ [Condition], key: &Key| conditions.iter().position(|condition| condition.key == *key);
    let follows = |wide: &Condition| {
        let is_everybody = |value: &Value| matches!(value, Value::Scope(scope) if &*scope.text == "*");
        let narrow = of_key(&narrow.conditions, &wide.key).and_then(|place| narrow.conditions.get(place));
        wide.values.iter().any(is_everybody)
            || narrow.is_some_and(|narrow| narrow.values.iter().all(|value| covered(value, &wide.values)))
    };
    // What `wide` leaves out, `narrow` must leave out as well.
    let left_out = |wide: &Condition| {
        let narrow = of_key(&narrow.not, &wide.key).and_then(|place| narrow.not.get(place));
        narrow.is_some_and(|narrow| wide.values.iter().all(|value| covered(value, &narrow.values)))
    };
    // A rule on tables matches a statement in part where another does not.
    let tables_alike = {
        let tables = |matching: &'_ Match| matching.conditions.iter().find(|one| one.key == Key::Table).cloned();
        tables(wide).is_none() || tables(wide) == tables(narrow)
    };
    tables_alike && wide.conditions.iter().all(follows) && wide.not.iter().all(left_out)
}

/// Whatever fits the value fits one of the others.
pub(super) fn covered(value: &Value, others: &[Value]) -> bool {
    others.iter().any(|other| {
        if other == value {
            return true;
        }
        match (value, other) {
            (Value::Network(value), Value::Network(other)) => other.contains(value),
            (Value::Scope(value), Value::Scope(other)) => Pattern::new(&other.text).covers(&Pattern::new(&value.text)),
            (Value::Table { name, .. }, Value::Table { schema: None, name: other }) => name == other,
            (Value::Shape(value), Value::Shape(other)) => value.contains(*other),
            _ => false,
        }
    })
}
