//! Any rule that can be, for property tests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::tz::TimeZone;
use rand::RngExt;
use rand::rngs::StdRng;
use rules::{
    Action, Active, Condition, Days, Do, GateName, InTransaction, Key, Limits, Match, Mode, Origin, Rule, Scope, Share,
    Timestamp, UnknownTables, Value,
};
use statement::{Class, Fingerprint, Shapes};

const A_YEAR: i64 = 365 * 24 * 3_600_000;

/// Of the run time, in force at `now`.
pub(crate) fn rule(random: &mut StdRng, now: Timestamp) -> Rule {
    let effect = effect(random);
    let at_login = effect.limits.max_connections.is_some() || effect.thresholds.contains_key("connections_used");
    let matching = matching(random, at_login);
    let has_table = matching.conditions.iter().any(|condition| condition.key == Key::Table);
    Rule {
        id: format!("r{}-{}", random.random::<u32>(), pick(random, &["INC-1", "a.b", "é:@_"])).into(),
        origin: Origin::Runtime,
        matching,
        effect,
        action: maybe(random, |random| pick(random, &[Action::Delay, Action::Reject])),
        max_delay: maybe(random, |random| Duration::from_millis(random.random_range(0..=3_600_000))),
        mode: maybe(random, |random| pick(random, &[Mode::Off, Mode::Warn, Mode::Enforce])),
        priority: pick(random, &[0, 0, 1, -5, 1_000_000, -1_000_000]),
        overrides: random.random(),
        in_transaction: pick(random, &[InTransaction::Pass, InTransaction::Delay, InTransaction::Reject]),
        unknown_tables: pick(
            random,
            if has_table { &[UnknownTables::Ignore, UnknownTables::Match] } else { &[UnknownTables::Ignore] },
        ),
        active: maybe(random, active),
        expires: Some(Timestamp(now.0 + random.random_range(1..=A_YEAR))),
        created: Some(Timestamp(now.0 - random.random_range(0..=A_YEAR))),
        created_by: maybe(random, text),
        reason: maybe(random, text),
        incident: maybe(random, |_| "INC-42".to_owned()),
        playbook: maybe(random, |_| "write-overload".to_owned()),
    }
}

/// A rule with these gates under `thresholds` and `skip_gates`.
pub(crate) fn with_gates(thresholds: &[&str], skip: &[&str]) -> Rule {
    use rand::SeedableRng;
    let rule = rule(&mut StdRng::seed_from_u64(1), Timestamp(0));
    let thresholds = thresholds.iter().map(|gate| (GateName::from(*gate), 1.0)).collect();
    let skip_gates = Some(skip.iter().map(|gate| GateName::from(*gate)).collect());
    Rule { effect: Do { thresholds, skip_gates, ..Do::default() }, ..rule }
}

fn pick<T: Clone>(random: &mut StdRng, from: &[T]) -> T {
    from[random.random_range(0..from.len())].clone()
}

fn maybe<T>(random: &mut StdRng, make: impl FnOnce(&mut StdRng) -> T) -> Option<T> {
    random.random::<bool>().then(|| make(random))
}

fn text(random: &mut StdRng) -> String {
    let letters =
        ["a", "Z", "9", " ", "'", "\"", "\\", ":", "{", "#", "é", "日", "🦀", "`", "*", "~", "null", "0x1f", "- "];
    (0..random.random_range(1..12)).map(|_| pick(random, &letters)).collect()
}

fn effect(random: &mut StdRng) -> Do {
    let ratio = pick(random, &[0.0, 1.0, 0.9, 0.1 + 0.2, f64::MIN_POSITIVE]);
    let ratio = if random.random() { ratio } else { random.random::<f64>() };
    let share = pick(random, &[None, Some(Share::Exempt), Some(Share::Hold), Some(Share::Ratio(ratio))]);
    let mut limits = Limits {
        max_concurrency: maybe(random, |random| random.random_range(0..=1_000_000)),
        max_connections: maybe(random, |random| random.random_range(0..=1_000_000)),
    };
    if share.is_none() && limits == Limits::default() {
        limits.max_concurrency = Some(4);
    }
    let exempt = share == Some(Share::Exempt);
    Do {
        share,
        limits,
        thresholds: thresholds(random),
        skip_gates: maybe(random, skip_gates).filter(|_| !exempt),
        weight: maybe(random, |random| pick(random, &[0.01, 1.0, 2.5, 100.0])),
    }
}

/// As those of [`super::gates`] can be written.
fn thresholds(random: &mut StdRng) -> BTreeMap<GateName, f64> {
    let mut thresholds = BTreeMap::new();
    thresholds.extend(maybe(random, |random| {
        ("lag".into(), Duration::from_millis(random.random_range(1..86_400_000)).as_secs_f64())
    }));
    thresholds.extend(maybe(random, |random| ("threads_running".into(), pick(random, &[40.0, 0.1 + 0.2, 1e9]))));
    thresholds.extend(maybe(random, |random| ("connections_used".into(), pick(random, &[0.9, 0.995, 1.0, 1.0 / 3.0]))));
    thresholds
}

fn skip_gates(random: &mut StdRng) -> BTreeSet<GateName> {
    let gates = ["lag", "threads_running"];
    gates.into_iter().filter(|_| random.random()).map(GateName::from).collect()
}

fn matching(random: &mut StdRng, only_connection: bool) -> Match {
    let mut matching = Match::default();
    while matching.conditions.is_empty() && matching.not.is_empty() {
        matching = Match {
            conditions: conditions(random, only_connection, false),
            not: conditions(random, only_connection, true),
        };
    }
    matching
}

/// In the order of the keys, which is that of JSON.
fn conditions(random: &mut StdRng, only_connection: bool, negated: bool) -> Vec<Condition> {
    let keys = [
        Key::Scope,
        Key::User,
        Key::Address,
        Key::Schema,
        Key::Listener,
        Key::Class,
        Key::Fingerprint,
        Key::Table,
        Key::Shape,
        Key::Tool,
        Key::Attr("program_name".to_owned()),
        Key::Attr("a.b".to_owned()),
        Key::Tag("team".to_owned()),
        Key::Tag("a b".to_owned()),
        Key::QueryAttr("x".to_owned()),
    ];
    let chosen = keys.into_iter().filter(|key| !only_connection || key.is_of_connection());
    let chosen: Vec<Key> = chosen.filter(|_| random.random_range(0..5) == 0).collect();
    let mut all: Vec<Condition> = chosen.into_iter().map(|key| condition(random, key, negated)).collect();
    all.sort_by_key(|condition| condition.key.to_string());
    all
}

fn condition(random: &mut StdRng, key: Key, negated: bool) -> Condition {
    let mut values: Vec<Value> = Vec::new();
    for _ in 0..random.random_range(1..4) {
        let value = value(random, &key, negated);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let is_exact = random.random_range(0..4) == 0;
    let exactly = |value| match value {
        Value::Class(class) if is_exact => Value::ExactClass(class),
        other => other,
    };
    Condition { key, values: values.into_iter().map(exactly).collect() }
}

fn value(random: &mut StdRng, key: &Key, negated: bool) -> Value {
    match key {
        Key::Scope => Value::Scope(Scope {
            text: pick(random, &["*", "etl", "job-*", "*:etl:*", "a:b:c", "*.etl.*", "é"]).into(),
        }),
        Key::Address => {
            let networks = ["10.2.0.0/16", "10.0.0.1/32", "0.0.0.0/0", "fd00::/8", "fd00::1/128", "::/0"];
            Value::Network(pick(random, &networks).parse().unwrap())
        }
        // A rule on `control` would do nothing.
        Key::Class => Value::Class(pick(random, if negated { &Class::ALL } else { &Class::ALL[1..] })),
        Key::Fingerprint if random.random() => Value::Fingerprint(Fingerprint(random.random())),
        Key::Fingerprint => Value::Digest(format!("{:064x}", random.random::<u128>()).into()),
        Key::Table => Value::Table {
            schema: maybe(random, |random| pick(random, &["shop", "my.shop", "a b", "x`y"]).into()),
            name: pick(random, &["orders", "a.b", "`", "日本", "*", "a-b$c"]).into(),
        },
        Key::Shape => Value::Shape(pick(random, &Shapes::NAMES).1),
        Key::User | Key::Schema | Key::Listener | Key::Tool | Key::Attr(_) | Key::Tag(_) | Key::QueryAttr(_) => {
            Value::Text(text(random).into_bytes().into())
        }
    }
}

fn active(random: &mut StdRng) -> Active {
    let from = random.random_range(0..1440);
    let to = loop {
        let to = random.random_range(0..=1440);
        if to != from {
            break to;
        }
    };
    let zone = pick(random, &["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]);
    Active { days: Days(random.random_range(1..=127)), from, to, tz: TimeZone::get(zone).unwrap() }
}
