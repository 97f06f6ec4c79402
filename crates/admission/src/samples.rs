//! For tests: rules in a line each.

use std::time::Duration;

use health::{BuiltIn, Control, OnStale};
use rules::{
    Action, CompiledRule, Condition, Do, InTransaction, Key, Match, Matcher, Mode, Origin, Rule, RuleSet, Scope, Share,
    Timestamp, UnknownTables, Value,
};
use statement::{Class, Fingerprint, Shapes};

use crate::policy::Gate;
use crate::unit::BRIEF;

/// When tests begin, by the wall clock.
pub(crate) const BEGINNING: Timestamp = Timestamp(1_776_700_000_000);

/// `id | user=a,b tag.team=data !class=ddl | ratio=0.5 reject delay=2000 warn runtime expires=60000`. Times are in
/// milliseconds.
pub(crate) fn rule(line: &str) -> Rule {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    let [id, matching, words] = columns[..] else { panic!("{line}") };
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
        let number = || value.parse().unwrap_or_else(|_| panic!("{line}"));
        match word {
            "exempt" => rule.effect.share = Some(Share::Exempt),
            "hold" => rule.effect.share = Some(Share::Hold),
            "ratio" => rule.effect.share = Some(Share::Ratio(value.parse().unwrap())),
            "concurrency" => rule.effect.limits.max_concurrency = Some(number()),
            "connections" => rule.effect.limits.max_connections = Some(number()),
            "weight" => rule.effect.weight = Some(value.parse().unwrap()),
            "threshold" => {
                let (gate, threshold) = value.split_once(':').unwrap();
                rule.effect.thresholds = [(gate.into(), threshold.parse().unwrap())].into();
            }
            "skip" => rule.effect.skip_gates = Some([value.into()].into()),
            "reject" => rule.action = Some(Action::Reject),
            "delay" => rule.max_delay = Some(Duration::from_millis(u64::from(number()))),
            "runtime" => rule.origin = Origin::Runtime,
            "override" => rule.overrides = true,
            "expires" => rule.expires = Some(BEGINNING.plus(Duration::from_millis(u64::from(number())))),
            "in_transaction" => rule.in_transaction = InTransaction::named(value).unwrap(),
            "active" => rule.active = Some(active(value)),
            "unknown" => rule.unknown_tables = UnknownTables::named(value).unwrap(),
            mode => rule.mode = Some(Mode::named(mode).unwrap_or_else(|| panic!("{word} in {line}"))),
        }
    }
    rule
}

/// Minutes of the day in UTC: `600-660`.
fn active(text: &str) -> rules::Active {
    let (from, to) = text.split_once('-').unwrap();
    rules::Active {
        days: rules::Days::ALL,
        from: from.parse().unwrap(),
        to: to.parse().unwrap(),
        tz: jiff::tz::TimeZone::UTC,
    }
}

pub(crate) fn set(lines: &[&str]) -> RuleSet {
    RuleSet::new(lines.iter().map(|line| rule(line)).collect(), &|_| None)
}

/// `name metric 5 | user=etl | binary warn reject delay=2000 trickle=0 stale=closed logins`: a gate with the defaults that
/// the configuration gives, but refusals and trickles only where they are asked for.
pub(crate) fn gate(line: &str) -> Gate {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    let [what, matching, words] = columns[..] else { panic!("{line}") };
    let what: Vec<&str> = what.split_whitespace().collect();
    let [name, metric, threshold] = what[..] else { panic!("{line}") };
    let metric = BuiltIn::named(metric).unwrap_or_else(|| panic!("{line}"));
    let everything = vec![Class::Read, Class::Write, Class::Call, Class::Unparsed, Class::Ddl];
    let mut gate = Gate {
        settings: health::Settings { name: name.into(), ..health::Settings::new(metric, threshold.parse().unwrap()) },
        mode: Mode::Enforce,
        classes: match metric {
            BuiltIn::ReplicationLag | BuiltIn::CommitDelay => everything[1..].to_vec(),
            BuiltIn::ConnectionsUsed => Vec::new(),
            _ => everything,
        },
        logins: metric == BuiltIn::ConnectionsUsed,
        matching: (!matching.is_empty()).then(|| Matcher::new(&matching_of(matching), &|_| None)),
        reads: matching_of(matching).conditions.into_iter().map(|condition| condition.key).collect(),
        action: Action::Delay,
        max_delay: Duration::from_secs(3),
        max_delay_after_reads: BRIEF,
    };
    gate.settings.trickle = 0.0;
    for word in words.split_whitespace() {
        let (word, value) = word.split_once('=').unwrap_or((word, ""));
        match word {
            "trickle" => gate.settings.trickle = value.parse().unwrap(),
            "stale" => gate.settings.on_stale = OnStale::named(value).unwrap(),
            "reject" => gate.action = Action::Reject,
            "delay" => gate.max_delay = Duration::from_millis(value.parse().unwrap()),
            "after_reads" => gate.max_delay_after_reads = Duration::from_millis(value.parse().unwrap()),
            "warn" => gate.mode = Mode::Warn,
            "off" => gate.mode = Mode::Off,
            "logins" => (gate.logins, gate.classes) = (true, Vec::new()),
            control => gate.settings.control = Control::named(control).unwrap_or_else(|| panic!("{line}")),
        }
    }
    gate
}

/// The only rule of a set.
pub(crate) fn with_only<T>(line: &str, use_it: impl FnOnce(&CompiledRule) -> T) -> T {
    use_it(&set(&[line]).rules()[0])
}

fn matching_of(text: &str) -> Match {
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
        Key::Address => Value::Network(text.parse().unwrap()),
        // `class==write` is the narrow form.
        Key::Class => match text.strip_prefix('=') {
            Some(text) => Value::ExactClass(text.parse().unwrap()),
            None => Value::Class(text.parse().unwrap()),
        },
        Key::Shape => Value::Shape(Shapes::named(text).unwrap()),
        Key::Table => match text.split_once('.') {
            Some((schema, name)) => Value::Table { schema: Some(schema.into()), name: name.into() },
            None => Value::Table { schema: None, name: text.into() },
        },
        Key::Fingerprint => Value::Fingerprint(Fingerprint(u128::from_str_radix(text, 16).unwrap())),
        Key::User | Key::Schema | Key::Listener | Key::Tool | Key::Attr(_) | Key::Tag(_) | Key::QueryAttr(_) => {
            Value::Text(text.as_bytes().into())
        }
    }
}
