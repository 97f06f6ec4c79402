//! What stands between a command and the upstream, as the relay sees it.
//!
//! The session asks for every command that has a reply. Only a [`Permit`] lets it be forwarded: the function that
//! writes to the upstream takes one by value, and keeps it until the reply has ended, which settles it.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use statement::{Mode, Scan};
use wire::{Command, Parameters};

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

/// Where a command is counted for as long as it runs.
pub trait Account: Send + Sync {
    /// The upstream waits, because the client does not read, or does not send the rest: what runs at the client's pace does not count as
    /// running.
    fn blocked_on_client(&self);

    /// The client has sent the rest, and the upstream may only now begin.
    fn resumed(&self);

    /// The reply has ended.
    fn settle(&self, outcome: Outcome);

    /// Nobody will see the reply end.
    fn abandon(&self);
}

/// The right to forward one command, with everything that it took: given back when the reply settles it, or when it is dropped.
#[must_use = "a permit is used up by forwarding with it"]
pub struct Permit {
    account: Option<Arc<dyn Account>>,
}

impl Permit {
    pub fn new(account: Arc<dyn Account>) -> Permit {
        Permit { account: Some(account) }
    }

    /// Of a command that has no reply, so that nobody was asked.
    pub fn without_reply() -> Permit {
        Permit { account: None }
    }

    pub fn blocked_on_client(&self) {
        if let Some(account) = &self.account {
            account.blocked_on_client();
        }
    }

    pub fn resumed(&self) {
        if let Some(account) = &self.account {
            account.resumed();
        }
    }

    #[inline]
    pub fn settle(mut self, outcome: Outcome) {
        if let Some(account) = self.account.take() {
            account.settle(outcome);
        }
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        if let Some(account) = self.account.take() {
            account.abandon();
        }
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
