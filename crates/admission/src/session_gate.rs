//! One session's gate: from a command's bytes to a verdict.
//!
//! On the common path it scans the text once, sees that the policy is still the one it knows, judges with the
//! candidates that it found before, and adds to two counters.

mod asker;
mod decide;
mod named;
mod under_way;

pub(crate) use asker::Asker;
pub(crate) use decide::reason;

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use identity::Said;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use statement::{Charset, Class, Doubt, Mode, Shapes};
use tokio::time::Instant;
use wire::Command;

use crate::gatekeeper::Gatekeeper;
use crate::limits::Places;
use crate::note::Note;
use crate::policy::Policy;
use crate::port::{Ask, Client, Gate, Outcome, Permit, Refusal, SessionState, Verdict};
use crate::question::{self, KnownQuestion, TextQuestion};
use crate::unit::{Facts, Unit};

use asker::Askers;
use decide::Asked;
use named::{Meaning, Named};
use under_way::UnderWay;

pub(crate) struct SessionGate {
    context: Context,
    state: State,
}

/// What does not change while a question is answered.
struct Context {
    keeper: Arc<Gatekeeper>,
    policy: Arc<Policy>,
}

/// What does.
struct State {
    askers: Askers,
    unit: Unit,
    /// Under limits on what runs at once, until the unit ends.
    places: Vec<Places>,
    /// Under limits on connections, until the session ends.
    connection: Option<Places>,
    named: Named,
    schema: Option<Box<[u8]>>,
    charset: Charset,
    under_way: UnderWay,
    /// As of the last question.
    session: SessionState,
    dice: SmallRng,
}

impl fmt::Debug for SessionGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionGate").field("unit", &self.state.unit).finish_non_exhaustive()
    }
}

impl SessionGate {
    pub(crate) fn new(keeper: Arc<Gatekeeper>, client: &Client<'_>) -> Result<SessionGate, Refusal> {
        let policy = keeper.policy();
        let askers = Askers::new(&keeper, &policy, client);
        let state = State {
            connection: keeper.take_connection(&policy, askers.own(), client.database)?,
            askers,
            unit: Unit::default(),
            places: Vec::new(),
            named: Named::default(),
            schema: client.database.map(Box::from),
            charset: client.charset,
            under_way: UnderWay::default(),
            session: SessionState { in_transaction: false, autocommit: true, holds_locks: false },
            dice: SmallRng::seed_from_u64(keeper.seed()),
        };
        Ok(SessionGate { context: Context { keeper, policy }, state })
    }

    /// Takes up a new policy.
    #[inline]
    fn refresh(&mut self) {
        let Context { keeper, policy } = &mut self.context;
        if keeper.generation.load(Ordering::Acquire) != policy.generation {
            *policy = keeper.policy();
            self.state.askers.renew(keeper, policy);
        }
    }
}

impl State {
    fn ask_text(&mut self, context: &Context, ask: &Ask<'_>) -> Verdict {
        let sql = ask.sql.unwrap_or_default();
        let mode = Mode { charset: self.charset, ..ask.mode };
        let scan = statement::scan(sql, mode);
        self.under_way.read(sql, &scan);
        if let Some(named) = &scan.named {
            let read = self.named.read(sql, named, mode, &context.keeper.parsed, &mut self.under_way);
            if let Meaning::Executes(note) = read {
                return self.ask_note(context, ask, &note, question::comments(sql, &scan).as_ref());
            }
        }
        let mut facts = Facts {
            class: scan.class,
            free: scan.free,
            transaction: scan.transaction,
            crosses_boundary: scan.crosses_boundary,
            commits_implicitly: scan.commits_implicitly,
        };
        if facts.free {
            return self.pass(&facts);
        }
        // Taken out while the question borrows it.
        let schema = self.schema.take();
        let mut question = TextQuestion {
            class: scan.class,
            shapes: scan.shapes,
            schema: schema.as_deref(),
            sql,
            mode,
            cache: &context.keeper.parsed,
            fingerprint: OnceCell::new(),
            parsed: OnceCell::new(),
        };
        if scan.doubt != Doubt::None {
            facts.class = scan.class.or_stricter(question.parsed().class);
            question.class = facts.class;
        }
        let said = question::comments(sql, &scan);
        let asked = Asked { facts, ask, said: said.as_ref() };
        let verdict = self.decide(context, asked, &question, || KnownQuestion::of(&question));
        self.schema = schema;
        verdict
    }

    fn ask_note(&mut self, context: &Context, ask: &Ask<'_>, note: &Note, said: Option<&Said<'_>>) -> Verdict {
        if note.facts.free {
            return self.pass(&note.facts);
        }
        let question = KnownQuestion {
            class: note.facts.class,
            shapes: note.shapes,
            schema: self.schema.clone(),
            known: note.known.clone(),
        };
        let kept = note.said.as_ref().filter(|_| said.is_none()).map(identity::Kept::said);
        let asked = Asked { facts: note.facts, ask, said: said.or(kept.as_ref()) };
        self.decide(context, asked, &question, || question.clone())
    }

    /// COM_CREATE_DB and COM_DROP_DB, whose text is in their command byte.
    fn ask_ddl(&mut self, context: &Context, ask: &Ask<'_>) -> Verdict {
        let facts = Facts { class: Class::Ddl, free: false, commits_implicitly: true, ..Facts::FREE };
        let note = Note { facts, shapes: Shapes::empty(), known: None, said: None };
        self.ask_note(context, ask, &note, None)
    }

    /// What is never delayed is the connection's, whoever its comments name.
    #[inline]
    fn pass(&mut self, facts: &Facts) -> Verdict {
        let stats = &self.askers.own().stats;
        stats.saw(facts.class);
        stats.passed();
        self.unit.admitted(facts, None);
        Verdict::Pass(Permit::free())
    }
}

impl Gate for SessionGate {
    fn ask(&mut self, ask: &Ask<'_>) -> Verdict {
        self.refresh();
        let SessionGate { context, state } = self;
        state.session = ask.session;
        state.under_way.clear();
        match ask.command {
            Command::Query => state.ask_text(context, ask),
            Command::StmtExecute | Command::StmtBulkExecute => match ask.note {
                Some(note) => state.ask_note(context, ask, note, None),
                // The server knows no such statement either.
                None => state.ask_note(context, ask, &Note::unknown(), None),
            },
            Command::CreateDb | Command::DropDb => state.ask_ddl(context, ask),
            Command::InitDb => {
                state.under_way.use_schema(ask.payload.get(1..).unwrap_or_default());
                state.pass(&Facts::FREE)
            }
            Command::Quit
            | Command::FieldList
            | Command::Refresh
            | Command::Shutdown
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
            | Command::ResetConnection => Verdict::Pass(Permit::free()),
        }
    }

    fn note(&mut self, sql: &[u8], mode: Mode) -> Arc<Note> {
        let mode = Mode { charset: self.state.charset, ..mode };
        Arc::new(Note::of(sql, mode, &self.context.keeper.parsed))
    }

    fn granted(&mut self, mut permit: Permit) -> Permit {
        let state = &mut self.state;
        state.places.extend(permit.places.take());
        if let Some(facts) = state.under_way.take_held() {
            state.unit.admitted(&facts, Some(Instant::now()));
        }
        permit
    }

    fn refused(&mut self, refusal: &Refusal) {
        let state = &mut self.state;
        state.under_way.clear();
        state.unit.refused(refusal, state.session);
        if state.unit.is_refused() {
            state.places.clear();
        }
    }

    #[inline]
    fn settled(&mut self, outcome: Outcome) {
        let state = &mut self.state;
        if state.unit.settled(outcome, Instant::now) {
            state.places.clear();
        }
        if outcome.succeeded {
            state.under_way.apply(&mut state.schema, &mut state.charset, &mut state.named);
        }
    }

    fn reset(&mut self) {
        let state = &mut self.state;
        state.unit.reset();
        state.places.clear();
        state.named = Named::default();
    }

    fn changed_user(&mut self, client: &Client<'_>) -> Result<(), Refusal> {
        self.reset();
        self.refresh();
        let SessionGate { context: Context { keeper, policy }, state } = self;
        state.askers = Askers::new(keeper, policy, client);
        state.schema = client.database.map(Box::from);
        state.charset = client.charset;
        // The old user's place is given back first, so that a session never needs two.
        state.connection = None;
        state.connection = keeper.take_connection(policy, state.askers.own(), client.database)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
