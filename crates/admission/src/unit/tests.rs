//! Stories of sessions. A line is `statement | its turn | the reply`, or a step of the clock.
//!
//! Replies: `ok` and `tx` are OK without and within a transaction, `err` is an ERR (which says nothing of the transaction) and
//! `deadlock` is 1213 (after which it is over); `refuse` is ours, and nothing goes upstream. Then what the session has from
//! then on: `auto0`, `auto1`, `lock`, `unlock`. `ends`: the unit has ended with the reply, and its places go.

use statement::Mode;

use super::*;
use crate::note::facts;

struct Session {
    unit: Unit,
    now: Instant,
    state: SessionState,
    graces: Graces,
}

impl Session {
    fn new() -> Session {
        Session {
            unit: Unit::default(),
            now: Instant::now(),
            state: SessionState { in_transaction: false, autocommit: true, holds_locks: false },
            graces: Graces { unit: Duration::from_secs(30), lock: Duration::from_secs(20), lock_statements: 5 },
        }
    }

    fn line(&mut self, line: &str) -> (String, String) {
        if let Some(seconds) = line.strip_prefix('+') {
            self.now += Duration::from_secs(seconds.parse().unwrap());
            return (String::new(), String::new());
        }
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [sql, turn, reply] = columns[..] else { panic!("{line}") };
        let scan = statement::scan(sql.as_bytes(), Mode::default());
        let facts = facts(&scan, scan.class);
        let now = self.now;
        let taken = self.unit.turn(&facts, self.state, &self.graces, || now);
        let words: Vec<&str> = reply.split_whitespace().collect();
        let ended = self.reply(&facts, &taken, words[0]);
        self.change(&words);
        if let Some(in_transaction) = ended {
            let succeeded = !matches!(words[0], "err" | "deadlock");
            self.state.in_transaction = in_transaction;
            let outcome = Outcome { succeeded, deadlocked: false, rows: 1, session: self.state };
            let ends = self.unit.settled(outcome, || now);
            assert_eq!(ends, words.contains(&"ends"), "the end of the unit after: {line}");
        }
        (word(&taken).to_owned(), turn.to_owned())
    }

    /// Whether a transaction is open after the reply, if the statement went upstream.
    fn reply(&mut self, facts: &Facts, turn: &Turn, reply: &str) -> Option<bool> {
        if let Turn::Refused(_) = turn {
            assert_eq!(reply, "refuse", "what is refused gets no reply");
        }
        if reply == "refuse" {
            self.unit.refused(&refusal(), self.state);
            return None;
        }
        if let Turn::Decide(_) = turn {
            let now = self.now;
            self.unit.judged(|| now);
        }
        self.unit.admitted(facts, self.state, false);
        Some(match reply {
            "ok" | "deadlock" => false,
            "tx" => true,
            "err" => self.state.in_transaction,
            _ => panic!("{reply}"),
        })
    }

    fn change(&mut self, words: &[&str]) {
        for word in words {
            match *word {
                "auto0" => self.state.autocommit = false,
                "auto1" => self.state.autocommit = true,
                "lock" => self.state.holds_locks = true,
                "unlock" => self.state.holds_locks = false,
                _ => {}
            }
        }
    }
}

fn refusal() -> Refusal {
    Refusal { code: 1226, sqlstate: *b"HY000", message: "no".to_owned() }
}

fn word(turn: &Turn) -> &'static str {
    match turn {
        Turn::Free => "free",
        Turn::GoesOn => "goes on",
        Turn::GoesOnUnlessRuled => "goes on unless ruled",
        Turn::Decide(Bound::Full) => "full",
        Turn::Decide(Bound::AfterReads) => "after reads",
        Turn::Decide(Bound::Brief) => "brief",
        Turn::Decide(Bound::Locked) => "locked",
        Turn::Refused(_) => "refused",
    }
}

const STORIES: &[(&str, &[&str])] = &[
    (
        "outside a transaction every statement is a unit",
        &[
            "SELECT * FROM t | full | ok ends",
            "UPDATE t SET a = 1 | full | ok ends",
            "CREATE TABLE u (a INT) | full | ok ends",
            "SELECT 1 | free | ok ends",
            "UPDATE t SET a = 1 | full | err ends",
            "UPDATE t SET a = 1 | full | refuse",
            "UPDATE t SET a = 1 | full | ok ends",
        ],
    ),
    (
        "writes first",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "SELECT * FROM t | goes on unless ruled | tx",
            "DELETE FROM t | goes on unless ruled | tx",
            "COMMIT | free | ok ends",
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
        ],
    ),
    (
        "reads, then writes",
        &[
            "START TRANSACTION | free | tx ends",
            "SELECT * FROM t | full | tx",
            "SELECT * FROM t | goes on | tx",
            "SELECT * FROM t FOR UPDATE | after reads | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "ROLLBACK | free | ok ends",
        ],
    ),
    (
        "a call may write",
        &[
            "BEGIN | free | tx ends",
            "SELECT * FROM t | full | tx",
            "CALL p() | after reads | tx",
            "SELECT * FROM t | goes on unless ruled | tx",
        ],
    ),
    (
        "autocommit=0 is always in a transaction",
        &[
            "SET autocommit = 0 | free | ok auto0 ends",
            "SELECT * FROM t | full | tx",
            "UPDATE t SET a = 1 | after reads | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "COMMIT | free | ok ends",
            "UPDATE t SET a = 1 | full | tx",
        ],
    ),
    (
        "a reader is judged again after each grace",
        &[
            "BEGIN | free | tx ends",
            "SELECT * FROM t | full | tx",
            "+29",
            "SELECT * FROM t | goes on | tx",
            "+1",
            "SELECT * FROM t | after reads | tx",
            "+29",
            "SELECT * FROM t | goes on | tx",
            "+1",
            "SELECT * FROM t | after reads | refuse",
            "SELECT * FROM t | refused | refuse",
        ],
    ),
    (
        "a client that ignores the refusal of its first statement commits nothing",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | refuse",
            "UPDATE t SET a = 2 | refused | refuse",
            "SELECT * FROM t | refused | refuse",
            "SAVEPOINT s | free | tx ends",
            "ROLLBACK TO SAVEPOINT s | free | tx ends",
            "CREATE TABLE u (a INT) | refused | refuse",
            "COMMIT; BEGIN; UPDATE t SET a = 3 | refused | refuse",
            "COMMIT | free | ok ends",
            "UPDATE t SET a = 4 | full | ok ends",
        ],
    ),
    (
        "nor does one that reads before",
        &[
            "BEGIN | free | tx ends",
            "SELECT * FROM t | full | tx",
            "UPDATE t SET a = 1 | after reads | refuse",
            "INSERT INTO t VALUES (1) | refused | refuse",
            "ROLLBACK | free | ok ends",
            "INSERT INTO t VALUES (1) | full | ok ends",
        ],
    ),
    (
        "a refusal under autocommit=0 before the server has begun",
        &[
            "SET autocommit = 0 | free | ok auto0 ends",
            "UPDATE t SET a = 1 | full | refuse",
            "UPDATE t SET a = 2 | refused | refuse",
            "SELECT 1 | free | ok ends",
            "SELECT @@autocommit | free | ok ends",
            "UPDATE t SET a = 3 | refused | refuse",
            "COMMIT | free | ok ends",
            "UPDATE t SET a = 4 | full | tx",
        ],
    ),
    (
        "a pool that turns autocommit on again is not refused for ever",
        &[
            "SET autocommit = 0 | free | ok auto0 ends",
            "UPDATE t SET a = 1 | full | refuse",
            "SET autocommit = 1 | free | ok auto1 ends",
            "UPDATE t SET a = 2 | full | ok ends",
        ],
    ),
    (
        "autocommit that is on already ends nothing",
        &[
            "BEGIN | free | tx ends",
            "SELECT * FROM t | full | tx",
            "UPDATE t SET a = 1 | after reads | refuse",
            "SET autocommit = 1 | free | tx ends",
            "UPDATE t SET a = 2 | refused | refuse",
            "/* x */ SET autocommit = 1 | free | tx ends",
            "UPDATE t SET a = 2 | refused | refuse",
            "COMMIT | free | ok ends",
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "SET autocommit = 1 | free | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
        ],
    ),
    (
        "COMMIT AND CHAIN begins another one",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "COMMIT AND CHAIN | free | tx ends",
            "UPDATE t SET a = 1 | full | refuse",
            "UPDATE t SET a = 1 | refused | refuse",
            "ROLLBACK AND CHAIN | free | tx ends",
            "SELECT * FROM t | full | tx",
        ],
    ),
    (
        "so does COMMIT where completion_type says so",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "COMMIT | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
        ],
    ),
    (
        "BEGIN in a refused transaction commits it and begins another one",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | refuse",
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 2 | full | tx",
        ],
    ),
    (
        "a COMMIT that fails leaves what it was",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "COMMIT | free | err",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "BEGIN | free | tx ends",
            "SELECT * FROM t | full | tx",
            "UPDATE t SET a = 1 | after reads | refuse",
            "COMMIT | free | err ends",
            "UPDATE t SET a = 1 | refused | refuse",
        ],
    ),
    (
        "XA",
        &[
            "XA START 'x' | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "XA END 'x' | free | tx",
            "XA PREPARE 'x' | free | ok ends",
            "XA COMMIT 'x' | free | ok ends",
            "UPDATE t SET a = 1 | full | ok ends",
            "XA START 'y' | free | tx ends",
            "SELECT * FROM t | full | tx",
            "UPDATE t SET a = 1 | after reads | refuse",
            "XA END 'y' | free | tx ends",
            "XA ROLLBACK 'y' | free | ok ends",
            "UPDATE t SET a = 1 | full | ok ends",
        ],
    ),
    (
        "a writer passes for its grace by the clock, then waits a little",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "+19",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "+1",
            "UPDATE t SET a = 1 | locked | tx",
            "SELECT * FROM t | locked | tx",
            "COMMIT | free | ok ends",
            "UPDATE t SET a = 1 | full | ok ends",
        ],
    ),
    (
        "or by count",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "UPDATE t SET a = 2 | goes on unless ruled | tx",
            "UPDATE t SET a = 3 | goes on unless ruled | tx",
            "UPDATE t SET a = 4 | goes on unless ruled | tx",
            "UPDATE t SET a = 5 | goes on unless ruled | tx",
            "UPDATE t SET a = 6 | locked | tx",
        ],
    ),
    (
        "LOCK TABLES is decided as a write, and then has its grace",
        &[
            "LOCK TABLES t WRITE | full | ok lock ends",
            "UPDATE t SET a = 1 | goes on | ok ends",
            "SELECT * FROM t | goes on | ok ends",
            "+20",
            "SELECT * FROM t | locked | ok ends",
            "UNLOCK TABLES | free | ok unlock ends",
            "SELECT * FROM t | full | ok ends",
            "LOCK TABLES t WRITE | full | refuse",
            "SELECT * FROM t | full | ok ends",
        ],
    ),
    (
        "GET_LOCK outlives transactions, and its grace goes on through them",
        &[
            "SELECT GET_LOCK('a', 1) | full | ok lock ends",
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | goes on | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "COMMIT; BEGIN; UPDATE t SET a = 1 | goes on unless ruled | tx",
            "CREATE TABLE u (a INT) | goes on unless ruled | ok ends",
            "SELECT * FROM t | goes on | ok ends",
            "SELECT * FROM t | locked | ok ends",
            "SELECT GET_LOCK('b', 1) | locked | ok ends",
            "SELECT RELEASE_ALL_LOCKS() | free | ok unlock ends",
            "SELECT * FROM t | full | ok ends",
        ],
    ),
    (
        "what ends a transaction and goes on in one packet is decided each time",
        &[
            "BEGIN; UPDATE t SET a = 1 | full | tx",
            "COMMIT; BEGIN; UPDATE t SET a = 1 | brief | tx",
            "COMMIT; BEGIN; UPDATE t SET a = 1 | brief | tx",
            "UPDATE t SET a = 1; COMMIT | goes on unless ruled | ok ends",
            "BEGIN; SELECT * FROM t | full | tx",
            "SELECT * FROM t; COMMIT | goes on | ok ends",
            "BEGIN; SELECT * FROM t | full | tx",
            "COMMIT; SELECT * FROM t | after reads | ok ends",
        ],
    ),
    (
        "such a packet begins a new grace",
        &[
            "BEGIN; UPDATE t SET a = 1 | full | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
            "+20",
            "COMMIT; BEGIN; UPDATE t SET a = 1 | brief | tx",
            "UPDATE t SET a = 1 | goes on unless ruled | tx",
        ],
    ),
    (
        "DDL is a unit of its own",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "ALTER TABLE t ADD b INT | brief | ok ends",
            "UPDATE t SET a = 1 | full | ok ends",
            "BEGIN | free | tx ends",
            "SELECT * FROM t | full | tx",
            "ALTER TABLE t ADD b INT | after reads | refuse",
            "SELECT * FROM t | refused | refuse",
        ],
    ),
    (
        "a statement that fails may have locked what it touched",
        &[
            "BEGIN | free | tx ends",
            "INSERT INTO t VALUES (1) | full | err",
            "SELECT * FROM t | goes on unless ruled | tx",
            "ROLLBACK | free | ok ends",
            "BEGIN | free | tx ends",
            "SELECT * FROM nowhere | full | err",
            "INSERT INTO t VALUES (1) | after reads | tx",
        ],
    ),
    (
        "after a deadlock there is no transaction",
        &[
            "BEGIN | free | tx ends",
            "UPDATE t SET a = 1 | full | tx",
            "UPDATE t SET a = 2 | goes on unless ruled | deadlock ends",
            "UPDATE t SET a = 2 | full | ok ends",
            "SET autocommit = 0 | free | ok auto0 ends",
            "UPDATE t SET a = 1 | full | tx",
            "UPDATE t SET a = 2 | goes on unless ruled | deadlock ends",
            "UPDATE t SET a = 2 | full | tx",
        ],
    ),
    (
        "an ERR does not say whether a transaction is open",
        &[
            "SET autocommit = 0 | free | ok auto0 ends",
            "INSERT INTO t VALUES (1) | full | err ends",
            "INSERT INTO t VALUES (2) | brief | tx",
            "COMMIT | free | ok ends",
            "INSERT INTO t VALUES (1) | full | err ends",
            "INSERT INTO t VALUES (2) | brief | refuse",
            "INSERT INTO t VALUES (2) | refused | refuse",
            "ROLLBACK | free | ok ends",
            "INSERT INTO t VALUES (1) | full | err ends",
            "ROLLBACK | free | ok ends",
            "INSERT INTO t VALUES (1) | full | tx",
        ],
    ),
    (
        "a procedure may begin one and fail",
        &[
            "CALL p() | full | err ends",
            "SELECT * FROM t | brief | ok ends",
            "SELECT * FROM t | full | ok ends",
            "CALL p() | full | err ends",
            "SELECT 1 | free | ok ends",
            "SELECT * FROM t | full | ok ends",
        ],
    ),
];

#[test]
fn stories() {
    for (story, lines) in STORIES {
        let mut session = Session::new();
        for (number, line) in lines.iter().enumerate() {
            let (taken, expected) = session.line(line);
            assert_eq!(taken, expected, "{story}, line {}: {line}", number + 1);
        }
    }
}

#[test]
fn a_transaction_that_somebody_else_ended_is_over() {
    // COM_CHANGE_USER that MariaDB denied ends all that the session had, and its unit does not hear of it.
    for lines in [
        &["UPDATE t SET a = 1 | full | tx"][..],
        &["SELECT * FROM t | full | tx", "UPDATE t SET a = 1 | after reads | refuse"],
    ] {
        let mut session = Session::new();
        session.line("BEGIN | free | tx ends");
        lines.iter().for_each(|line| drop(session.line(line)));
        session.state.in_transaction = false;
        assert_eq!(session.line("UPDATE t SET a = 1 | full | ok ends").0, "full", "{lines:?}");
    }
}

#[test]
fn a_command_that_was_never_asked_for_may_end_a_unit() {
    let mut session = Session::new();
    ["BEGIN | free | tx ends", "UPDATE t SET a = 1 | full | tx"].iter().for_each(|line| drop(session.line(line)));
    let ping = Outcome { succeeded: true, deadlocked: false, rows: 0, session: session.state };
    assert!(!session.unit.settled(ping, || session.now));
    session.state.in_transaction = false;
    let killed = Outcome { succeeded: true, deadlocked: false, rows: 0, session: session.state };
    assert!(session.unit.settled(killed, || session.now));
    assert_eq!(session.line("UPDATE t SET a = 1 | full | ok ends").0, "full");
}

#[test]
fn a_session_begins_anew() {
    let mut session = Session::new();
    ["BEGIN | free | tx ends", "UPDATE t SET a = 1 | full | refuse"].iter().for_each(|line| drop(session.line(line)));
    assert!(session.unit.is_refused());
    session.unit.reset();
    assert!(!session.unit.is_refused());
}
