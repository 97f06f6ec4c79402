//! What the rules say, found the slow and obvious way: no index, no order of evaluation, nothing remembered. Written from the
//! specification, not from the code, and sharing only the words of a rule with it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use identity::{Identity, Name};
use ipnet::IpNet;
use rules::{Active, Condition, GateName, Key, Mode, Origin, Rule, Share, Timestamp, Value};
use statement::{Class, Fingerprint, Fingerprints, Shapes, Table};

/// A statement, with everything known about it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) schema: Option<Vec<u8>>,
    pub(crate) is_login: bool,
    /// Some fact has two sides.
    pub(crate) is_doubtful: bool,
    /// The schema may be any.
    pub(crate) schema_is_unknown: bool,
    pub(crate) classes: BTreeSet<&'static str>,
    pub(crate) certain_shapes: Shapes,
    pub(crate) shapes: Shapes,
    pub(crate) fingerprints: Vec<Fingerprint>,
    pub(crate) fingerprints_are_complete: bool,
    /// Made from the two above.
    pub(crate) given: Fingerprints,
    pub(crate) tables: Touched,
}

#[derive(Debug, Clone)]
pub(crate) enum Touched {
    Known(Vec<Table>),
    Among(Vec<Table>),
    Unknown,
}

pub(crate) type Digests = fn(&str) -> Option<Fingerprint>;

/// What is judged, and when.
pub(crate) struct Case<'a> {
    pub(crate) rules: &'a [Rule],
    pub(crate) identity: &'a Identity,
    pub(crate) asked: &'a Asked,
    pub(crate) now: Timestamp,
    pub(crate) default_mode: Mode,
    pub(crate) digests: Digests,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) strictness: f64,
    /// Any of these may own it: of equally strict outcomes for several tables it does not matter which.
    pub(crate) share: BTreeSet<Option<String>>,
    pub(crate) concurrency: BTreeSet<String>,
    pub(crate) weight: f64,
    /// Of each gate: the lowest that a rule gives, and whether the gate's own counts too.
    pub(crate) thresholds: BTreeMap<GateName, (f64, bool)>,
    pub(crate) skips: BTreeSet<GateName>,
}

impl Expected {
    pub(crate) fn threshold(&self, gate: &str, own: f64) -> f64 {
        match self.thresholds.get(gate) {
            None => own,
            Some((threshold, true)) => threshold.min(own),
            Some((threshold, false)) => *threshold,
        }
    }
}

/// By the rules in force, or by these and those that warn.
pub(crate) fn judge(case: &Case, with_warned: bool) -> Expected {
    let outcomes: Vec<Outcome> = worlds(case, with_warned).iter().map(|world| outcome(world)).collect();
    let strictness = outcomes.iter().map(|outcome| outcome.strictness()).fold(f64::NEG_INFINITY, f64::max);
    let strictest = outcomes.iter().filter(|outcome| outcome.strictness() == strictness);
    Expected {
        strictness,
        share: strictest.map(|outcome| outcome.share.map(|rule| rule.id.to_string())).collect(),
        concurrency: outcomes.iter().flat_map(|outcome| outcome.concurrency.clone()).collect(),
        weight: outcomes.iter().map(|outcome| outcome.weight).fold(f64::INFINITY, f64::min),
        thresholds: lowest(&outcomes),
        skips: outcomes.iter().map(|outcome| outcome.skips.clone()).reduce(|one, other| &one & &other).unwrap(),
    }
}

/// The world that has no owner for a gate has the gate's own threshold.
fn lowest(outcomes: &[Outcome]) -> BTreeMap<GateName, (f64, bool)> {
    let gates: BTreeSet<&GateName> = outcomes.iter().flat_map(|outcome| outcome.thresholds.keys()).collect();
    let of = |gate: &GateName| {
        let owned: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.thresholds.get(gate).copied()).collect();
        (owned.iter().copied().fold(f64::INFINITY, f64::min), owned.len() < outcomes.len())
    };
    gates.into_iter().map(|gate| (gate.clone(), of(gate))).collect()
}

/// Whether a login passes the gate, and its threshold there.
pub(crate) fn login_at(case: &Case, with_warned: bool, gate: &str, own: f64) -> (bool, f64) {
    let outcome = outcome(&login_world(case, with_warned));
    let exempt = outcome.share.is_some_and(|rule| rule.effect.share == Some(Share::Exempt));
    (exempt || outcome.skips.contains(gate), outcome.thresholds.get(gate).copied().unwrap_or(own))
}

/// The rules whose `max_connections` counts.
pub(crate) fn judge_login(case: &Case, with_warned: bool) -> BTreeSet<String> {
    limits(&login_world(case, with_warned), |rule| rule.effect.limits.max_connections)
}

fn login_world<'a>(case: &Case<'a>, with_warned: bool) -> Vec<Fitting<'a>> {
    let of_connection = |rule: &Rule| {
        rule.matching.conditions.iter().chain(&rule.matching.not).all(|condition| {
            matches!(condition.key, Key::Scope | Key::User | Key::Address | Key::Schema | Key::Listener | Key::Attr(_))
        })
    };
    // A login says which schema it wants.
    let asked = Asked { schema_is_unknown: false, is_login: true, ..case.asked.clone() };
    let known = Case {
        rules: case.rules,
        identity: case.identity,
        asked: &asked,
        now: case.now,
        default_mode: case.default_mode,
        digests: case.digests,
    };
    let counting = case.rules.iter().filter(|rule| of_connection(rule) && counts(rule, case, with_warned));
    counting.filter_map(|rule| fit(rule, &known, &TheTables::None, Sure::Certainly)).collect()
}

/// A rule that matches, and how exactly: per condition.
struct Fitting<'a> {
    rule: &'a Rule,
    fits: Vec<Fit>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fit {
    Exact,
    Glob,
    Network(u8),
    Anybody,
}

/// The tables of the statement as one of the worlds sees them.
enum TheTables<'a> {
    /// All of it: a rule must have all of them.
    Whole,
    One(&'a Table),
    /// Rules on tables match only if it is this one.
    Only(&'a str),
    None,
}

/// How sure a match must be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sure {
    Certainly,
    Perhaps,
}

/// The sets of rules whose outcomes are compared; the strictest stands. The statement as a whole, and for each of its tables
/// the statement as if it touched only that. If the tables are unknown, each rule on tables is alone with the rules without.
fn worlds<'a>(case: &Case<'a>, with_warned: bool) -> Vec<Vec<Fitting<'a>>> {
    let world = |tables: &TheTables| -> Vec<Fitting<'a>> {
        let counting = case.rules.iter().filter(|rule| counts(rule, case, with_warned));
        counting.filter_map(|rule| fit(rule, case, tables, Sure::Certainly)).collect()
    };
    let mut worlds = vec![world(&TheTables::Whole)];
    match &case.asked.tables {
        Touched::Known(tables) | Touched::Among(tables) => {
            worlds.extend(tables.iter().map(|table| world(&TheTables::One(table))));
        }
        Touched::Unknown => worlds.extend(case.rules.iter().map(|rule| world(&TheTables::Only(&rule.id)))),
    }
    worlds.extend(case.rules.iter().filter_map(|rule| perhaps(rule, case, with_warned)));
    worlds
}

/// A rule that may match is alone with those that certainly do, rules on tables left out.
fn perhaps<'a>(rule: &'a Rule, case: &Case<'a>, with_warned: bool) -> Option<Vec<Fitting<'a>>> {
    let keys_are_certain = fit(rule, case, &TheTables::Only(&rule.id), Sure::Certainly).is_some();
    if !counts(rule, case, with_warned) || keys_are_certain {
        return None;
    }
    let fitting = match &case.asked.tables {
        Touched::Unknown => fit(rule, case, &TheTables::Only(&rule.id), Sure::Perhaps)?,
        Touched::Known(tables) | Touched::Among(tables) => match uses_tables(rule) {
            false => fit(rule, case, &TheTables::None, Sure::Perhaps)?,
            true => tables.iter().find_map(|table| fit(rule, case, &TheTables::One(table), Sure::Perhaps))?,
        },
    };
    let others = case.rules.iter().filter(|other| other.id != rule.id && !uses_tables(other));
    let others = others.filter(|other| counts(other, case, with_warned));
    let others = others.filter_map(|other| fit(other, case, &TheTables::None, Sure::Certainly));
    Some(others.chain([fitting]).collect())
}

fn uses_tables(rule: &Rule) -> bool {
    rule.matching.conditions.iter().chain(&rule.matching.not).any(|condition| condition.key == Key::Table)
}

fn counts(rule: &Rule, case: &Case, with_warned: bool) -> bool {
    let mode = rule.mode.unwrap_or(case.default_mode);
    let mode_counts = mode == Mode::Enforce || (mode == Mode::Warn && with_warned);
    let in_time = rule.expires.is_none_or(|expires| case.now < expires);
    mode_counts && in_time && rule.active.as_ref().is_none_or(|active| is_active(active, case.now))
}

/// What the clock on the wall shows.
pub(crate) fn is_active(active: &Active, now: Timestamp) -> bool {
    let wall = jiff::Timestamp::from_millisecond(now.0).unwrap().to_zoned(active.tz.clone());
    let minute = u16::try_from(wall.hour()).unwrap() * 60 + u16::try_from(wall.minute()).unwrap();
    let today = wall.weekday().to_monday_zero_offset();
    let yesterday = wall.weekday().previous().to_monday_zero_offset();
    let on = |day: i8| active.days.0 >> day & 1 == 1;
    if active.from < active.to {
        on(today) && active.from <= minute && minute < active.to
    } else {
        on(today) && active.from <= minute || on(yesterday) && minute < active.to
    }
}

fn fit<'a>(rule: &'a Rule, case: &Case, tables: &TheTables, sure: Sure) -> Option<Fitting<'a>> {
    let mut fits = Vec::new();
    for condition in &rule.matching.conditions {
        fits.push(if condition.key == Key::Table {
            holds_for_tables(rule, condition, case, tables).then_some(Fit::Exact)?
        } else {
            holds(condition, case, sure)?
        });
    }
    for condition in &rule.matching.not {
        let holds = if condition.key == Key::Table {
            leaves_out(rule, condition, case, tables)
        } else {
            // What perhaps holds does not certainly not hold.
            let opposite = if sure == Sure::Certainly { Sure::Perhaps } else { Sure::Certainly };
            holds(condition, case, opposite).is_some()
        };
        if holds {
            return None;
        }
    }
    Some(Fitting { rule, fits })
}

/// How the best value fits.
fn holds(condition: &Condition, case: &Case, sure: Sure) -> Option<Fit> {
    if matches!(condition.key, Key::Schema | Key::Class | Key::Shape | Key::Fingerprint) {
        let holds = match sure {
            Sure::Certainly => certainly_asked(condition, case),
            Sure::Perhaps => perhaps_asked(condition, case),
        };
        return holds.then_some(Fit::Exact);
    }
    let fits: Vec<Fit> = condition.values.iter().filter_map(|value| value_fits(&condition.key, value, case)).collect();
    fits.into_iter().max_by(|one, other| compare_fits(&[*one], &[*other]))
}

/// Every statement in every reading fits one of the values.
fn certainly_asked(condition: &Condition, case: &Case) -> bool {
    let asked = case.asked;
    let any = |fits: &dyn Fn(&Value) -> bool| condition.values.iter().any(fits);
    match condition.key {
        Key::Schema => !asked.schema_is_unknown && any(&|value| is_schema(value, asked)),
        Key::Class => {
            !asked.classes.is_empty() && asked.classes.iter().all(|class| any(&|value| is_class(value, class)))
        }
        Key::Shape => any(&|value| matches!(value, Value::Shape(shape) if asked.certain_shapes.contains(*shape))),
        _ => {
            let is = |fingerprint: &Fingerprint| any(&|value| is_fingerprint(value, *fingerprint, case));
            asked.fingerprints_are_complete && asked.fingerprints.iter().all(is)
        }
    }
}

/// Some statement in some reading fits one of the values.
fn perhaps_asked(condition: &Condition, case: &Case) -> bool {
    let asked = case.asked;
    let any = |fits: &dyn Fn(&Value) -> bool| condition.values.iter().any(fits);
    match condition.key {
        Key::Schema => asked.schema_is_unknown || any(&|value| may_be_schema(value, asked)),
        Key::Class => asked.classes.iter().any(|class| any(&|value| may_be_class(value, class))),
        Key::Shape => any(&|value| matches!(value, Value::Shape(shape) if asked.shapes.contains(*shape))),
        _ => {
            let is = |fingerprint: &Fingerprint| any(&|value| is_fingerprint(value, *fingerprint, case));
            // A digest that was not learnt yet matches nothing.
            let is_learnt = any(&|value| match value {
                Value::Digest(digest) => (case.digests)(digest).is_some(),
                _ => true,
            });
            (!asked.fingerprints_are_complete && is_learnt) || asked.fingerprints.iter().any(is)
        }
    }
}

fn is_schema(value: &Value, asked: &Asked) -> bool {
    matches!(value, Value::Text(text) if asked.schema.as_deref() == Some(text))
}

fn may_be_schema(value: &Value, asked: &Asked) -> bool {
    // A login is only judged by what certainly fits.
    let same = |text: &[u8]| {
        asked.schema.as_deref().is_some_and(|schema| !asked.is_login && schema.eq_ignore_ascii_case(text))
    };
    is_schema(value, asked) || matches!(value, Value::Text(text) if same(text))
}

fn is_class(value: &Value, class: &str) -> bool {
    matches!(value, Value::Class(named) | Value::ExactClass(named) if named.as_str() == class)
}

/// As the specification has it: an unknown text may be anything, and a routine may read, write and define.
fn may_be_class(value: &Value, class: &str) -> bool {
    let Value::Class(named) = value else { return is_class(value, class) };
    match class {
        "unparsed" => *named != Class::Control,
        "call" => matches!(named, Class::Read | Class::Write | Class::Call | Class::Ddl),
        _ => named.as_str() == class,
    }
}

fn is_fingerprint(value: &Value, fingerprint: Fingerprint, case: &Case) -> bool {
    match value {
        Value::Fingerprint(known) => *known == fingerprint,
        Value::Digest(digest) => (case.digests)(digest) == Some(fingerprint),
        _ => false,
    }
}

fn value_fits(key: &Key, value: &Value, case: &Case) -> Option<Fit> {
    let identity = case.identity;
    let exact = |holds: bool| holds.then_some(Fit::Exact);
    match (key, value) {
        (Key::Scope, Value::Scope(scope)) => {
            let fit = match &*scope.text {
                "*" => Fit::Anybody,
                text if text.contains('*') => Fit::Glob,
                _ => Fit::Exact,
            };
            in_scope(&scope.text, &identity.name).then_some(fit)
        }
        (Key::Address, Value::Network(network)) => {
            let holds = identity.address.is_some_and(|address| network.contains(&address));
            let single = network.prefix_len() == network.max_prefix_len();
            let fit = if single { Fit::Exact } else { Fit::Network(network.prefix_len()) };
            holds.then_some(fit)
        }
        (Key::User, Value::Text(text)) => exact(identity.user == *text),
        (Key::Listener, Value::Text(text)) => exact(identity.listener.as_bytes() == &**text),
        (Key::Tool, Value::Text(text)) => exact(identity.tool.as_ref() == Some(text)),
        (Key::Attr(name), Value::Text(text)) => exact(identity.attrs.get(name.as_bytes()) == Some(text)),
        (Key::Tag(name), Value::Text(text)) => exact(identity.tags.get(name.as_bytes()) == Some(text)),
        (Key::QueryAttr(name), Value::Text(text)) => exact(identity.query_attrs.get(name.as_bytes()) == Some(text)),
        _ => panic!("{key} cannot be {value:?}"),
    }
}

/// A whole name, any one part of it, or a glob over its parts.
pub(crate) fn in_scope(scope: &str, name: &Name) -> bool {
    let parts: Vec<&str> = name.parts().collect();
    let pattern: Vec<&str> = scope.split(':').collect();
    match pattern.as_slice() {
        [one] => parts.iter().any(|part| glob(&[one], &[part])),
        several => glob(several, &parts),
    }
}

/// `*` is one or more whole parts, or the end of a part.
fn glob(pattern: &[&str], parts: &[&str]) -> bool {
    match (pattern, parts) {
        ([], []) => true,
        ([], _) | (_, []) => false,
        (["*", rest @ ..], [_, others @ ..]) => glob(rest, others) || glob(pattern, others),
        ([piece, rest @ ..], [part, others @ ..]) => piece_fits(piece, part) && glob(rest, others),
    }
}

fn piece_fits(piece: &str, part: &str) -> bool {
    match piece.find('*') {
        None => piece == part,
        Some(star) if star + 1 == piece.len() => part.starts_with(&piece[..star]),
        Some(_) => false,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Touch {
    No,
    Maybe,
    Yes,
}

fn touch(condition: &Condition, table: &Table, session: Option<&[u8]>) -> Touch {
    let one = |value: &Value| match value {
        Value::Table { schema: None, .. } if &*table.name == Table::ANY => Touch::Maybe,
        Value::Table { schema: Some(wanted), .. } if &*table.name == Table::ANY => match &table.schema {
            Some(schema) if schema == wanted => Touch::Maybe,
            _ => Touch::No,
        },
        Value::Table { name, .. } if *name != table.name => Touch::No,
        Value::Table { schema: None, .. } => Touch::Yes,
        Value::Table { schema: Some(wanted), .. } => match table.schema.as_deref().map(str::as_bytes).or(session) {
            None => Touch::Maybe,
            Some(schema) if schema.to_ascii_lowercase() == wanted.as_bytes() => Touch::Yes,
            Some(_) => Touch::No,
        },
        other => panic!("a table cannot be {other:?}"),
    };
    condition.values.iter().map(one).max().unwrap_or(Touch::No)
}

fn holds_for_tables(rule: &Rule, condition: &Condition, case: &Case, world: &TheTables) -> bool {
    let session = case.asked.schema.as_deref();
    match (world, &case.asked.tables) {
        (TheTables::Whole, Touched::Known(tables)) => {
            !tables.is_empty() && tables.iter().all(|table| touch(condition, table, session) == Touch::Yes)
        }
        (TheTables::Whole, Touched::Among(_) | Touched::Unknown) => false,
        (TheTables::One(table), _) => touch(condition, table, session) != Touch::No,
        (TheTables::Only(id), _) => *rule.id == **id,
        (TheTables::None, _) => false,
    }
}

fn leaves_out(rule: &Rule, condition: &Condition, case: &Case, world: &TheTables) -> bool {
    let session = case.asked.schema.as_deref();
    let strongest = |tables: &[Table]| tables.iter().map(|table| touch(condition, table, session)).max();
    match (world, &case.asked.tables) {
        (TheTables::Whole, Touched::Known(tables) | Touched::Among(tables)) => {
            strongest(tables).is_some_and(|touch| touch != Touch::No)
        }
        (TheTables::Whole, Touched::Unknown) => true,
        (TheTables::One(_), Touched::Known(tables)) => strongest(tables) == Some(Touch::Yes),
        (TheTables::One(_), Touched::Among(_) | Touched::Unknown) => false,
        (TheTables::Only(id), _) => *rule.id != **id,
        (TheTables::None, _) => true,
    }
}

struct Outcome<'a> {
    share: Option<&'a Rule>,
    concurrency: BTreeSet<String>,
    weight: f64,
    thresholds: BTreeMap<GateName, f64>,
    skips: BTreeSet<GateName>,
}

impl Outcome<'_> {
    /// No owner is like a ratio of 0.
    fn strictness(&self) -> f64 {
        self.share.map_or(0.0, |rule| share_of(rule).unwrap())
    }
}

fn share_of(rule: &Rule) -> Option<f64> {
    rule.effect.share.map(|share| match share {
        Share::Exempt => -1.0,
        Share::Ratio(ratio) => ratio,
        Share::Hold => 2.0,
    })
}

fn outcome<'a>(world: &[Fitting<'a>]) -> Outcome<'a> {
    let weight = |rule: &Rule| rule.effect.weight.map(|weight| -weight);
    let gates: BTreeSet<&GateName> = world.iter().flat_map(|fitting| fitting.rule.effect.thresholds.keys()).collect();
    let threshold = |gate: &GateName| {
        let owner = stands(world, |rule| rule.effect.thresholds.get(gate).map(|threshold| -threshold)).unwrap();
        (gate.clone(), owner.effect.thresholds[gate])
    };
    Outcome {
        share: stands(world, share_of),
        concurrency: limits(world, |rule| rule.effect.limits.max_concurrency),
        weight: stands(world, weight).map_or(1.0, |rule| rule.effect.weight.unwrap()),
        thresholds: gates.into_iter().map(threshold).collect(),
        skips: skips(world),
    }
}

fn overrides(rule: &Rule) -> bool {
    rule.overrides && rule.origin == Origin::Runtime
}

/// The stricter of the file's owner and the run time's, unless that one overrides.
fn stands<'a>(world: &[Fitting<'a>], strictness: impl Fn(&Rule) -> Option<f64> + Copy) -> Option<&'a Rule> {
    match owners(world, strictness) {
        [Some(file), Some(runtime)] => {
            let stands = overrides(runtime) || strictness(runtime) > strictness(file);
            Some(if stands { runtime } else { file })
        }
        [file, runtime] => file.or(runtime),
    }
}

/// A gate is skipped if the owner says so; whether it does is judged for each gate, where not to skip is the stricter.
fn skips(world: &[Fitting]) -> BTreeSet<GateName> {
    let gates: BTreeSet<&GateName> =
        world.iter().flat_map(|fitting| fitting.rule.effect.skip_gates.iter().flatten()).collect();
    let skipped = |gate: &&GateName| {
        let strictness = |rule: &Rule| rule.effect.skip_gates.as_ref().map(|gates| -f64::from(gates.contains(*gate)));
        stands(world, strictness).is_some_and(|rule| rule.effect.skip_gates.as_ref().unwrap().contains(*gate))
    };
    gates.into_iter().filter(skipped).cloned().collect()
}

/// All that match count, unless one of the run time overrides those of the file.
fn limits(world: &[Fitting], limit: fn(&Rule) -> Option<u32>) -> BTreeSet<String> {
    let setting: Vec<&Rule> = world.iter().map(|fitting| fitting.rule).filter(|rule| limit(rule).is_some()).collect();
    let overridden = setting.iter().any(|rule| overrides(rule));
    let counting = setting.into_iter().filter(|rule| !(overridden && rule.origin == Origin::File));
    counting.map(|rule| rule.id.to_string()).collect()
}

/// Among the rules of the file and among those of the run time; what is built in is among both.
fn owners<'a>(world: &[Fitting<'a>], strictness: impl Fn(&Rule) -> Option<f64>) -> [Option<&'a Rule>; 2] {
    [Origin::File, Origin::Runtime].map(|origin| {
        let among = |fitting: &&Fitting| fitting.rule.origin == origin || fitting.rule.origin == Origin::BuiltIn;
        let setting = world.iter().filter(among).filter(|fitting| strictness(fitting.rule).is_some());
        setting.max_by(|one, other| more_specific(one, other, &strictness)).map(|fitting| fitting.rule)
    })
}

fn more_specific(one: &Fitting, other: &Fitting, strictness: &impl Fn(&Rule) -> Option<f64>) -> Ordering {
    let keys = |rule: &Rule| rule.matching.conditions.len() + rule.matching.not.len();
    (one.rule.priority.cmp(&other.rule.priority))
        .then(keys(one.rule).cmp(&keys(other.rule)))
        .then(compare_fits(&one.fits, &other.fits))
        .then(strictness(one.rule).partial_cmp(&strictness(other.rule)).unwrap())
        .then(other.rule.id.cmp(&one.rule.id))
}

/// Exact over glob over CIDR with the longest prefix first.
fn compare_fits(one: &[Fit], other: &[Fit]) -> Ordering {
    let exact = |fits: &[Fit]| fits.iter().filter(|fit| **fit == Fit::Exact).count();
    let globs = |fits: &[Fit]| fits.iter().filter(|fit| **fit == Fit::Glob).count();
    let prefix = |fits: &[Fit]| {
        fits.iter().map(|fit| if let Fit::Network(length) = fit { u32::from(*length) } else { 0 }).sum::<u32>()
    };
    exact(one).cmp(&exact(other)).then(globs(one).cmp(&globs(other))).then(prefix(one).cmp(&prefix(other)))
}

/// For the generator: what a network is written as.
pub(crate) fn network(text: &str) -> IpNet {
    text.parse().unwrap()
}
