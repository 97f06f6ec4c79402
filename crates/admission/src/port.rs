//! What stands between a command and the upstream, as the relay sees it.
//!
//! The session asks for every command that has a reply. Only a [`Permit`] lets it be forwarded: the function that
//! writes to the upstream takes one by value, and keeps it until the reply has ended.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use statement::{Mode, Scan};
use wire::{Command, Parameters};

use crate::limits::Taken;
use crate::note::Note;

/// Decides who gets in, and gives everyone who does a gate.
pub trait Admission: Send + Sync + 'static {
    /// Asked before the upstream is dialled: whether a client that says this of itself would get in now. Nothing is
    /// taken, since nobody has proved anything yet.
    fn may_connect(&self, client: &Client<'_>) -> Result<(), Refusal> {
        let _ = client;
        Ok(())
    }

    /// Whether one who is connected may be this one from now on. It is no further connection, so no gate on logins is asked.
    fn may_become(&self, client: &Client<'_>) -> Result<(), Refusal> {
        let _ = client;
        Ok(())
    }

    /// A client has logged in.
    fn enter(&self, client: &Client<'_>) -> Result<Box<dyn Gate>, Refusal>;
}

/// One session's way to a permit. Called on the data path: it must not block, and should not allocate where it passes.
pub trait Gate: Send + fmt::Debug {
    fn ask(&mut self, ask: &Ask<'_>) -> Verdict;

    /// What is remembered of a text that is prepared, for its executions.
    fn note(&mut self, sql: &[u8], scan: &Scan) -> Arc<Note> {
        let _ = (sql, scan);
        Arc::new(Note::unknown())
    }

    /// A hold has ended with this permit; the gate may keep for longer what is in it.
    fn granted(&mut self, permit: Permit) -> Permit {
        permit
    }

    /// A hold has ended in a refusal, which the client is about to get. KILL counts as none.
    fn refused(&mut self, refusal: &Refusal) {
        let _ = refusal;
    }

    /// The upstream waits, because the client does not read, or does not send the rest: what runs at the client's pace does not count as
    /// running.
    fn blocked_on_client(&mut self) {}

    /// The client has sent the rest, and the upstream may only now begin.
    fn resumed(&mut self) {}

    /// The reply to the last command that was asked for has ended.
    fn settled(&mut self, outcome: Outcome) {
        let _ = outcome;
    }

    /// COM_RESET_CONNECTION succeeded.
    fn reset(&mut self) {}

    /// COM_CHANGE_USER succeeded.
    fn changed_user(&mut self, client: &Client<'_>) -> Result<(), Refusal> {
        let _ = client;
        Ok(())
    }
}

/// A client, as its login shows it.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// The id that it was greeted with.
    pub connection: u32,
    pub user: &'a [u8],
    /// `None` on a Unix socket.
    pub address: Option<SocketAddr>,
    pub listener: &'a str,
    /// The subject of a certificate that was verified.
    pub certificate: Option<&'a str>,
    pub attributes: &'a [(Vec<u8>, Vec<u8>)],
    pub database: Option<&'a [u8]>,
}

/// A command that waits for its verdict.
#[derive(Debug)]
pub struct Ask<'a> {
    pub client: Client<'a>,
    pub command: Command,
    /// The start of the command with its first byte, at most `inspect` bytes.
    pub payload: &'a [u8],
    /// The SQL in `payload`, where the command has one, and its one reading.
    pub sql: Option<(&'a [u8], &'a Scan)>,
    /// Of an execution: what was noted when its statement was prepared.
    pub note: Option<&'a Arc<Note>>,
    /// Query attributes, and how many parameters of the statement come before them.
    pub attributes: Option<(Parameters<'a>, usize)>,
    /// How the server would read a text of this session now, if that is known: it may read a prepared one again.
    pub mode: Option<Mode>,
    pub session: SessionState,
}

/// What the replies so far say of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    pub in_transaction: bool,
    pub autocommit: bool,
    /// Table locks, the global read lock or other metadata locks, which no status flag shows. User-level locks are not among them.
    pub holds_locks: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub succeeded: bool,
    /// The error was a deadlock: the transaction is over, and nothing of it stays.
    pub deadlocked: bool,
    /// Rows that its OKs say it changed.
    pub rows: u64,
    pub session: SessionState,
}

pub enum Verdict {
    Pass(Permit),
    /// Wait for the future; the client may leave meanwhile, and the command is then never sent.
    Hold(Hold),
    Refuse(Refusal),
}

pub type Hold = Pin<Box<dyn Future<Output = Result<Permit, Refusal>> + Send>>;

impl fmt::Debug for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Pass(_) => f.write_str("Pass"),
            Verdict::Hold(_) => f.write_str("Hold"),
            Verdict::Refuse(refusal) => f.debug_tuple("Refuse").field(refusal).finish(),
        }
    }
}

/// The right to forward one command. Dropping it gives back what it took.
#[must_use = "a permit is used up by forwarding with it"]
pub struct Permit {
    /// Under limits and at gates; a session's gate keeps each for as long as it is needed.
    pub(crate) taken: Vec<Taken>,
    /// It passes by an exemption, so what it locks earns nothing.
    pub(crate) exempt: bool,
    /// Whatever gives back in its own `Drop`; nothing for a free pass, so that passing allocates nothing.
    _held: Option<Box<dyn Send>>,
}

impl Permit {
    pub fn free() -> Permit {
        Permit { taken: Vec::new(), exempt: false, _held: None }
    }

    pub fn holding(held: Box<dyn Send>) -> Permit {
        Permit { taken: Vec::new(), exempt: false, _held: Some(held) }
    }

    pub(crate) fn with(taken: Vec<Taken>, exempt: bool) -> Permit {
        Permit { taken, exempt, _held: None }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

/// The error that a refused client sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

/// Lets everything pass: the proxy without rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassAll;

impl Admission for PassAll {
    fn enter(&self, _client: &Client<'_>) -> Result<Box<dyn Gate>, Refusal> {
        Ok(Box::new(PassAll))
    }
}

impl Gate for PassAll {
    #[inline]
    fn ask(&mut self, _ask: &Ask<'_>) -> Verdict {
        Verdict::Pass(Permit::free())
    }
}
