//! `max_concurrency` and `max_connections` over whole sessions, whatever happens to them in whatever order: answers, errors,
//! deadlocks, KILLs, disconnects, changes of the user, resets, reloads, and time.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::advance;

use crate::port::{Hold, Permit, Verdict};
use crate::stage::{Session, Stage, Who};

const INTERLEAVINGS: u64 = 10_000;
const STEPS: usize = 32;
const MOST_SESSIONS: usize = 8;
/// The first user has a limit on its connections. All but the last share a limit on what runs at once. One of the
/// users is exempt.
const USERS: [&str; 4] = ["app", "etl", "ops", "web"];
const WRITE: &str = "UPDATE t SET a = 1";
const READ: &str = "SELECT * FROM t";
const REFUSED: &str = "ALTER TABLE t ADD b INT";

struct Client {
    session: Session,
    user: &'static str,
    doing: Doing,
    /// A data statement of its unit has been let through, and the unit has not ended.
    in_unit: bool,
    /// Its unit took its place without waiting for it: it is exempt, or held locks.
    forced: bool,
    /// Its unit has ended, and table locks keep its place.
    kept: bool,
}

enum Doing {
    Nothing,
    Runs(&'static str, Permit),
    Waits(&'static str, Hold),
}

#[derive(Clone, Copy)]
struct Limits {
    at_once: u32,
    connections: u32,
}

impl Limits {
    fn rolled(dice: &mut SmallRng) -> Limits {
        Limits { at_once: dice.random_range(1..4), connections: dice.random_range(1..5) }
    }

    fn rules(self) -> [String; 4] {
        let Limits { at_once, connections } = self;
        [
            format!("work | user=app,etl,ops | concurrency={at_once} delay=2000"),
            format!("seats | user=app | connections={connections}"),
            "never | class=ddl | ratio=1 reject".to_owned(),
            "exempt | user=ops | exempt".to_owned(),
        ]
    }
}

struct Simulation {
    stage: Stage,
    dice: SmallRng,
    limits: Limits,
    clients: BTreeMap<u32, Client>,
    next: u32,
    /// Places that were waited for.
    used: u32,
    /// How often a place was seen that was not waited for.
    forced: usize,
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut dice = SmallRng::seed_from_u64(seed);
        let limits = Limits::rolled(&mut dice);
        let stage = Stage::new(&limits.rules().each_ref().map(String::as_str));
        Simulation { stage, dice, limits, clients: BTreeMap::new(), next: 0, used: 0, forced: 0 }
    }

    /// Somebody of whom this holds.
    fn any(&mut self, is_one: impl Fn(&Client) -> bool) -> Option<u32> {
        let those: Vec<u32> = self.clients.iter().filter(|(_, client)| is_one(client)).map(|(id, _)| *id).collect();
        (!those.is_empty()).then(|| those[self.dice.random_range(0..those.len())])
    }

    async fn step(&mut self) -> Result<(), String> {
        let roll = self.dice.random_range(0..100);
        match roll {
            0..18 => self.login()?,
            18..24 => {
                if let Some(id) = self.any(|_| true) {
                    self.clients.remove(&id);
                }
            }
            24..60 => self.ask(),
            60..82 => self.answer(),
            82..87 => self.kill_hold(),
            87..91 => {
                self.limits = Limits::rolled(&mut self.dice);
                self.stage.apply(&self.limits.rules().each_ref().map(String::as_str));
            }
            91..95 => self.begin_anew()?,
            _ => advance(Duration::from_millis(self.dice.random_range(0..900))).await,
        }
        // Whoever may go goes, and a fresh budget for the next polls.
        tokio::task::yield_now().await;
        self.poll_all();
        self.check()
    }

    fn login(&mut self) -> Result<(), String> {
        if self.clients.len() >= MOST_SESSIONS {
            return Ok(());
        }
        let user = USERS[self.dice.random_range(0..USERS.len())];
        let there = self.seats();
        let full = user == "app" && there >= self.limits.connections;
        match self.stage.try_login(user) {
            Ok(_) if full => Err(format!("let in beside {there} of {}", self.limits.connections)),
            Err(_) if !full => Err(format!("kept out beside {there} of {}", self.limits.connections)),
            Err(_) => Ok(()),
            Ok(session) => {
                self.next += 1;
                self.clients.insert(
                    self.next,
                    Client { session, user, doing: Doing::Nothing, in_unit: false, forced: false, kept: false },
                );
                Ok(())
            }
        }
    }

    fn ask(&mut self) {
        let Some(id) = self.any(|client| matches!(client.doing, Doing::Nothing)) else { return };
        let roll = self.dice.random_range(0..10);
        let locks = self.dice.random_bool(0.2);
        let Some(client) = self.clients.get_mut(&id) else { return };
        // Locks that it holds already go with an answer.
        client.session.state.holds_locks |= locks;
        let locks = client.session.state.holds_locks;
        let sql = match (client.session.state.in_transaction, roll) {
            (false, 0..3) => "BEGIN",
            (true, 0..2) => "COMMIT",
            (true, 2) => "ROLLBACK",
            (_, 3..6) => READ,
            (_, 6) => REFUSED,
            (_, _) => WRITE,
        };
        match client.session.ask(sql) {
            Verdict::Pass(permit) => {
                client.forced |= !client.in_unit && (locks || client.user == "ops");
                client.runs(sql, permit);
            }
            Verdict::Refuse(_) => client.refused(),
            Verdict::Hold(hold) => client.doing = Doing::Waits(sql, hold),
        }
    }

    fn answer(&mut self) {
        let Some(id) = self.any(|client| matches!(client.doing, Doing::Runs(..))) else { return };
        let (succeeds, deadlock) = (self.dice.random_bool(0.75), self.dice.random_bool(0.5));
        let unlocks = self.dice.random_bool(0.6);
        let Some(client) = self.clients.get_mut(&id) else { return };
        let Doing::Runs(sql, permit) = std::mem::replace(&mut client.doing, Doing::Nothing) else { return };
        if !succeeds && deadlock {
            client.session.state.in_transaction = false;
        }
        client.session.state.holds_locks &= !unlocks;
        client.session.answer(sql, succeeds);
        drop(permit);
        // Table locks keep the places of a unit that has ended, until a statement is answered without them.
        let state = client.session.state;
        if state.holds_locks {
            client.kept |= client.in_unit && (!state.in_transaction || sql == "BEGIN");
        } else {
            client.in_unit &= state.in_transaction && sql != "BEGIN" && !client.kept;
            client.kept = false;
        }
        client.forced &= client.in_unit;
    }

    /// As the relay does on KILL QUERY.
    fn kill_hold(&mut self) {
        let Some(id) = self.any(|client| matches!(client.doing, Doing::Waits(..))) else { return };
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.doing = Doing::Nothing;
    }

    fn begin_anew(&mut self) -> Result<(), String> {
        let Some(id) = self.any(|client| matches!(client.doing, Doing::Nothing)) else { return Ok(()) };
        let (user, changes) = (USERS[self.dice.random_range(0..USERS.len())], self.dice.random_bool(0.7));
        let Some(client) = self.clients.get_mut(&id) else { return Ok(()) };
        (client.in_unit, client.forced, client.kept) = (false, false, false);
        client.session.state.in_transaction = false;
        client.session.state.holds_locks = false;
        if !changes {
            client.session.gate.reset();
            return Ok(());
        }
        let was = std::mem::replace(&mut client.user, user);
        let changed = client.session.gate.changed_user(&Who::new(user).client());
        // Its own place is given back first.
        let others = self.seats() - u32::from(user == "app");
        let full = user == "app" && others >= self.limits.connections;
        match changed {
            Ok(()) if full => Err(format!("{was} became the {others} + 1st of {}", self.limits.connections)),
            Err(_) if !full => Err(format!("{was} was kept out beside {others} of {}", self.limits.connections)),
            Ok(()) => Ok(()),
            Err(_) => {
                self.clients.remove(&id);
                Ok(())
            }
        }
    }

    fn poll_all(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for client in self.clients.values_mut() {
            let Doing::Waits(sql, hold) = &mut client.doing else { continue };
            let sql = *sql;
            match hold.as_mut().poll(&mut context) {
                Poll::Pending => {}
                Poll::Ready(Ok(permit)) => {
                    let permit = client.session.keep(permit);
                    client.runs(sql, permit);
                }
                Poll::Ready(Err(_)) => {
                    client.doing = Doing::Nothing;
                    client.refused();
                }
            }
        }
    }

    fn seats(&self) -> u32 {
        u32::try_from(self.clients.values().filter(|client| client.user == "app").count()).unwrap()
    }

    fn check(&mut self) -> Result<(), String> {
        let (work, seats) = (self.stage.keeper.used("work").0, self.stage.keeper.used("seats").1);
        let limited = |client: &&Client| client.user != "web";
        let in_units = self.clients.values().filter(limited).filter(|client| client.in_unit).count();
        if usize::try_from(work) != Ok(in_units) {
            return Err(format!("{work} places are taken by {in_units} units"));
        }
        if seats != self.seats() {
            return Err(format!("{seats} seats are taken by {} sessions", self.seats()));
        }
        let forced = self.clients.values().filter(limited).filter(|client| client.in_unit && client.forced).count();
        let used = work - u32::try_from(forced).unwrap();
        if used > self.limits.at_once.max(self.used) {
            return Err(format!("{used} and {forced} more at once where {} may be", self.limits.at_once));
        }
        self.used = used;
        self.forced += forced;
        let waits = self.clients.values().any(|client| matches!(client.doing, Doing::Waits(..)));
        if waits && work < self.limits.at_once {
            return Err(format!("somebody waits although {work} of {} run", self.limits.at_once));
        }
        Ok(())
    }

    /// Everybody leaves; nothing stays behind.
    fn end(mut self) -> Result<usize, String> {
        self.clients.clear();
        let left =
            (self.stage.keeper.used("work"), self.stage.keeper.used("seats"), self.stage.keeper.limits.waiting());
        if left == ((0, 0), (0, 0), 0) { Ok(self.forced) } else { Err(format!("left behind: {left:?}")) }
    }
}

impl Client {
    fn runs(&mut self, sql: &'static str, permit: Permit) {
        if [READ, WRITE, REFUSED].contains(&sql) {
            (self.in_unit, self.kept) = (true, false);
        }
        self.doing = Doing::Runs(sql, permit);
    }

    fn refused(&mut self) {
        // A refused transaction runs nothing more; table locks are still held.
        if !self.session.state.holds_locks {
            (self.in_unit, self.forced, self.kept) = (false, false, false);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_limit_is_exceeded_and_nothing_leaks() {
    let mut forced = 0;
    for seed in 0..INTERLEAVINGS {
        let mut simulation = Simulation::new(seed);
        for _ in 0..STEPS {
            if let Err(error) = simulation.step().await {
                panic!("seed {seed}: {error}");
            }
        }
        match simulation.end() {
            Ok(places) => forced += places,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(forced > 10_000, "{forced} places that were not waited for");
}
