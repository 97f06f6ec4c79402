//! A session whose queries pass, and the ways in which it asks them: for the benchmark, and for `tests/allocations.rs`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::session::{Part, SessionText, Source, StatementsPerText};
use admission::gates::Moment;
use admission::policy::{self, Defaults, Policy, Queue};
use admission::port::{Admission, Ask, Client, Gate, Outcome, SessionState, Verdict};
use admission::{Gatekeeper, Note};
use health::{Board, BuiltIn, Reading, Report};
use identity::Settings;
use rules::{
    Condition, Do, InTransaction, Key, Match, Matcher, Origin, Rule, RuleSet, Share, Timestamp, UnknownTables, Value,
};
use statement::{Charset, Class, Server};
use wire::Command;

const OUTSIDE: SessionState = SessionState { in_transaction: false, autocommit: true, holds_locks: false };
const SELECT: &str = "SELECT id, name, price FROM products WHERE id = 4711";
/// One that finds its row as it should be, and changes nothing: more commits than any replica bears would be held back.
const UPDATE: &str = "UPDATE products SET price = 12 WHERE id = 4711";

/// What is asked, how and by whom.
pub(crate) struct Row {
    pub(crate) what: &'static str,
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
    /// One that paces by a lag, before replicas that have borne so many writes a second.
    Paced {
        borne: f64,
    },
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

pub(crate) const ROWS: [Row; 15] = [
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
    gated("text, eight gates open", SELECT, Way::Text, Gates::Eight),
    gated("prepared, eight gates open", SELECT, Way::Prepared, Gates::Eight),
    gated("prepared, two of them with a match", SELECT, Way::Prepared, Gates::EightWithMatches),
    gated("write, no gate", UPDATE, Way::Prepared, Gates::None),
    gated("write, eight gates open", UPDATE, Way::Prepared, Gates::Eight),
    // Before the first each write looks whether a crowd is coming, before the second one in many does.
    gated("write, paced, 200/s borne", UPDATE, Way::Prepared, Gates::Paced { borne: 200.0 }),
    gated("write, paced, 20,000/s borne", UPDATE, Way::Prepared, Gates::Paced { borne: 20_000.0 }),
];

const fn row(what: &'static str, sql: &'static str, way: Way, rules: Option<Rules>) -> Row {
    Row { what, sql, way, user: "app", rules, gates: Gates::None }
}

const fn gated(what: &'static str, sql: &'static str, way: Way, gates: Gates) -> Row {
    Row { what, sql, way, user: "app", rules: Some(Rules::Others), gates }
}

pub(crate) struct Session {
    gate: Box<dyn Gate>,
    row: &'static Row,
    note: Option<Arc<Note>>,
    text: SessionText,
    payload: Vec<u8>,
}

impl Session {
    pub(crate) fn new(row: &'static Row, size: usize) -> Session {
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
        if let Gates::Paced { borne } = row.gates {
            keeper.gates().remember("gate-0", borne);
        }
        open(&keeper);
        let mut gate = keeper.enter(&client(row.user)).unwrap();
        let text = SessionText::new(Server::Unknown, Charset::Plain, StatementsPerText::Several, false);
        let prepared = text.read(row.sql.as_bytes(), Source::Prepare, Part::Whole);
        let note = (row.way == Way::Prepared).then(|| gate.note(row.sql.as_bytes(), &prepared));
        Session { gate, row, note, text, payload: [b"\x03", row.sql.as_bytes()].concat() }
    }

    /// A query from its bytes to its end; it must pass.
    pub(crate) fn ask(&mut self) {
        let text = self.note.is_none();
        let sql = self.payload.get(1..).filter(|_| text);
        let scan = sql.map(|sql| self.text.read(black_box(sql), Source::Query, Part::Whole));
        let ask = Ask {
            client: client(self.row.user),
            command: if text { Command::Query } else { Command::StmtExecute },
            payload: black_box(&self.payload),
            sql: sql.zip(scan.as_ref()),
            note: self.note.as_ref(),
            attributes: None,
            mode: self.text.mode(),
            session: OUTSIDE,
        };
        let verdict = self.gate.ask(black_box(&ask));
        let Verdict::Pass(permit) = black_box(verdict) else { panic!("it must pass") };
        permit.settle(Outcome { succeeded: true, deadlocked: false, rows: 0, session: OUTSIDE });
    }
}

fn gates(kind: Gates) -> Vec<policy::Gate> {
    let count = match kind {
        Gates::None => 0,
        Gates::Eight | Gates::EightWithMatches => 8,
        Gates::Paced { .. } => 1,
    };
    let gate = |number: usize| {
        let metric = match kind {
            Gates::Paced { .. } => BuiltIn::ReplicationLag,
            Gates::None | Gates::Eight | Gates::EightWithMatches => BuiltIn::ALL[number % BuiltIn::ALL.len()],
        };
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
            max_delay_after_reads: Duration::from_secs(1),
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

pub(crate) fn rule(id: &str, key: Key, value: &str, share: Share) -> Rule {
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
        unknown_tables: UnknownTables::Ignore,
        active: None,
        expires: None,
        created: None,
        created_by: None,
        reason: None,
        incident: None,
        playbook: None,
    }
}
