//! For tests: a gatekeeper by the paused clock, clients, and a server that knows as much of MySQL as a status flag does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ::session::{Part, SessionText, Source, StatementsPerText, TextEffect};
use health::{Board, Reading, Report};
use identity::{NamePart, Settings, Trust};
use rules::Mode as RuleMode;
use statement::{Charset, Scan, Server};
use tokio::time::Instant;
use wire::{Capabilities, Command};

use crate::gates::Moment;
use crate::policy::{Defaults, Policy, Queue};
use crate::port::{Admission, Ask, Client, Gate, Outcome, Permit, Refusal, SessionState, Verdict};
use crate::refusal::Reason;
use crate::samples::{BEGINNING, gate, set};
use crate::stats::{Counted, Effect};
use crate::{Gatekeeper, Note};

pub(crate) struct Stage {
    pub(crate) keeper: Arc<Gatekeeper>,
    pub(crate) setup: Setup,
}

#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) defaults: Defaults,
    pub(crate) queue: Queue,
    pub(crate) settings: Settings,
    /// In a line each.
    pub(crate) gates: Vec<&'static str>,
}

impl Default for Setup {
    /// Refusals come at once; some tests want them to.
    fn default() -> Setup {
        let settings = Settings {
            name: ["client", "tag.app", "query_attr.app", "attr.program_name", "user"]
                .iter()
                .filter_map(|part| NamePart::named(part))
                .collect(),
            trust_claims_of: Vec::new(),
        };
        let defaults = Defaults { reject_pause: Duration::ZERO, ..Defaults::default() };
        Setup { defaults, queue: Queue::default(), settings, gates: Vec::new() }
    }
}

impl Setup {
    pub(crate) fn trusting(user: &str) -> Setup {
        let mut setup = Setup::default();
        setup.settings.trust_claims_of.push(Trust::User(user.as_bytes().into()));
        setup
    }

    pub(crate) fn gated(gates: &[&'static str]) -> Setup {
        Setup { gates: gates.to_vec(), ..Setup::default() }
    }

    pub(crate) fn in_mode(mode: RuleMode) -> Setup {
        let mut setup = Setup::default();
        setup.defaults.mode = mode;
        setup
    }

    pub(crate) fn policy(&self, generation: u64, rules: &[&str]) -> Policy {
        let gates = self.gates.iter().map(|line| gate(line)).collect();
        Policy::new(generation, self.settings.clone(), self.defaults, self.queue, set(rules)).with_gates(gates)
    }

    pub(crate) fn stage(self, rules: &[&str]) -> Stage {
        let start = Instant::now();
        let wall = Box::new(move || BEGINNING.plus(start.elapsed()));
        Stage { keeper: Gatekeeper::new(self.policy(1, rules), wall, 42), setup: self }
    }
}

#[derive(PartialEq)]
enum Traffic {
    Some,
    None,
}

impl Stage {
    pub(crate) fn new(rules: &[&str]) -> Stage {
        Setup::default().stage(rules)
    }

    pub(crate) fn apply(&self, rules: &[&str]) {
        let generation = self.keeper.policy().generation + 1;
        self.keeper.apply(self.setup.policy(generation, rules));
    }

    pub(crate) fn login(&self, who: &str) -> Session {
        self.try_login(who).unwrap_or_else(|refusal| panic!("{who}: {}", refusal.message))
    }

    pub(crate) fn try_login(&self, who: &str) -> Result<Session, Refusal> {
        let who = Who::new(who);
        let gate = self.keeper.enter(&who.client())?;
        let text = SessionText::new(Server::Unknown, who.charset, StatementsPerText::Several, false);
        Ok(Session {
            gate,
            who,
            text,
            effect: TextEffect::default(),
            state: OUTSIDE,
            permit: None,
            prepared: HashMap::new(),
        })
    }

    pub(crate) fn may_connect(&self, who: &str) -> Result<(), Refusal> {
        self.keeper.may_connect(&Who::new(who).client())
    }

    /// The counters of a client, by its user and its name.
    pub(crate) fn counted(&self, user: &str, name: &str) -> Counted {
        let is_it =
            |known: &identity::Client<_>| known.user.as_deref() == Some(user.as_bytes()) && known.name.as_str() == name;
        self.keeper
            .clients()
            .into_iter()
            .find(|(known, _)| is_it(known))
            .map(|(_, counted)| counted)
            .unwrap_or_default()
    }

    /// All servers say this of these metrics, a sample later.
    pub(crate) async fn measure(&self, values: &[(&str, f64)]) {
        tokio::time::advance(Duration::from_millis(250)).await;
        let values: Vec<_> = values.iter().map(|(metric, value)| (*metric, Reading::Value(*value))).collect();
        self.measured(&values);
        // Those who may go go.
        tokio::task::yield_now().await;
    }

    pub(crate) fn measured(&self, readings: &[(&str, Reading)]) {
        self.looked(readings, Traffic::Some);
    }

    /// They say so while there is no traffic, and are asked rarely.
    pub(crate) fn measured_asleep(&self, readings: &[(&str, Reading)]) {
        self.looked(readings, Traffic::None);
    }

    fn looked(&self, readings: &[(&str, Reading)], traffic: Traffic) {
        let now = Instant::now().into_std();
        let mut board = Board::default();
        for (metric, reading) in readings {
            let server = "server".into();
            board.report(Report { metric: (*metric).into(), server, reading: *reading, at: now, applied: None });
        }
        let asleep = traffic == Traffic::None;
        self.keeper.gates().observe(&board, &Moment { now, asleep, awake_since: None });
    }

    /// Nobody waits, nothing is taken, and every statement came to an end.
    pub(crate) fn assert_settled(&self) {
        assert_eq!(self.keeper.waiting(), 0);
        assert_eq!(self.keeper.limits.waiting(), 0);
        for (client, counted) in self.keeper.clients() {
            assert_eq!(counted.waiting, 0, "{}", client.name);
            let ended = counted.passed + counted.rejected + counted.left;
            assert_eq!(counted.seen, ended, "{}: {counted:?}", client.name);
        }
    }
}

/// How often a rule did this to a client.
pub(crate) fn times(counted: &Counted, rule: &str, reason: Reason, effect: Effect) -> u64 {
    let is_it =
        |entry: &&(rules::RuleId, Reason, Effect, u64)| &*entry.0 == rule && entry.1 == reason && entry.2 == effect;
    counted.by_rule.iter().find(is_it).map_or(0, |entry| entry.3)
}

const OUTSIDE: SessionState = SessionState { in_transaction: false, autocommit: true, holds_locks: false };

/// `app program_name=loader database=shop address=10.0.0.1 charset=gbk`; the first word is the user.
#[derive(Debug)]
pub(crate) struct Who {
    user: Vec<u8>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    address: String,
    database: Option<String>,
    charset: Charset,
}

impl Who {
    pub(crate) fn new(text: &str) -> Who {
        let mut words = text.split_whitespace();
        let mut who = Who {
            user: words.next().unwrap().into(),
            attributes: Vec::new(),
            address: "192.0.2.1".to_owned(),
            database: None,
            charset: Charset::Plain,
        };
        for (key, value) in words.map(|word| word.split_once('=').unwrap()) {
            match key {
                "database" => who.database = Some(value.to_owned()),
                "address" => who.address = value.to_owned(),
                "charset" => who.charset = Charset::Gbk,
                _ => who.attributes.push((key.into(), value.into())),
            }
        }
        who
    }

    pub(crate) fn client(&self) -> Client<'_> {
        Client {
            connection: 1,
            user: &self.user,
            address: Some(format!("{}:4000", self.address).parse().unwrap()),
            listener: "main",
            certificate: None,
            attributes: &self.attributes,
            database: self.database.as_deref().map(str::as_bytes),
        }
    }
}

pub(crate) struct Session {
    pub(crate) gate: Box<dyn Gate>,
    who: Who,
    text: SessionText,
    effect: TextEffect,
    pub(crate) state: SessionState,
    /// Of the statement that runs.
    permit: Option<Permit>,
    prepared: HashMap<String, (Arc<Note>, TextEffect)>,
}

/// What became of a statement that did not have to wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum At {
    Once,
    Held,
    Refused,
}

impl Session {
    pub(crate) fn ask(&mut self, sql: &str) -> Verdict {
        self.ask_with(sql.as_bytes(), &[])
    }

    pub(crate) fn ask_with(&mut self, sql: &[u8], attributes: &[(&str, &str)]) -> Verdict {
        let payload = query(sql, attributes);
        let query = wire::Query::decode(&payload, Capabilities::QUERY_ATTRIBUTES).unwrap();
        let scan = self.read(sql, Source::Query);
        self.effect = TextEffect::of(&scan);
        let ask = Ask {
            client: self.who.client(),
            command: Command::Query,
            payload: &payload,
            sql: payload.get(query.sql_offset..).map(|sql| (sql, &scan)),
            note: None,
            attributes: query.attributes.map(|found| (found, 0)),
            mode: self.text.mode(),
            session: self.state,
        };
        self.permit = None;
        let verdict = self.gate.ask(&ask);
        self.kept(verdict)
    }

    /// As the relay does, it keeps the permit until the answer.
    fn kept(&mut self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Pass(permit) => Verdict::Pass(self.keep(permit)),
            Verdict::Hold(_) | Verdict::Refuse(_) => verdict,
        }
    }

    /// One in its place that gives nothing back.
    pub(crate) fn keep(&mut self, permit: Permit) -> Permit {
        self.permit = Some(permit);
        Permit::without_reply()
    }

    pub(crate) fn permit(&self) -> &Permit {
        self.permit.as_ref().unwrap()
    }

    /// The statement that runs comes to no end that anybody sees.
    pub(crate) fn drop_permit(&mut self) {
        self.permit = None;
    }

    fn read(&self, sql: &[u8], source: Source) -> Scan {
        self.text.read(sql, source, Part::Whole)
    }

    /// Prepares it, unless it was, and asks for its execution.
    pub(crate) fn ask_prepared(&mut self, sql: &str) -> Verdict {
        let (note, effect) = match self.prepared.get(sql) {
            Some((note, effect)) => (Arc::clone(note), *effect),
            None => {
                let scan = self.read(sql.as_bytes(), Source::Prepare);
                (self.gate.note(sql.as_bytes(), &scan), TextEffect::of_prepared(&scan))
            }
        };
        self.prepared.insert(sql.to_owned(), (Arc::clone(&note), effect));
        self.effect = effect;
        self.ask_command(Command::StmtExecute, b"\x17", Some(&note))
    }

    pub(crate) fn ask_command(&mut self, command: Command, payload: &[u8], note: Option<&Arc<Note>>) -> Verdict {
        self.permit = None;
        let verdict = self.gate.ask(&Ask {
            client: self.who.client(),
            command,
            payload,
            sql: None,
            note,
            attributes: None,
            mode: self.text.mode(),
            session: self.state,
        });
        self.kept(verdict)
    }

    /// Asks, waits, and lets the server answer. An error is ours.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<(), Refusal> {
        let verdict = self.ask(sql);
        self.finish(sql, verdict).await
    }

    pub(crate) async fn finish(&mut self, sql: &str, verdict: Verdict) -> Result<(), Refusal> {
        let permit = self.admitted(verdict).await?;
        self.answer(sql, true);
        drop(permit);
        Ok(())
    }

    /// As the relay does with a verdict.
    pub(crate) async fn admitted(&mut self, verdict: Verdict) -> Result<Permit, Refusal> {
        match verdict {
            Verdict::Pass(permit) => Ok(permit),
            Verdict::Refuse(refusal) => Err(refusal),
            Verdict::Hold(hold) => {
                let permit = hold.await?;
                Ok(self.keep(permit))
            }
        }
    }

    /// A server's OK or ERR, with its flags.
    pub(crate) fn answer(&mut self, sql: &str, succeeded: bool) {
        let upper = sql.to_ascii_uppercase();
        for statement in upper.split(';').map(str::trim).filter(|_| succeeded) {
            let begins = statement.starts_with("BEGIN") || statement.starts_with("START TRANSACTION");
            let ends = statement.starts_with("COMMIT") || statement.starts_with("ROLLBACK");
            match statement {
                "SET AUTOCOMMIT = 0" => self.state.autocommit = false,
                "SET AUTOCOMMIT = 1" => {
                    self.state = SessionState { in_transaction: false, autocommit: true, ..self.state }
                }
                _ if begins => self.state.in_transaction = true,
                _ if ends => self.state.in_transaction = statement.ends_with(" AND CHAIN"),
                _ if statement.contains("FROM") || statement.contains("UPDATE") || statement.contains("INSERT") => {
                    self.state.in_transaction |= !self.state.autocommit;
                }
                _ => {}
            }
        }
        let writes = |statement: &&str| {
            ["UPDATE", "INSERT", "DELETE", "REPLACE", "CALL"].iter().any(|word| statement.starts_with(word))
        };
        let rows = upper.split(';').map(str::trim).filter(writes).count() as u64;
        self.answer_with(succeeded, if succeeded { rows } else { 0 });
    }

    /// A server's answer that ends the transaction, and everything in it.
    pub(crate) fn deadlocks(&mut self) {
        self.state.in_transaction = false;
        self.settle(Outcome { succeeded: false, deadlocked: true, rows: 0, session: self.state });
    }

    /// A server's answer that changed nothing of the session.
    pub(crate) fn answer_with(&mut self, succeeded: bool, rows: u64) {
        self.text.settle(&std::mem::take(&mut self.effect), succeeded, false);
        self.settle(Outcome { succeeded, deadlocked: false, rows, session: self.state });
    }

    fn settle(&mut self, outcome: Outcome) {
        if let Some(permit) = self.permit.take() {
            permit.settle(outcome);
        }
    }

    /// What becomes of a text right away; what passes is answered.
    pub(crate) async fn at(&mut self, sql: &str) -> At {
        let verdict = self.ask(sql);
        self.sort(sql, verdict).await
    }

    pub(crate) async fn sort(&mut self, sql: &str, verdict: Verdict) -> At {
        match verdict {
            Verdict::Pass(_permit) => {
                self.answer(sql, true);
                At::Once
            }
            Verdict::Refuse(_) => At::Refused,
            Verdict::Hold(_leaves) => At::Held,
        }
    }
}

/// COM_QUERY with query attributes, all of them strings.
pub(crate) fn query(sql: &[u8], attributes: &[(&str, &str)]) -> Vec<u8> {
    let count = u8::try_from(attributes.len()).unwrap();
    let mut payload = vec![3, count, 1];
    if count > 0 {
        payload.extend(std::iter::repeat_n(0, attributes.len().div_ceil(8)));
        payload.push(1);
        for (name, _) in attributes {
            payload.extend([254, 0, u8::try_from(name.len()).unwrap()]);
            payload.extend(name.as_bytes());
        }
        for (_, value) in attributes {
            payload.push(u8::try_from(value.len()).unwrap());
            payload.extend(value.as_bytes());
        }
    }
    payload.extend(sql);
    payload
}
