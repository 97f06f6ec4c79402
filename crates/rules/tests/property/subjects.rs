//! Rules, clients and statements made of so few words that they often meet.

use std::collections::BTreeMap;
use std::sync::Arc;

use identity::{Identity, Name, Pairs};
use rules::{
    Active, Condition, Days, Do, GateName, InTransaction, Key, Limits, Match, Mode, Origin, Rule, Scope, Share,
    Timestamp, UnknownTables, Value,
};
use statement::{Class, Fingerprint, Fingerprints, Shapes, Table};

use super::oracle::{Asked, Touched, network};

/// Where choices come from: a seeded generator, or the bytes of a fuzzer.
pub(crate) trait Dice {
    fn below(&mut self, limit: usize) -> usize;

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

pub(crate) const NOW: Timestamp = Timestamp(1_776_700_000_000);
const MINUTE: i64 = 60_000;

const PARTS: [&str; 6] = ["etl", "job-1", "job-22", "warehouse", "app", "a"];
const SCOPES: [&str; 18] = [
    "etl",
    "app",
    "job-1",
    "warehouse",
    "*",
    "job-*",
    "a*",
    "*:etl:*",
    "*:etl",
    "etl:*",
    "*:*",
    "job-*:*:warehouse",
    "job-1:etl:warehouse",
    "etl:warehouse",
    "*:job-*",
    "*.etl.*",
    "a::b",
    "w*:*:a*",
];
const USERS: [&[u8]; 4] = [b"app", b"etl", b"root", b"hb"];
const LISTENERS: [&str; 3] = ["main", "batch", ""];
const NETWORKS: [&str; 9] = [
    "10.0.0.0/8",
    "10.2.0.0/16",
    "10.2.3.0/24",
    "10.2.3.4/32",
    "0.0.0.0/0",
    "fd00::/8",
    "fd00::1/128",
    "192.168.0.0/16",
    "10.2.3.4/31",
];
const ADDRESSES: [&str; 6] = ["10.2.3.4", "10.2.3.5", "10.9.9.9", "192.168.1.1", "fd00::1", "fe80::1"];
const SCHEMAS: [&[u8]; 3] = [b"shop", b"Shop", b"stats"];
const TABLES: [&str; 4] = ["orders", "heartbeat", "big", "small"];
const KEYS: [&str; 2] = ["team", "tier"];
const TEXTS: [&[u8]; 3] = [b"data", b"gold", b""];
const TOOLS: [&[u8]; 2] = [b"gh-ost", b"mysqldump"];
pub(crate) const GATES: [&str; 3] = ["lag", "threads", "delay"];
const ZONES: [&str; 3] = ["UTC", "Europe/Berlin", "America/New_York"];

/// Of the two digests one is learnt.
pub(crate) fn digests(digest: &str) -> Option<Fingerprint> {
    (digest == "known").then_some(Fingerprint(2))
}

pub(crate) fn rules(dice: &mut impl Dice, most: usize) -> Vec<Rule> {
    let count = dice.below(most + 1);
    (0..count).map(|number| rule(dice, number)).collect()
}

fn rule(dice: &mut impl Dice, number: usize) -> Rule {
    let origin = dice.pick(&[Origin::File, Origin::File, Origin::Runtime, Origin::Runtime, Origin::BuiltIn]);
    let modes = [None, None, Some(Mode::Enforce), Some(Mode::Enforce), Some(Mode::Warn), Some(Mode::Off)];
    let expiries = [None, None, None, Some(0), Some(1), Some(-1), Some(MINUTE)];
    Rule {
        // Not in the order of the rules, so that the order by id is another one.
        id: format!("{:02}-{number}", number * 37 % 100).into(),
        origin,
        matching: matching(dice),
        effect: effect(dice),
        action: None,
        max_delay: None,
        mode: dice.pick(&modes),
        priority: dice.pick(&[0, 0, 0, 0, 0, 5, -5]),
        overrides: dice.one_in(4),
        in_transaction: InTransaction::Pass,
        unknown_tables: UnknownTables::Ignore,
        active: dice.one_in(5).then(|| active(dice)),
        expires: dice.pick(&expiries).map(|after| Timestamp(NOW.0 + after)),
        created: None,
        created_by: None,
        reason: None,
        incident: None,
        playbook: None,
    }
}

fn effect(dice: &mut impl Dice) -> Do {
    let shares = [
        None,
        Some(Share::Exempt),
        Some(Share::Ratio(0.0)),
        Some(Share::Ratio(0.5)),
        Some(Share::Ratio(0.5)),
        Some(Share::Ratio(0.9)),
        Some(Share::Ratio(1.0)),
        Some(Share::Hold),
    ];
    let limits = [None, None, Some(0), Some(4), Some(9)];
    Do {
        share: dice.pick(&shares),
        limits: Limits { max_concurrency: dice.pick(&limits), max_connections: dice.pick(&limits) },
        thresholds: thresholds(dice),
        skip_gates: dice.one_in(4).then(|| GATES.into_iter().filter(|_| dice.one_in(2)).map(Into::into).collect()),
        weight: dice.pick(&[None, None, None, Some(0.5), Some(1.0), Some(1.0), Some(3.0)]),
    }
}

fn thresholds(dice: &mut impl Dice) -> BTreeMap<GateName, f64> {
    let mut thresholds = BTreeMap::new();
    for gate in GATES {
        if dice.one_in(5) {
            thresholds.insert(gate.into(), dice.pick(&[1.0, 5.0, 5.0, 20.0]));
        }
    }
    thresholds
}

pub(crate) fn active(dice: &mut impl Dice) -> Active {
    let times = [0, 1, 125, 480, 600, 962, 1020, 1439];
    let until = [0, 1, 125, 480, 600, 962, 1020, 1440];
    Active {
        days: Days(u8::try_from(dice.below(128)).unwrap()),
        from: dice.pick(&times),
        to: dice.pick(&until),
        tz: jiff::tz::TimeZone::get(dice.pick(&ZONES)).unwrap(),
    }
}

fn matching(dice: &mut impl Dice) -> Match {
    let conditions = dice.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
    let not = dice.pick(&[0, 0, 0, 1, 2]);
    Match { conditions: conditions_of(dice, conditions), not: conditions_of(dice, not) }
}

fn conditions_of(dice: &mut impl Dice, count: usize) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::new();
    for _ in 0..count {
        let key = key(dice);
        if conditions.iter().all(|known| known.key != key) {
            let values = (0..1 + dice.below(5) / 3).map(|_| value(dice, &key)).collect();
            conditions.push(Condition { key, values });
        }
    }
    conditions
}

fn key(dice: &mut impl Dice) -> Key {
    match dice.below(16) {
        0..3 => Key::Scope,
        3 => Key::User,
        4 => Key::Address,
        5 => Key::Schema,
        6 => Key::Listener,
        7 | 8 => Key::Class,
        9 => Key::Fingerprint,
        10 | 11 => Key::Table,
        12 => Key::Shape,
        13 => Key::Tool,
        14 => Key::Tag(dice.pick(&KEYS).to_owned()),
        _ if dice.one_in(2) => Key::Attr(dice.pick(&KEYS).to_owned()),
        _ => Key::QueryAttr(dice.pick(&KEYS).to_owned()),
    }
}

fn value(dice: &mut impl Dice, key: &Key) -> Value {
    let text = |text: &[u8]| Value::Text(text.into());
    match key {
        Key::Scope => Value::Scope(Scope { text: dice.pick(&SCOPES).into() }),
        Key::User => text(dice.pick(&USERS)),
        Key::Address => Value::Network(network(dice.pick(&NETWORKS))),
        Key::Schema => text(dice.pick(&SCHEMAS)),
        Key::Listener => text(dice.pick(&LISTENERS).as_bytes()),
        Key::Class if dice.one_in(4) => Value::ExactClass(dice.pick(&Class::ALL)),
        Key::Class => Value::Class(dice.pick(&Class::ALL)),
        Key::Fingerprint if dice.one_in(3) => Value::Digest(dice.pick(&["known", "unknown"]).into()),
        Key::Fingerprint => Value::Fingerprint(Fingerprint(dice.below(3) as u128)),
        Key::Table => {
            let table = table(dice);
            Value::Table { schema: table.schema, name: table.name }
        }
        Key::Shape => Value::Shape(dice.pick(&Shapes::NAMES).1),
        Key::Tool => text(dice.pick(&TOOLS)),
        Key::Attr(_) | Key::Tag(_) | Key::QueryAttr(_) => text(dice.pick(&TEXTS)),
    }
}

fn table(dice: &mut impl Dice) -> Table {
    let schema = dice.pick(&[None, None, Some("shop"), Some("stats")]).map(Into::into);
    Table { schema, name: dice.pick(&TABLES).into() }
}

/// Sometimes also all tables of a schema, as of one that is dropped.
fn with_whole_schema(mut tables: Vec<Table>, dice: &mut impl Dice) -> Vec<Table> {
    if dice.one_in(2) {
        tables.push(Table { schema: Some(dice.pick(&["shop", "stats"]).into()), name: Table::ANY.into() });
    }
    tables
}

pub(crate) fn asked(dice: &mut impl Dice) -> Asked {
    let count = dice.below(4);
    let mut tables: Vec<Table> = (0..count).map(|_| table(dice)).collect();
    tables.sort();
    tables.dedup();
    let is_doubtful = dice.one_in(3);
    let shapes = Shapes::from_bits_truncate(u8::try_from(dice.below(8)).unwrap());
    let count = if is_doubtful { dice.below(4) } else { 1 };
    let fingerprints: Vec<Fingerprint> = (0..count.max(1)).map(|_| Fingerprint(dice.below(3) as u128)).collect();
    let is_complete = !(is_doubtful && dice.one_in(3));
    let given = match (&*fingerprints, is_complete) {
        (_, false) => Fingerprints::unknown(),
        ([one], true) => Fingerprints::one(*one),
        (several, true) => Fingerprints::of_statements(several.into()),
    };
    let schema_is_unknown = is_doubtful && dice.one_in(3);
    Asked {
        schema: (!schema_is_unknown && !dice.one_in(3)).then(|| dice.pick(&SCHEMAS).to_vec()),
        is_login: false,
        is_doubtful,
        schema_is_unknown,
        classes: (0..count.max(1)).map(|_| dice.pick(&Class::ALL).as_str()).collect(),
        certain_shapes: if is_doubtful {
            shapes & Shapes::from_bits_truncate(u8::try_from(dice.below(8)).unwrap())
        } else {
            shapes
        },
        shapes,
        fingerprints: if is_complete { fingerprints } else { Vec::new() },
        fingerprints_are_complete: is_complete,
        given,
        tables: match dice.below(8) {
            0 => Touched::Unknown,
            1 => Touched::Among(with_whole_schema(tables, dice)),
            _ => Touched::Known(tables),
        },
    }
}

/// What a client is known by, and the same with what it claims.
pub(crate) fn identities(dice: &mut impl Dice) -> (Identity, Identity) {
    let user: &[u8] = dice.pick(&USERS);
    let own = String::from_utf8_lossy(user).into_owned();
    let trusted = Identity {
        name: Name::new(&own),
        user: user.into(),
        address: (!dice.one_in(4)).then(|| dice.pick(&ADDRESSES).parse().unwrap()),
        listener: Arc::from(dice.pick(&LISTENERS)),
        ..Identity::default()
    };
    let claimed = (0..dice.below(4)).map(|_| dice.pick(&PARTS)).collect::<Vec<_>>().join(":");
    let all = Identity {
        name: Name::new(&format!("{claimed}:{own}")),
        attrs: pairs(dice),
        tags: pairs(dice),
        query_attrs: pairs(dice),
        tool: dice.one_in(3).then(|| dice.pick(&TOOLS).into()),
        ..trusted.clone()
    };
    (trusted, all)
}

fn pairs(dice: &mut impl Dice) -> Pairs {
    let count = dice.below(3);
    let pairs: Vec<(&[u8], &[u8])> = (0..count).map(|_| (dice.pick(&KEYS).as_bytes(), dice.pick(&TEXTS))).collect();
    Pairs::new(pairs).0
}
