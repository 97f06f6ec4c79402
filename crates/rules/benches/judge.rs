//! What a decision costs with 10, 1,000 and 100,000 rules: it must be the same. `cargo bench -p rules`
//!
//! `judge` has the candidates of the session; `candidates` is what a query with tags of its own pays first. Under valgrind,
//! `judge 100000 2000` (rules, times) judges and prints nothing: what two such runs differ by is what a judgement costs, in
//! instructions and in allocations, of which there must be none.

use std::hint::black_box;
use std::time::{Duration, Instant};

use identity::{Identity, Name, Pairs};
use rules::{
    Candidates, Condition, Do, InTransaction, Key, Match, Mode, Origin, Query, QueryShapes, Rule, RuleSet, Schema,
    Scope, Share, Tables, Timestamp, UnknownTables, Value,
};
use statement::{Class, Classes, Fingerprint, Fingerprints, Shapes, Table};

const NOW: Timestamp = Timestamp(1_776_700_000_000);
const SIZES: [usize; 3] = [10, 1_000, 100_000];

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if let [size, times] = numbers[..] {
        return only_judge(size, times);
    }
    println!("{:<34}{:>12}{:>12}{:>12}", "ns", "10 rules", "1,000", "100,000");
    let sets = SIZES.map(|size| RuleSet::new((0..size).map(mixed).collect(), &|_| None));
    let nobody = client("nobody", "198.51.100.7");
    let one = client("user-9", "198.51.100.7");
    row("judge, none matches", &sets, |set| judging(set, &nobody, &Asked::read(0)));
    row("judge, one matches by user", &sets, |set| judging(set, &one, &Asked::read(0)));
    row("judge, one by fingerprint", &sets, |set| judging(set, &nobody, &Asked::read(1_000_004)));
    row("judge twice, one matches", &sets, |set| {
        let (asked, trusted, all) = (Asked::read(0), set.candidates(&one), set.candidates(&nobody));
        let judge = |candidates, identity| set.judge(candidates, identity, &asked, NOW, Mode::Enforce);
        time(|| judge(black_box(&trusted), &one).stricter(judge(black_box(&all), &nobody)).matched)
    });
    row("candidates, none", &sets, |set| finding(set, &nobody));
    row("candidates, one by user", &sets, |set| finding(set, &one));
    let tables = SIZES.map(|size| RuleSet::new((0..size).map(on_table).collect(), &|_| None));
    row("judge tables, none matches", &tables, |set| judging(set, &nobody, &Asked::touching("elsewhere")));
    row("judge tables, one matches", &tables, |set| judging(set, &nobody, &Asked::touching("table-5")));
    let hours = SIZES.map(|size| RuleSet::new((0..size).map(in_hours).collect(), &|_| None));
    row("judge, one matches in its hours", &hours, |set| judging(set, &one, &Asked::read(0)));
    println!("\nEvery rule concerns everybody (`scope: \"*\"` alone): nothing can find these, so each costs.");
    let everybody = [1, 10, 100].map(|size| RuleSet::new((0..size).map(everybody).collect(), &|_| None));
    row("judge, 1, 10 and 100 of them", &everybody, |set| judging(set, &nobody, &Asked::read(0)));
    for size in SIZES {
        let rules: Vec<Rule> = (0..size).map(mixed).collect();
        let start = Instant::now();
        black_box(RuleSet::new(rules, &|_| None));
        println!("compiling {size} rules: {:?}", start.elapsed());
    }
}

fn only_judge(size: usize, times: usize) {
    let set = RuleSet::new((0..size).map(mixed).collect(), &|_| None);
    let tables = RuleSet::new((0..size).map(on_table).collect(), &|_| None);
    for (set, user, asked) in [
        (&set, "nobody", Asked::read(0)),
        (&set, "user-9", Asked::read(0)),
        (&set, "nobody", Asked::read(1_000_004)),
        (&tables, "nobody", Asked::touching("table-5")),
    ] {
        let client = client(user, "198.51.100.7");
        let candidates = set.candidates(&client);
        for _ in 0..times {
            black_box(set.judge(black_box(&candidates), &client, &asked, NOW, Mode::Enforce));
        }
    }
}

fn row(what: &str, sets: &[RuleSet; 3], measure: impl Fn(&RuleSet) -> f64) {
    let [few, some, many] = sets.each_ref().map(measure);
    println!("{what:<34}{few:>12.1}{some:>12.1}{many:>12.1}");
}

fn judging(set: &RuleSet, identity: &Identity, asked: &Asked) -> f64 {
    let candidates = set.candidates(identity);
    time(|| set.judge(black_box(&candidates), identity, black_box(asked), NOW, Mode::Enforce).matched)
}

fn finding(set: &RuleSet, identity: &Identity) -> f64 {
    let mut candidates = Candidates::default();
    time(|| {
        set.candidates_into(black_box(identity), &mut candidates);
        candidates.is_empty()
    })
}

/// The best of several short runs, in nanoseconds: other processes only ever make one longer.
fn time(mut once: impl FnMut() -> bool) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..10_000 {
            black_box(once());
        }
        best = best.min(start.elapsed());
    }
    best.as_secs_f64() * 1e9 / 10_000.0
}

/// One of each kind in turn, each with values of its own.
fn mixed(number: usize) -> Rule {
    let text = |text: String| Value::Text(text.into_bytes().into());
    let scope = |text: String| Value::Scope(Scope { text: text.into() });
    let class = (Key::Class, Value::Class(Class::Read));
    let conditions = match number % 10 {
        0 => vec![(Key::Scope, scope(format!("job-{number}")))],
        1 => vec![(Key::User, text(format!("app-{number}"))), (Key::Class, Value::Class(Class::Write))],
        2 => vec![(Key::Tag("tenant".to_owned()), text(format!("tenant-{number}"))), class],
        3 => {
            let [_, one, two, three] = u32::try_from(number).unwrap_or_default().to_be_bytes();
            vec![(Key::Address, Value::Network(format!("{one}.{two}.{three}.0/24").parse().unwrap()))]
        }
        4 => vec![(Key::Fingerprint, Value::Fingerprint(Fingerprint(number as u128 + 1_000_000))), class],
        5 => vec![(Key::Scope, scope(format!("service-{number:06}-*"))), class],
        6 => vec![(Key::Attr("program_name".to_owned()), text(format!("program-{number}")))],
        7 => vec![(Key::Scope, scope(format!("*:team-{number}:*"))), class],
        8 => vec![(Key::Scope, scope("*".to_owned())), (Key::Schema, text(format!("schema-{number}")))],
        _ => vec![(Key::User, text(format!("user-{number}"))), class],
    };
    rule(number, conditions)
}

fn on_table(number: usize) -> Rule {
    rule(number, vec![(Key::Table, Value::Table { schema: None, name: format!("table-{number}").into() })])
}

fn in_hours(number: usize) -> Rule {
    let tz = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let active = rules::Active { days: rules::Days::ALL, from: 0, to: 1439, tz };
    Rule { active: Some(active), ..mixed(number) }
}

fn everybody(number: usize) -> Rule {
    rule(number, vec![(Key::Scope, Value::Scope(Scope { text: "*".into() }))])
}

fn rule(number: usize, conditions: Vec<(Key, Value)>) -> Rule {
    let conditions = conditions.into_iter().map(|(key, value)| Condition { key, values: vec![value] }).collect();
    Rule {
        id: format!("rule-{number}").into(),
        origin: Origin::File,
        matching: Match { conditions, not: Vec::new() },
        effect: Do { share: Some(Share::Ratio(0.5)), ..Do::default() },
        action: None,
        max_delay: None,
        mode: None,
        priority: 0,
        overrides: false,
        in_transaction: InTransaction::Pass,
        unknown_tables: UnknownTables::Ignore,
        active: None,
        expires: Some(Timestamp(NOW.0 + 3_600_000)),
        created: None,
        created_by: None,
        reason: None,
        incident: None,
        playbook: None,
    }
}

/// A client as they are: a name of three parts, the attributes of a driver.
fn client(user: &str, address: &str) -> Identity {
    let attrs: [(&[u8], &[u8]); 5] = [
        (b"_client_name", b"libmysql"),
        (b"_os", b"Linux"),
        (b"_pid", b"4242"),
        (b"_platform", b"x86_64"),
        (b"program_name", b"loader"),
    ];
    Identity {
        name: Name::new(&format!("job-x:loader:{user}")),
        user: user.as_bytes().into(),
        address: address.parse().ok(),
        listener: "127.0.0.1:6033".into(),
        attrs: Pairs::new(attrs).0,
        ..Identity::default()
    }
}

struct Asked {
    fingerprint: Fingerprints,
    tables: Vec<Table>,
}

impl Asked {
    fn read(fingerprint: u128) -> Asked {
        Asked { fingerprint: Fingerprints::one(Fingerprint(fingerprint)), tables: Vec::new() }
    }

    fn touching(table: &str) -> Asked {
        Asked {
            fingerprint: Fingerprints::one(Fingerprint(0)),
            tables: vec![Table { schema: None, name: table.into() }],
        }
    }
}

impl Query for Asked {
    fn schema(&self) -> Schema<'_> {
        Schema::Known(b"shop")
    }

    fn classes(&self) -> Classes {
        Classes::of(Class::Read)
    }

    fn shapes(&self) -> QueryShapes {
        QueryShapes { certain: Shapes::NO_LIMIT, possible: Shapes::NO_LIMIT }
    }

    fn fingerprints(&self) -> &Fingerprints {
        &self.fingerprint
    }

    fn tables(&self) -> Tables<'_> {
        Tables::Known(&self.tables)
    }
}
