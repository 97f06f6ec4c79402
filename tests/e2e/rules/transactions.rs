//! Transactions are refused whole, or complete: none is committed in part.

use sandbox::APP;

use super::protocols::prepare;
use super::{AT_ONCE, Answer, answer, primary, ruled, run, table};
use crate::harness::Raw;

const STEPS: usize = 10;

const RULE: &str =
    "rules:\n- { id: most-yield, match: { user: app }, do: { rejection_ratio: 0.9 }, permanent: true }\n";

/// How a client goes about a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    WritesFirst,
    ReadsThenWrites,
    AutocommitOff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnError {
    RollBack,
    /// Goes on as if nothing had happened, and commits.
    Ignore,
}

/// How its statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Text,
    Prepared,
}

/// What the rule does with one that loses its roll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Losers {
    Rejected,
    /// For some four rolls, and then rejected.
    Delayed,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    kind: Kind,
    on_error: OnError,
    protocol: Protocol,
    losers: Losers,
    transactions: usize,
    connections: usize,
}

impl Run {
    /// A thousand, as text, rejected.
    fn of(kind: Kind, on_error: OnError) -> Run {
        Run { kind, on_error, protocol: Protocol::Text, losers: Losers::Rejected, transactions: 1000, connections: 4 }
    }

    fn name(self) -> String {
        format!("tx_{:?}_{:?}_{:?}_{:?}", self.kind, self.on_error, self.protocol, self.losers).to_lowercase()
    }

    fn reads(self) -> usize {
        if self.kind == Kind::ReadsThenWrites { 3 } else { 0 }
    }

    fn defaults(self) -> &'static str {
        match self.losers {
            Losers::Rejected => AT_ONCE,
            Losers::Delayed => "defaults: { action: delay, max_delay: 400ms, reject_pause: 0s }\n",
        }
    }
}

/// A connection, and its statements where it has prepared them: the read, with the batch, and the write, with the step too.
struct Client {
    raw: Raw,
    table: String,
    prepared: Option<[u32; 2]>,
}

impl Client {
    fn new(mut raw: Raw, how: Run) -> Client {
        let table = how.name();
        let prepared = (how.protocol == Protocol::Prepared).then(|| {
            [read(&table, "?"), write(&table, "?", "?")].map(|sql| prepare(&mut raw, &sql).expect("a statement"))
        });
        Client { raw, table, prepared }
    }

    fn read(&mut self, batch: usize) -> Answer {
        match self.prepared {
            None => run(&mut self.raw, &read(&self.table, &batch.to_string())),
            Some([id, _]) => self.execute(id, &[batch]),
        }
    }

    fn write(&mut self, batch: usize, step: usize) -> Answer {
        match self.prepared {
            None => run(&mut self.raw, &write(&self.table, &batch.to_string(), &step.to_string())),
            Some([_, id]) => self.execute(id, &[batch, step]),
        }
    }

    fn execute(&mut self, id: u32, values: &[usize]) -> Answer {
        let mut body = [&id.to_le_bytes()[..], &[0, 1, 0, 0, 0, 0, 1]].concat();
        values.iter().for_each(|_| body.extend([3, 0]));
        for value in values {
            body.extend(u32::try_from(*value).expect("a small number").to_le_bytes());
        }
        self.raw.command(0x17, &body);
        answer(&mut self.raw)
    }
}

fn read(table: &str, batch: &str) -> String {
    format!("SELECT COUNT(*) FROM test.{table} WHERE batch = {batch}")
}

fn write(table: &str, batch: &str, step: &str) -> String {
    format!("INSERT INTO test.{table} (batch, step) VALUES ({batch}, {step})")
}

/// One transaction; whether every step was done.
fn transaction(client: &mut Client, how: Run, batch: usize) -> bool {
    if how.kind != Kind::AutocommitOff {
        assert_eq!(run(&mut client.raw, "BEGIN"), Answer::Done);
    }
    let mut done = 0;
    for step in 0..STEPS {
        let answer = if step < how.reads() { client.read(batch) } else { client.write(batch, step) };
        if answer == Answer::Done {
            done += 1;
            continue;
        }
        assert!(answer.is_refused(), "{how:?}: {answer:?}");
        if how.on_error == OnError::RollBack {
            assert_eq!(run(&mut client.raw, "ROLLBACK"), Answer::Done);
            return false;
        }
    }
    assert_eq!(run(&mut client.raw, "COMMIT"), Answer::Done, "COMMIT always passes");
    done == STEPS
}

fn check(how: Run) {
    let name = how.name();
    table(&name);
    let tollgate = ruled(&format!("{}{RULE}", how.defaults()));
    let one = |connection: usize| {
        let mut client = Client::new(Raw::login(tollgate.address, APP), how);
        if how.kind == Kind::AutocommitOff {
            assert_eq!(run(&mut client.raw, "SET autocommit = 0"), Answer::Done);
        }
        let batches = (0..how.transactions).skip(connection).step_by(how.connections).map(|number| number + 1);
        batches.filter(|batch| transaction(&mut client, how, *batch)).count()
    };
    let one = &one;
    let complete: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..how.connections).map(|connection| scope.spawn(move || one(connection))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a connection")).sum()
    });
    let writes = STEPS - how.reads();
    let sql = format!(
        "SELECT COUNT(*), COALESCE(SUM(n <> {writes}), 0) FROM \
         (SELECT batch, COUNT(*) AS n FROM test.{name} WHERE batch > 0 GROUP BY batch) AS batches"
    );
    let counted = primary().root_sql(&sql).expect("a count");
    let counted: Vec<usize> = counted.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    assert_eq!(counted, [complete, 0], "{how:?}: batches in the table, and those in part");
    let most = if how.losers == Losers::Rejected { how.transactions / 2 } else { how.transactions };
    assert!((1..most).contains(&complete), "{how:?}: {complete}");
    assert_eq!(tollgate.counted("held") > 0, how.losers == Losers::Delayed, "{how:?}: {}", tollgate.clients());
}

#[test]
fn writes_first() {
    check(Run::of(Kind::WritesFirst, OnError::RollBack));
    check(Run::of(Kind::WritesFirst, OnError::Ignore));
}

#[test]
fn reads_then_writes() {
    check(Run::of(Kind::ReadsThenWrites, OnError::RollBack));
    check(Run::of(Kind::ReadsThenWrites, OnError::Ignore));
}

#[test]
fn autocommit_off() {
    check(Run::of(Kind::AutocommitOff, OnError::RollBack));
    check(Run::of(Kind::AutocommitOff, OnError::Ignore));
}

const KINDS: [Kind; 3] = [Kind::WritesFirst, Kind::ReadsThenWrites, Kind::AutocommitOff];

#[test]
fn prepared_statements() {
    for kind in KINDS {
        for on_error in [OnError::RollBack, OnError::Ignore] {
            // Of those that read first one in a hundred is complete: it is rolled for twice.
            check(Run { protocol: Protocol::Prepared, ..Run::of(kind, on_error) });
        }
    }
}

#[test]
fn delayed() {
    for kind in KINDS {
        for on_error in [OnError::RollBack, OnError::Ignore] {
            check(Run { losers: Losers::Delayed, transactions: 100, connections: 25, ..Run::of(kind, on_error) });
        }
    }
}

#[test]
fn one_that_has_written_passes_a_hold_and_one_that_has_read_does_not_write() {
    table("tx_hold");
    let tollgate = ruled("");
    let mut writer = Raw::login(tollgate.address, APP);
    let mut reader = Raw::login(tollgate.address, APP);
    for (raw, first) in [
        (&mut writer, "INSERT INTO test.tx_hold (batch) VALUES (5)"),
        (&mut reader, "SELECT COUNT(*) FROM test.tx_hold"),
    ] {
        assert_eq!(run(raw, "BEGIN"), Answer::Done);
        assert_eq!(run(raw, first), Answer::Done);
    }
    tollgate.rewrite(|yaml| {
        format!(
            "{yaml}rules:\n- {{ id: stop, match: {{ scope: \"*\" }}, do: {{ rejection_ratio: 1 }}, action: reject, permanent: true }}\n"
        )
    });
    tollgate.await_generation(2);
    assert_eq!(run(&mut writer, "UPDATE test.tx_hold SET step = 9 WHERE batch = 5"), Answer::Done);
    assert_eq!(run(&mut writer, "COMMIT"), Answer::Done);
    assert_eq!(run(&mut reader, "SELECT COUNT(*) FROM test.tx_hold"), Answer::Done, "within unit_grace");
    let write = "INSERT INTO test.tx_hold (batch) VALUES (6)";
    assert!(run(&mut reader, write).is_refused());
    assert!(run(&mut reader, "SELECT COUNT(*) FROM test.tx_hold").is_refused(), "a refusal is sticky");
    assert_eq!(run(&mut reader, "COMMIT"), Answer::Done);
    assert!(run(&mut reader, write).is_refused(), "decided anew, by the rule");
    assert_eq!(run(&mut writer, "SELECT 1"), Answer::Done);
}

#[test]
fn lock_holders_wait_a_little_and_are_never_rejected() {
    table("locked");
    let tollgate = ruled("defaults: { lock_grace_statements: 5, max_delay: 2s }\n");
    let mut locker = Raw::login(tollgate.address, APP);
    let mut tables = Raw::login(tollgate.address, APP);
    assert_eq!(run(&mut locker, "SELECT GET_LOCK('e2e-rules', 5)"), Answer::Done);
    assert_eq!(run(&mut tables, "LOCK TABLES test.locked READ"), Answer::Done);
    tollgate.rewrite(|yaml| {
        format!("{yaml}rules:\n- {{ id: stop, match: {{ scope: \"*\" }}, do: {{ hold: true }}, permanent: true }}\n")
    });
    tollgate.await_generation(2);
    for _ in 0..10 {
        assert_eq!(run(&mut tables, "SELECT COUNT(*) FROM test.locked"), Answer::Done);
    }
    // A user-level lock is advisory, and lets nothing pass.
    assert!(run(&mut locker, "SELECT COUNT(*) FROM test.locked").is_refused());
    // Five pass undelayed, five wait; and the one that was refused.
    let clients: serde_json::Value = serde_json::from_str(&tollgate.clients()).expect("JSON");
    let held: u64 = clients["clients"].as_array().expect("clients").iter().filter_map(|one| one["held"].as_u64()).sum();
    assert_eq!(held, 6, "{clients}");
    assert_eq!(run(&mut tables, "UNLOCK TABLES"), Answer::Done);
    assert!(run(&mut tables, "SELECT COUNT(*) FROM test.locked").is_refused(), "free no more");
}
