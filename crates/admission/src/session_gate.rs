//! One session's gate: from a command's bytes to a verdict.
//!
//! On the common path it scans the text once, sees that the policy is still the one it knows, judges with the
//! candidates that it found before, and adds to two counters.

mod act;
mod asker;
mod named;
mod running;
mod under_way;

pub(crate) use asker::Asker;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use identity::Said;
use rand::rngs::SmallRng;
use statement::{Class, Defines, Scan, TransactionEffect};
use tokio::time::Instant;
use wire::Command;

use crate::connections::{Connected, Full, Warned};
use crate::gatekeeper::Gatekeeper;
use crate::limits::{Places, Taken};
use crate::login::Login;
use crate::note::{self, Note};
use crate::policy::Policy;
use crate::port::{Account, Ask, Client, Gate, Outcome, Permit, Refusal, SessionState, Verdict};
use crate::question::{DefaultSchema, NotedQuestion, Question, TextQuestion};
use crate::refusal::Reason;
use crate::spoken;
use crate::stats::Effect;
use crate::unit::{Facts, Unit};

use act::Action;
use asker::Askers;
use named::{Meaning, Named};
use running::Running;
use under_way::{Remembered, UnderWay};

pub(crate) struct SessionGate {
    context: Context,
}

/// What does not change while a question is answered.
struct Context {
    keeper: Arc<Gatekeeper>,
    policy: Arc<Policy>,
    session: Arc<AdmittedSession>,
}

/// A session that has been let in. Its permits, and what waits for one, know it too, and give back to it.
///
/// The lock is never contended: a session does one thing at a time.
pub(crate) struct AdmittedSession {
    keeper: Arc<Gatekeeper>,
    state: Mutex<State>,
}

/// What a hold has ended with.
pub(crate) struct Granted {
    pub(crate) taken: Vec<Taken>,
    /// It passes by an exemption, so what it locks earns nothing.
    pub(crate) exempt: bool,
}

/// What does.
struct State {
    askers: Askers,
    unit: Unit,
    /// Under limits on what runs at once, until the unit ends.
    places: Vec<Places>,
    running: Running,
    /// Under limits on connections, until the session ends.
    connected: Connected,
    remembered: Remembered,
    under_way: UnderWay,
    /// As of the last question.
    session: SessionState,
    dice: SmallRng,
}

impl fmt::Debug for SessionGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionGate").field("unit", &self.context.session.lock().unit).finish_non_exhaustive()
    }
}

impl SessionGate {
    pub(crate) fn new(keeper: Arc<Gatekeeper>, client: &Client<'_>) -> Result<SessionGate, Refusal> {
        let policy = keeper.policy();
        let login = Arc::new(Login::new(client));
        let askers = Askers::new(&keeper, &policy, &login);
        let (connected, warned) =
            keeper.connections.enter(&login, keeper.now()).map_err(|full| too_many(&keeper, askers.own(), &full))?;
        warn_of_connections(askers.own(), &warned);
        let state = State {
            askers,
            unit: Unit::default(),
            places: Vec::new(),
            running: Running::new(keeper.shard()),
            connected,
            remembered: Remembered { schema: DefaultSchema::of_login(client.database), named: Named::default() },
            under_way: UnderWay::default(),
            session: SessionState { in_transaction: false, autocommit: true, holds_locks: false },
            dice: keeper.dice(),
        };
        let session = AdmittedSession { keeper: Arc::clone(&keeper), state: Mutex::new(state) };
        Ok(SessionGate { context: Context { keeper, policy, session: Arc::new(session) } })
    }
}

impl Context {
    /// Takes up a new policy.
    #[inline]
    fn refresh(&mut self, state: &mut State) {
        let Context { keeper, policy, .. } = self;
        if keeper.generation.load(Ordering::Acquire) != policy.generation {
            *policy = keeper.policy();
            state.askers.renew(keeper, policy);
        }
    }

    #[inline]
    fn permit(&self) -> Permit {
        let session = Arc::clone(&self.session);
        Permit::new(session)
    }
}

fn too_many(keeper: &Gatekeeper, asker: &Asker, full: &Full) -> Refusal {
    asker.stats.by_rule(&full.0, Reason::Connections, Effect::Rejected);
    keeper.too_many(full, asker.who.name())
}

fn warn_of_connections(asker: &Asker, warned: &Warned) {
    warned.iter().for_each(|rule| asker.stats.by_rule(rule, Reason::Connections, Effect::Warned));
}

impl Drop for SessionGate {
    fn drop(&mut self) {
        let Context { keeper, session, .. } = &self.context;
        let mut state = session.lock();
        state.places.clear();
        state.running.abort(&keeper.gates, &keeper.limits);
    }
}

impl AdmittedSession {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere may have left it between two states: what is taken is given back when the session ends.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hold has ended.
    pub(crate) fn grant(self: &Arc<Self>, granted: Granted) -> Permit {
        let Granted { taken, exempt } = granted;
        let mut state = self.lock();
        let state = &mut *state;
        if let Some((facts, concerning)) = state.under_way.take_held() {
            state.unit.judged(Instant::now);
            state.unit.admitted(&facts, state.session, exempt);
            let asked = taken.iter().filter_map(|taken| taken.leave.as_ref()).fold(0, |all, leave| all | leave.gates());
            state.running.begin(&self.keeper.gates, &facts, concerning, asked);
        }
        for Taken { places, leave, charges } in taken {
            state.places.extend(places);
            state.running.charge(charges);
            // It is counted where it runs now.
            drop(leave);
        }
        let session = Arc::clone(self);
        Permit::new(session)
    }

    /// A refusal is about to be said.
    pub(crate) fn refuse(&self, refusal: &Refusal) {
        self.lock().refused(&self.keeper, refusal);
    }
}

impl Account for AdmittedSession {
    fn blocked_on_client(&self) {
        self.lock().running.blocked_on_client(&self.keeper.gates, &self.keeper.limits);
    }

    fn resumed(&self) {
        self.lock().running.resumed(&self.keeper.gates);
    }

    #[inline]
    fn settle(&self, outcome: Outcome) {
        let mut state = self.lock();
        let state = &mut *state;
        state.running.settle(&self.keeper.gates, &self.keeper.limits, &outcome);
        // A session that holds table locks keeps its places, as a transaction does: else LOCK TABLES would be a way around limits.
        if state.unit.settled(outcome, Instant::now) && !outcome.session.holds_locks {
            state.places.clear();
        }
        if state.under_way.has_changed_catalog() {
            self.keeper.catalog_wanted().notify_one();
        }
        state.under_way.apply(&mut state.remembered, outcome.succeeded);
    }

    fn abandon(&self) {
        let mut state = self.lock();
        let state = &mut *state;
        state.running.refused(&self.keeper.gates, &self.keeper.limits);
        state.under_way.clear();
        if !state.session.in_transaction && !state.session.holds_locks {
            state.places.clear();
        }
    }
}

impl State {
    #[inline]
    fn ask_text(&mut self, context: &Context, ask: &Ask<'_>) -> Verdict {
        // A command without a text runs a statement whose text was not seen.
        let Some((sql, scan)) = ask.sql else { return self.ask_note(context, ask, &Note::unknown(), None) };
        self.under_way.read(sql, scan);
        if let Some(named) = &scan.named {
            let (parsed, schema) = (&context.keeper.parsed, &self.remembered.schema);
            let meaning = self.remembered.named.read(sql, scan, named, schema, parsed, &mut self.under_way);
            if let Meaning::Executes(note) = meaning {
                let note = if note.holds_in(ask.mode) { note } else { Arc::new(Note::unknown()) };
                return self.ask_note(context, ask, &note, spoken::comments(sql, scan));
            }
        }
        if scan.free {
            return self.pass(context, &note::facts(scan, scan.class));
        }
        // Taken out while the question borrows it.
        let schema = std::mem::replace(&mut self.remembered.schema, DefaultSchema::None);
        let keeper = &context.keeper;
        let question = TextQuestion::new(sql, scan, schema.as_known(), &keeper.parsed, Some(&keeper.catalog));
        self.under_way.may_change_catalog(question.may_change_catalog());
        if scan.defines != Defines::Nothing {
            self.under_way.define(keeper.catalog.begin_change(scan.defines, scan.names(sql)));
        }
        let facts = note::facts(scan, question.class());
        let verdict = self.decide(context, ask, facts, spoken::comments(sql, scan), &question);
        keeper.count_doubts(scan.doubts | question.doubt_of_tables());
        drop(question);
        self.remembered.schema = schema;
        verdict
    }

    fn ask_note(&mut self, context: &Context, ask: &Ask<'_>, note: &Note, said: Option<Said<'_>>) -> Verdict {
        self.under_way.execute(note);
        if note.facts.free {
            return self.pass(context, &note.facts);
        }
        let schema = std::mem::replace(&mut self.remembered.schema, DefaultSchema::None);
        let question = NotedQuestion::new(note, schema.as_known(), &context.keeper.catalog);
        if note.defines != Defines::Nothing {
            let names = note.defined_names.as_deref().cloned();
            self.under_way.define(context.keeper.catalog.begin_change(note.defines, names));
        }
        self.under_way.may_change_catalog(question.may_change_catalog());
        let facts = Facts { class: question.class(), ..note.facts };
        let said = said.or_else(|| note.said.as_ref().map(identity::Kept::said));
        let verdict = self.decide(context, ask, facts, said, &question);
        context.keeper.count_doubts(note.doubts | question.doubt_of_tables());
        self.remembered.schema = schema;
        verdict
    }

    /// Commands that do what a statement does, such as COM_CREATE_DB.
    fn ask_command(&mut self, context: &Context, ask: &Ask<'_>, class: Class) -> Verdict {
        let facts = Facts { class, free: false, commits_implicitly: true, ..Facts::FREE };
        self.ask_note(context, ask, &Note::without_text(facts), None)
    }

    #[inline]
    fn decide(
        &mut self,
        context: &Context,
        ask: &Ask<'_>,
        facts: Facts,
        said: Option<Said<'_>>,
        question: &impl Question,
    ) -> Verdict {
        let Context { keeper, policy, session } = context;
        let asker = match ask.attributes {
            None => self.askers.of(keeper, policy, said),
            Some((parameters, before)) => {
                let attributes = spoken::attributes(parameters, before);
                let pairs = attributes.iter().map(|(name, value)| (*name, value.as_ref()));
                let said = said.unwrap_or_else(spoken::nothing);
                self.askers.of(keeper, policy, Some(said.with_query_attributes(pairs)))
            }
        };
        let action = Action {
            keeper,
            policy,
            admitted: session,
            asker,
            facts,
            session: ask.session,
            unit: &mut self.unit,
            places: &mut self.places,
            running: &mut self.running,
            under_way: &mut self.under_way,
            dice: &mut self.dice,
            leaves: Vec::new(),
            exempt: false,
        };
        action.run(question)
    }

    /// What is never delayed is the connection's, whoever its comments name.
    #[inline]
    fn pass(&mut self, context: &Context, facts: &Facts) -> Verdict {
        let stats = &self.askers.own().stats;
        stats.saw(facts.class);
        stats.passed();
        let ends = match facts.transaction {
            TransactionEffect::None => false,
            TransactionEffect::Begins => self.session.in_transaction,
            TransactionEffect::Ends => true,
        };
        if ends {
            self.running.begin_to_end(&context.keeper.gates, facts);
        }
        self.unit.admitted(facts, self.session, false);
        Verdict::Pass(context.permit())
    }

    fn refused(&mut self, keeper: &Gatekeeper, refusal: &Refusal) {
        self.under_way.clear();
        self.unit.refused(refusal, self.session);
        // A refused transaction runs nothing more; table locks are still held.
        if !self.session.holds_locks {
            self.places.clear();
        }
        self.running.refused(&keeper.gates, &keeper.limits);
    }

    fn ask(&mut self, context: &Context, ask: &Ask<'_>) -> Verdict {
        self.session = ask.session;
        self.under_way.clear();
        match ask.command {
            Command::Query => self.ask_text(context, ask),
            Command::StmtExecute | Command::StmtBulkExecute => match ask.note {
                Some(note) if note.holds_in(ask.mode) => self.ask_note(context, ask, note, None),
                // Without one the server knows no such statement either.
                Some(_) | None => self.ask_note(context, ask, &Note::unknown(), None),
            },
            Command::CreateDb | Command::DropDb | Command::Shutdown => self.ask_command(context, ask, Class::Ddl),
            // What FLUSH does.
            Command::Refresh => self.ask_command(context, ask, Class::Write),
            Command::InitDb => {
                self.under_way.use_schema(ask.payload.get(1..).unwrap_or_default());
                self.pass(context, &Facts::FREE)
            }
            Command::Quit
            | Command::FieldList
            | Command::Statistics
            | Command::ProcessInfo
            | Command::ProcessKill
            | Command::Debug
            | Command::Ping
            | Command::ChangeUser
            | Command::BinlogDump
            | Command::RegisterSlave
            | Command::StmtPrepare
            | Command::StmtSendLongData
            | Command::StmtClose
            | Command::StmtReset
            | Command::SetOption
            | Command::StmtFetch
            | Command::BinlogDumpGtid
            | Command::ResetConnection => Verdict::Pass(context.permit()),
        }
    }
}

impl Gate for SessionGate {
    fn ask(&mut self, ask: &Ask<'_>) -> Verdict {
        let session = Arc::clone(&self.context.session);
        let mut state = session.lock();
        self.context.refresh(&mut state);
        let verdict = state.ask(&self.context, ask);
        if let Verdict::Refuse(refusal) = &verdict {
            state.refused(&self.context.keeper, refusal);
        }
        verdict
    }

    fn note(&mut self, sql: &[u8], scan: &Scan) -> Arc<Note> {
        let state = self.context.session.lock();
        Arc::new(Note::of(sql, scan, &state.remembered.schema, &self.context.keeper.parsed))
    }

    fn reset(&mut self) {
        let Context { keeper, session, .. } = &self.context;
        let mut state = session.lock();
        state.unit.reset();
        state.places.clear();
        state.running.abort(&keeper.gates, &keeper.limits);
        state.under_way.clear();
        state.remembered.named = Named::default();
    }

    fn changed_user(&mut self, client: &Client<'_>) -> Result<(), Refusal> {
        self.reset();
        let session = Arc::clone(&self.context.session);
        let mut state = session.lock();
        self.context.refresh(&mut state);
        let Context { keeper, policy, .. } = &self.context;
        let login = Arc::new(Login::new(client));
        state.askers = Askers::new(keeper, policy, &login);
        state.remembered.schema = DefaultSchema::of_login(client.database);
        match state.connected.change(&login, keeper.now()) {
            Ok(warned) => {
                warn_of_connections(state.askers.own(), &warned);
                Ok(())
            }
            Err(full) => Err(too_many(keeper, state.askers.own(), &full)),
        }
    }
}

#[cfg(test)]
mod tests;
