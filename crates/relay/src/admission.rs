//! What stands between a command and the upstream.
//!
//! The session asks for every command that has a reply. Only a [`Permit`] lets it be forwarded: the function that
//! writes to the upstream takes one by value, and keeps it until the reply has ended.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use wire::Command;

use crate::facts::SessionFacts;

/// Decides about commands. Called on the data path: it must not block, and should not allocate where it passes.
pub trait Admission: Send + Sync + 'static {
    fn ask(&self, ask: &Ask<'_>) -> Verdict;
}

/// A command that waits for its verdict.
#[derive(Debug)]
pub struct Ask<'a> {
    pub facts: &'a SessionFacts,
    pub command: Command,
    /// The start of the command with its first byte, at most `inspect` bytes.
    pub payload: &'a [u8],
    /// Whether `payload` is all of it.
    pub whole: bool,
    /// The SQL in `payload`, where the command has one.
    pub sql: Option<&'a [u8]>,
    pub in_transaction: bool,
    /// Table locks, the global read lock or user-level locks, which no status flag shows.
    pub holds_locks: bool,
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
    /// Whatever gives back in its own `Drop`; nothing for a free pass, so that passing allocates nothing.
    _held: Option<Box<dyn Send>>,
}

impl Permit {
    pub fn free() -> Permit {
        Permit { _held: None }
    }

    pub fn holding(held: Box<dyn Send>) -> Permit {
        Permit { _held: Some(held) }
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
    #[inline]
    fn ask(&self, _ask: &Ask<'_>) -> Verdict {
        Verdict::Pass(Permit::free())
    }
}
