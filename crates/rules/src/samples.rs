//! For tests: rules, clients and statements in a line each.

use std::cell::Cell;

use identity::{Identity, Name, Pairs};
use statement::{Class, Classes, Fingerprint, Fingerprints, Shapes, Table};

use crate::{
    Condition, Do, InTransaction, Key, Match, Mode, Origin, Query, QueryShapes, Rule, RuleSet, Schema, Scope, Share,
    Tables, Timestamp, UnknownTables, Value,
};

pub(crate) const NOW: Timestamp = Timestamp(1_000_000);

/// `id | user=a,b !address=10.0.0.0/8 | ratio=0.5 concurrency=4 runtime override`
pub(crate) fn rule(line: &str) -> Rule {
    let mut columns = line.split('|').map(str::trim);
    let (id, matching, words) = (columns.next().unwrap(), columns.next().unwrap(), columns.next().unwrap());
    let mut rule = Rule {
        id: id.into(),
        origin: Origin::File,
        matching: matching_of(matching),
        effect: Do::default(),
        action: None,
        max_delay: None,
        mode: None,
        priority: 0,
        overrides: false,
        in_transaction: InTransaction::Pass,
        unknown_tables: UnknownTables::Ignore,
        active: None,
        expires: None,
        created: None,
        created_by: None,
        reason: None,
        incident: None,
        playbook: None,
    };
    for word in words.split_whitespace() {
        let (word, value) = word.split_once('=').unwrap_or((word, ""));
        match word {
            "exempt" => rule.effect.share = Some(Share::Exempt),
            "hold" => rule.effect.share = Some(Share::Hold),
            "ratio" => rule.effect.share = Some(Share::Ratio(value.parse().unwrap())),
            "concurrency" => rule.effect.limits.max_concurrency = Some(value.parse().unwrap()),
            "threshold" => {
                let (gate, value) = value.split_once(':').unwrap();
                rule.effect.thresholds.insert(gate.into(), value.parse().unwrap());
            }
            "skip" => {
                let gates = value.split(',').filter(|gate| !gate.is_empty());
                rule.effect.skip_gates = Some(gates.map(Into::into).collect());
            }
            "weight" => rule.effect.weight = Some(value.parse().unwrap()),
            "connections" => rule.effect.limits.max_connections = Some(value.parse().unwrap()),
            "runtime" => rule.origin = Origin::Runtime,
            "built-in" => rule.origin = Origin::BuiltIn,
            "override" => rule.overrides = true,
            "unknown" => rule.unknown_tables = UnknownTables::named(value).unwrap(),
            "priority" => rule.priority = value.parse().unwrap(),
            "expires" => rule.expires = Some(Timestamp(NOW.0 + value.parse::<i64>().unwrap())),
            "incident" => rule.incident = Some(value.to_owned()),
            "playbook" => rule.playbook = Some(value.to_owned()),
            mode => rule.mode = Some(Mode::named(mode).unwrap_or_else(|| panic!("{word} in {line}"))),
        }
    }
    rule
}

pub(crate) fn set(lines: &[&str]) -> RuleSet {
    RuleSet::new(lines.iter().map(|line| rule(line)).collect(), &|digest| {
        (digest == "learnt").then_some(Fingerprint(1))
    })
}

pub(crate) fn matching_of(text: &str) -> Match {
    let mut matching = Match::default();
    for word in text.split_whitespace() {
        match word.strip_prefix('!') {
            Some(word) => matching.not.push(condition(word)),
            None => matching.conditions.push(condition(word)),
        }
    }
    matching
}

fn condition(word: &str) -> Condition {
    let (key, values) = word.split_once('=').unwrap();
    let key = Key::named(key).unwrap_or_else(|| panic!("{word}"));
    let values = values.split(',').map(|text| value(&key, text)).collect();
    Condition { key, values }
}

fn value(key: &Key, text: &str) -> Value {
    match key {
        Key::Scope => Value::Scope(Scope { text: text.into() }),
        Key::Address => {
            Value::Network(text.parse().unwrap_or_else(|_| text.parse::<std::net::IpAddr>().unwrap().into()))
        }
        // `class==write` is the narrow form.
        Key::Class => match text.strip_prefix('=') {
            Some(text) => Value::ExactClass(text.parse().unwrap()),
            None => Value::Class(text.parse().unwrap()),
        },
        Key::Shape => Value::Shape(Shapes::named(text).unwrap()),
        Key::Table => {
            let table = table(text);
            Value::Table { schema: table.schema, name: table.name }
        }
        Key::Fingerprint => {
            text.parse().map_or_else(|_| Value::Digest(text.into()), |it| Value::Fingerprint(Fingerprint(it)))
        }
        Key::User | Key::Schema | Key::Listener | Key::Tool | Key::Attr(_) | Key::Tag(_) | Key::QueryAttr(_) => {
            Value::Text(text.as_bytes().into())
        }
    }
}

fn table(text: &str) -> Table {
    match text.split_once('.') {
        Some((schema, name)) => Table { schema: Some(schema.into()), name: name.into() },
        None => Table { schema: None, name: text.into() },
    }
}

/// `name=job-1:etl user=a address=10.0.0.1 listener=main tool=gh-ost tag.team=data`
pub(crate) fn client(text: &str) -> Identity {
    let mut client = Identity { name: Name::new(""), ..Identity::default() };
    let (mut attrs, mut tags, mut query_attrs) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in text.split_whitespace().map(|word| word.split_once('=').unwrap()) {
        let pair = |name: String| (name, value.to_owned());
        match Key::named(key) {
            Some(Key::User) => client.user = value.as_bytes().into(),
            Some(Key::Address) => client.address = Some(value.parse().unwrap()),
            Some(Key::Listener) => client.listener = value.into(),
            Some(Key::Tool) => client.tool = Some(value.as_bytes().into()),
            Some(Key::Attr(name)) => attrs.push(pair(name)),
            Some(Key::Tag(name)) => tags.push(pair(name)),
            Some(Key::QueryAttr(name)) => query_attrs.push(pair(name)),
            _ if key == "name" => client.name = Name::new(value),
            _ => panic!("{key}"),
        }
    }
    let pairs =
        |pairs: &[(String, String)]| Pairs::new(pairs.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes()))).0;
    (client.attrs, client.tags, client.query_attrs) = (pairs(&attrs), pairs(&tags), pairs(&query_attrs));
    client
}

/// A statement that counts how often its dear facts were asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    schema: Option<Vec<u8>>,
    schema_is_unknown: bool,
    classes: Classes,
    certain_shapes: Shapes,
    shapes: Shapes,
    fingerprint: Fingerprints,
    tables: Touched,
    tables_in_doubt: bool,
    exemption_matters: bool,
    pub(crate) fingerprints: Cell<u32>,
    pub(crate) parses: Cell<u32>,
}

#[derive(Debug)]
enum Touched {
    Known(Vec<Table>),
    Among(Vec<Table>),
    Unknown,
}

/// `class=write schema=shop shape=no_where fingerprint=1 table=a,b.c`; a read without any of these if they are not said. Several
/// classes or fingerprints are those of several statements; `maybe_shape` is a shape of only some of them.
/// `table=?` is unknown, `table=?,a,b` is among a and b. `doubt`: there may be others. `free`: nothing but a rule could hold it.
pub(crate) fn asked(text: &str) -> Asked {
    let mut asked = Asked {
        schema: None,
        schema_is_unknown: false,
        classes: Classes::of(Class::Read),
        certain_shapes: Shapes::empty(),
        shapes: Shapes::empty(),
        fingerprint: Fingerprints::one(Fingerprint(0)),
        tables: Touched::Known(Vec::new()),
        tables_in_doubt: false,
        exemption_matters: true,
        fingerprints: Cell::new(0),
        parses: Cell::new(0),
    };
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "schema" if value == "?" => asked.schema_is_unknown = true,
            "schema" => asked.schema = Some(value.as_bytes().to_vec()),
            "class" => asked.classes = value.split(',').map(|class| class.parse::<Class>().unwrap()).collect(),
            "shape" => {
                asked.shapes = value.split(',').map(|shape| Shapes::named(shape).unwrap()).collect();
                asked.certain_shapes = asked.shapes;
            }
            "maybe_shape" => asked.shapes = value.split(',').map(|shape| Shapes::named(shape).unwrap()).collect(),
            "fingerprint" => asked.fingerprint = fingerprints(value),
            "table" => asked.tables = touched(value),
            "doubt" => asked.tables_in_doubt = true,
            "free" => asked.exemption_matters = false,
            _ => panic!("{word}"),
        }
    }
    asked
}

/// `1`, `?` for one that is not known, `1,2` for two statements.
fn fingerprints(text: &str) -> Fingerprints {
    let one = |text: &str| Fingerprint(text.parse().unwrap());
    match text {
        "?" => Fingerprints::unknown(),
        _ if text.contains(',') => Fingerprints::of_statements(text.split(',').map(one).collect()),
        _ => Fingerprints::one(one(text)),
    }
}

fn touched(text: &str) -> Touched {
    let tables = |text: &str| text.split(',').map(table).collect();
    match text.strip_prefix('?') {
        Some("") => Touched::Unknown,
        Some(among) => Touched::Among(tables(among.trim_start_matches(','))),
        None => Touched::Known(tables(text)),
    }
}

impl Query for Asked {
    fn schema(&self) -> Schema<'_> {
        if self.schema_is_unknown { Schema::Unknown } else { Schema::known(self.schema.as_deref()) }
    }

    fn classes(&self) -> Classes {
        self.classes
    }

    fn shapes(&self) -> QueryShapes {
        QueryShapes { certain: self.certain_shapes, possible: self.shapes }
    }

    fn fingerprints(&self) -> &Fingerprints {
        self.fingerprints.set(self.fingerprints.get() + 1);
        &self.fingerprint
    }

    fn tables(&self) -> Tables<'_> {
        self.parses.set(self.parses.get() + 1);
        match &self.tables {
            Touched::Known(tables) => Tables::Known(tables),
            Touched::Among(tables) => Tables::Among(tables),
            Touched::Unknown => Tables::Unknown,
        }
    }

    fn tables_in_doubt(&self) -> bool {
        self.tables_in_doubt
    }

    fn exemption_matters(&self) -> bool {
        self.exemption_matters
    }
}
