//! What the gate adds to a query that passes, from its bytes to its verdict and its end. `cargo bench -p admission`
//!
//! It must be the same with 10, 1,000 and 100,000 rules. Under valgrind, `decide 100000 2000 2` (rules, times, which row)
//! asks so often and prints nothing: what two such runs differ by is what a query costs, in instructions and in
//! allocations, of which there must be none.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admission::gates::Moment;
use admission::policy::{self, Defaults, Policy, Queue};
use admission::port::{Admission, Ask, Client, Gate, Outcome, SessionState, Verdict};
use admission::{Gatekeeper, Note};
use health::{Board, BuiltIn, Reading, Report};
use identity::Settings;
use rules::{Condition, Do, InTransaction, Key, Match, Matcher, Origin, Rule, RuleSet, Share, Timestamp, Value};
use statement::{Charset, Class, Mode};
use wire::Command;

const SIZES: [usize; 3] = [10, 1_000, 100_000];
const OUTSIDE: SessionState = SessionState { in_transaction: false, autocommit: true, holds_locks: false };
const SELECT: &str = "SELECT id, name, price FROM products WHERE id = 4711";

/// What is measured: how it is asked, and by whom.
struct Row {
    what: &'static str,
    sql: &'static str,
    way: Way,
    user: &'static str,
    /// `None`: none at all.
    rules: Option<Rules>,
    gates: Gates,
}

/// Gates that are open and concern everything that is asked.
#[derive(Clone, Copy, PartialEq)]
enum Gates {
    None,
    Eight,
    /// Two of them are on some clients only.
    EightWithMatches,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Text,
    Prepared,
}

#[derive(Clone, Copy, PartialEq)]
enum Rules {
    /// On other users.
    Others,
    /// And one with a ratio of 0 on this one.
    OneMatches,
    /// And one on a tag, so that comments matter.
    OnTag,
}

const ROWS: [Row; 11] = [
    row("text, no rules", SELECT, Way::Text, None),
    row("text, none matches", SELECT, Way::Text, Some(Rules::Others)),
    row("text, one matches, ratio 0", SELECT, Way::Text, Some(Rules::OneMatches)),
    row("prepared, no rules", SELECT, Way::Prepared, None),
    row("prepared, none matches", SELECT, Way::Prepared, Some(Rules::Others)),
    row("prepared, one matches, ratio 0", SELECT, Way::Prepared, Some(Rules::OneMatches)),
    row("free, none matches", "SELECT 1", Way::Text, Some(Rules::Others)),
    row(
        "tagged text, one on tags",
        "SELECT id FROM products WHERE id = 4711 /*app='shop',team='web'*/",
        Way::Text,
        Some(Rules::OnTag),
    ),
    gated("text, eight gates open", Way::Text, Gates::Eight),
    gated("prepared, eight gates open", Way::Prepared, Gates::Eight),
    gated("prepared, two of them with a match", Way::Prepared, Gates::EightWithMatches),
];

const fn row(what: &'static str, sql: &'static str, way: Way, rules: Option<Rules>) -> Row {
    Row { what, sql, way, user: "app", rules, gates: Gates::None }
}

const fn gated(what: &'static str, way: Way, gates: Gates) -> Row {
    Row { what, sql: SELECT, way, user: "app", rules: Some(Rules::Others), gates }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if let [size, times, at] = numbers[..] {
        let mut session = Session::new(&ROWS[at], size);
        (0..times).for_each(|_| session.ask());
        return;
    }
    println!("{:<34}{:>12}{:>12}{:>12}", "ns for ask and settled", "10 rules", "1,000", "100,000");
    for row in &ROWS {
        let cells = SIZES.map(|size| Session::new(row, size).time());
        println!("{:<34}{:>12.1}{:>12.1}{:>12.1}", row.what, cells[0], cells[1], cells[2]);
    }
}

struct Session {
    gate: Box<dyn Gate>,
    row: &'static Row,
    note: Option<Arc<Note>>,
    payload: Vec<u8>,
}

impl Session {
    fn new(row: &'static Row, size: usize) -> Session {
        let rules = match row.rules {
            None => Vec::new(),
            Some(kind) => (0..size - 1).map(of_others).chain([special(kind)]).collect(),
        };
        let set = RuleSet::new(rules, &|_| None);
        let policy = Policy::new(1, Settings::default(), Defaults::default(), Queue::default(), set)
            .with_gates(gates(row.gates));
        let wall = Box::new(|| {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Timestamp(since.as_millis() as i64)
        });
        let keeper = Gatekeeper::new(policy, wall, 1);
        open(&keeper);
        let mut gate = keeper.enter(&client(row.user)).unwrap();
        let note = (row.way == Way::Prepared).then(|| gate.note(row.sql.as_bytes(), Mode::default()));
        Session { gate, row, note, payload: [b"\x03", row.sql.as_bytes()].concat() }
    }

    fn ask(&mut self) {
        let text = self.note.is_none();
        let ask = Ask {
            client: client(self.row.user),
            command: if text { Command::Query } else { Command::StmtExecute },
            payload: black_box(&self.payload),
            sql: if text { self.payload.get(1..) } else { None },
            mode: Mode::default(),
            note: self.note.as_ref(),
            attributes: None,
            session: OUTSIDE,
        };
        let verdict = self.gate.ask(black_box(&ask));
        assert!(matches!(black_box(verdict), Verdict::Pass(_)));
        self.gate.settled(Outcome { succeeded: true, rows: 0, session: OUTSIDE });
    }

    /// The best of several short runs, in nanoseconds: other processes only ever make one longer.
    fn time(&mut self) -> f64 {
        let mut best = Duration::MAX;
        for _ in 0..30 {
            let start = Instant::now();
            (0..5_000).for_each(|_| self.ask());
            best = best.min(start.elapsed());
        }
        best.as_nanos() as f64 / 5_000.0
    }
}

fn gates(kind: Gates) -> Vec<policy::Gate> {
    let count = if kind == Gates::None { 0 } else { 8 };
    let gate = |number: usize| {
        let metric = BuiltIn::ALL[number % BuiltIn::ALL.len()];
        let user = || vec![Value::Text(b"etl"[..].into())];
        let condition = || Condition { key: Key::User, values: user() };
        let matching = || Match { conditions: vec![condition()], not: Vec::new() };
        policy::Gate {
            settings: health::Settings { name: format!("gate-{number}").into(), ..health::Settings::new(metric, 1e9) },
            mode: rules::Mode::Enforce,
            classes: vec![Class::Read, Class::Write],
            logins: false,
            matching: (kind == Gates::EightWithMatches && number < 2).then(|| Matcher::new(&matching(), &|_| None)),
            reads: Vec::new(),
            action: rules::Action::Delay,
            max_delay: Duration::from_secs(3),
        }
    };
    (0..count).map(gate).collect()
}

/// Everything is in order.
fn open(keeper: &Gatekeeper) {
    let now = Instant::now();
    let mut board = Board::default();
    for metric in BuiltIn::ALL {
        let (metric, server, reading) = (metric.as_str().into(), "server".into(), Reading::Value(1.0));
        board.report(Report { metric, server, reading, at: now, applied: None });
    }
    keeper.gates().observe(&board, &Moment { now, asleep: false, awake_since: None });
}

fn client(user: &'static str) -> Client<'static> {
    Client {
        connection: 1,
        user: user.as_bytes(),
        address: None,
        listener: "main",
        certificate: None,
        attributes: &[],
        database: Some(b"shop"),
        charset: Charset::Plain,
    }
}

fn special(kind: Rules) -> Rule {
    let (key, value) = match kind {
        Rules::Others => (Key::User, "nobody"),
        Rules::OneMatches => (Key::User, "app"),
        Rules::OnTag => (Key::Tag("team".to_owned()), "data"),
    };
    rule("special", key, value, Share::Ratio(0.0))
}

fn of_others(number: usize) -> Rule {
    let (key, value) = match number % 3 {
        0 => (Key::User, format!("user-{number}")),
        1 => (Key::Schema, format!("schema-{number}")),
        _ => (Key::Attr("program_name".to_owned()), format!("program-{number}")),
    };
    rule(&format!("rule-{number}"), key, &value, Share::Ratio(0.5))
}

fn rule(id: &str, key: Key, value: &str, share: Share) -> Rule {
    let condition = Condition { key, values: vec![Value::Text(value.as_bytes().into())] };
    Rule {
        id: id.into(),
        origin: Origin::File,
        matching: Match { conditions: vec![condition], not: Vec::new() },
        effect: Do { share: Some(share), ..Do::default() },
        action: None,
        max_delay: None,
        mode: None,
        priority: 0,
        overrides: false,
        in_transaction: InTransaction::Pass,
        active: None,
        expires: None,
        created: None,
        created_by: None,
        reason: None,
        incident: None,
        playbook: None,
    }
}
