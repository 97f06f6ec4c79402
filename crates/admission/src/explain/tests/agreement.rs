//! What `explain` says comes of a statement is what comes of it: both are asked, in the same generated sessions.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::explain::at_gate::AtGate;
use crate::explain::ruling::{Lost, Place};
use crate::port::{Permit, Verdict};
use crate::stage::Session;

const STAGES: u64 = 400;
const QUESTIONS: usize = 25;

const USERS: [&str; 4] = ["app", "etl", "etl app=loader", "batch program_name=loader"];
const STATEMENTS: [&str; 9] = [
    "SELECT 1",
    "SELECT * FROM t WHERE id = 1",
    "SELECT * FROM secret",
    "UPDATE t SET a = 1 WHERE id = 1",
    "DELETE FROM t",
    "INSERT INTO secret VALUES (1)",
    "CALL p()",
    "DROP TABLE t",
    "SELECT * FROM t; UPDATE secret SET a = 1",
];
const MATCHES: [&str; 11] = [
    "user=app",
    "user=etl",
    "user=app,etl",
    "attr.program_name=loader",
    "class=read",
    "class=write",
    "class=write user=etl",
    "table=secret",
    "table=t class=write",
    "shape=no_where",
    "class=ddl",
];
const EFFECTS: [&str; 14] = [
    "ratio=0",
    "ratio=0.5",
    "ratio=0.5 reject",
    "ratio=1",
    "ratio=1 reject",
    "hold",
    "hold in_transaction=delay",
    "ratio=1 in_transaction=reject",
    "exempt",
    "concurrency=1",
    "concurrency=1 reject",
    "concurrency=3",
    "skip=lag",
    "threshold=lag:2",
];
const MODES: [&str; 5] = ["", "", "", "warn", "runtime"];
const GATES: [&str; 5] = [
    "lag replication_lag 5 | |",
    "lag replication_lag 5 | | binary reject",
    "lag replication_lag 5 | user=etl | binary",
    "lag replication_lag 5 | | warn",
    "threads threads_running 10 | class=write | binary",
];

struct Dice(SmallRng);

impl Dice {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.choose(&mut self.0).unwrap()
    }

    fn up_to(&mut self, most: usize) -> usize {
        self.0.random_range(0..=most)
    }

    fn rules(&mut self) -> Vec<String> {
        let count = self.up_to(4);
        let rule = |number| format!("r{number} | {} | {} {}", self.one(&MATCHES), self.one(&EFFECTS), self.one(&MODES));
        (0..count).map(rule).collect()
    }
}

/// What may come of a statement, by what is said of it.
#[derive(Debug, Default, PartialEq)]
struct Allowed {
    once: bool,
    held: bool,
    refused: bool,
}

impl Allowed {
    fn by(ruling: &Ruling) -> Allowed {
        let mut allowed = Allowed::default();
        match ruling {
            Ruling::NeverDelayed | Ruling::GoesOn | Ruling::NoRule | Ruling::Exempt { .. } => allowed.once = true,
            Ruling::Held { .. } => allowed.held = true,
            Ruling::Limited { places, gates } => allowed.go(places, gates),
            Ruling::Dice { ratio, lost, places, gates, .. } => {
                if *ratio < 1.0 {
                    allowed.go(places, gates);
                }
                if *ratio > 0.0 {
                    match lost {
                        Lost::Refused => allowed.refused = true,
                        Lost::Delayed(..) => allowed.held = true,
                    }
                }
            }
        }
        allowed
    }

    /// On to limits and gates. Of several that stop it, the one decides whose patience ends first.
    fn go(&mut self, places: &[Place], gates: &[AtGate]) {
        let full = places.iter().filter(|place| place.used >= place.limit).map(|place| place.rejects);
        let gates = gates.iter().filter(|gate| gate.does.stops()).map(|gate| gate.does == Does::Rejects);
        let stops: Vec<bool> = full.chain(gates).collect();
        self.once |= stops.is_empty();
        self.refused |= stops.contains(&true);
        self.held |= stops.contains(&false);
    }

    fn has(&self, at: &At) -> bool {
        match at {
            At::Once => self.once,
            At::Held => self.held,
            At::Refused => self.refused,
        }
    }
}

fn needs_places(ruling: &Ruling) -> bool {
    match ruling {
        Ruling::Limited { places, .. } | Ruling::Dice { places, .. } => !places.is_empty(),
        Ruling::NeverDelayed | Ruling::GoesOn | Ruling::NoRule | Ruling::Exempt { .. } | Ruling::Held { .. } => false,
    }
}

/// Keeps what passes, so that places stay taken.
async fn outcome(verdict: Verdict) -> (At, Option<Permit>) {
    match verdict {
        Verdict::Pass(permit) => (At::Once, Some(permit)),
        Verdict::Refuse(_) => (At::Refused, None),
        Verdict::Hold(hold) => match tokio::time::timeout(Duration::from_millis(1), hold).await {
            Ok(Ok(permit)) => (At::Once, Some(permit)),
            Ok(Err(_)) => (At::Refused, None),
            Err(_) => (At::Held, None),
        },
    }
}

/// A session of one of these, in some state that a login and a few statements lead to.
async fn session(stage: &Stage, dice: &mut Dice) -> (Session, &'static str) {
    let user = dice.one(&USERS);
    let mut session = stage.login(user);
    let before: &[&str] = match dice.up_to(5) {
        // A transaction of which `explain` is told is one that has read.
        0 | 1 => &["BEGIN", "SELECT * FROM t WHERE id = 1"],
        2 => &["SET autocommit = 0"],
        _ => &[],
    };
    for sql in before {
        // A transaction that was stopped, or that began by an exemption, is another thing to the verdict, which `explain` is not told.
        let is_exempt = matches!(explain(stage, user, sql, OUTSIDE).ruling, Ruling::Exempt { .. });
        if is_exempt || session.at(sql).await != At::Once {
            return (stage.login(user), user);
        }
    }
    if dice.up_to(5) == 0 {
        session.state.holds_locks = true;
    }
    (session, user)
}

#[tokio::test(start_paused = true)]
async fn explanation_and_verdict_agree() {
    let mut compared = [0; 3];
    for seed in 0..STAGES {
        let mut dice = Dice(SmallRng::seed_from_u64(seed));
        let gates: Vec<&str> = if dice.up_to(1) == 0 { Vec::new() } else { vec![dice.one(&GATES)] };
        let rules = dice.rules();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let stage = Setup { gates: gates.clone(), ..Setup::default() }.stage(&rules);
        let mut running = Vec::new();
        for _ in 0..QUESTIONS {
            if !gates.is_empty() {
                let (lag, threads) = (dice.up_to(8) as f64, dice.up_to(15) as f64);
                stage.measure(&[("replication_lag", lag), ("threads_running", threads)]).await;
            }
            let (mut session, user) = session(&stage, &mut dice).await;
            let sql = dice.one(&STATEMENTS);
            let explained = explain(&stage, user, sql, session.state);
            let mut allowed = Allowed::by(&explained.ruling);
            // What its transaction has already, a statement needs no more.
            allowed.once |= session.state.in_transaction && needs_places(&explained.ruling);
            let verdict = session.ask(sql);
            let (at, permit) = outcome(verdict).await;
            assert!(
                allowed.has(&at),
                "seed {seed}, {user}, {:?}: {sql}\n{}\nit is {at:?}\n{rules:#?} {gates:?}",
                session.state,
                explained.ruling
            );
            if at == At::Refused {
                assert!(explained.refusal.is_some(), "seed {seed}, {user}: {sql}: nothing can refuse it");
            }
            compared[at as usize] += 1;
            // A few go on running.
            if permit.is_some() && dice.up_to(2) == 0 {
                running.push((session, permit));
            }
            if running.len() > 3 {
                running.remove(0);
            }
        }
    }
    let [once, held, refused] = compared;
    assert_eq!(once + held + refused, 10_000);
    assert!(once > 1000 && held > 500 && refused > 500, "the sessions are too much alike: {compared:?}");
}
