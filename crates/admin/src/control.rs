//! What an operator can ask of the running proxy, and how it gets there.
//!
//! Rules are kept by one thread, which reads files and syncs them to the disk. Whoever asks sends it a command and waits
//! for the answer; the HTTP side only turns requests into commands.

use std::sync::mpsc::Sender;

use serde_json::Value as Json;
use tokio::sync::oneshot;

/// One wish.
#[derive(Debug)]
pub enum Command {
    /// Every rule in force or about to be, with what it did so far.
    Rules,
    /// A rule as `proxy.yaml` would have it, with `for` in place of `expires`. A text, in which a key that is written twice
    /// is still seen.
    Add {
        rule: String,
    },
    /// `{ "for": "2h" | "expires": "…", "reason": "…", "by": "…" }`
    Extend {
        id: String,
        change: Json,
    },
    /// `{ "by": "…" }`
    End {
        id: String,
        change: Json,
    },
    Incidents,
    /// `{ "id": "INC-42", "playbook": "…", "reason": "…", "by": "…" }`
    OpenIncident {
        incident: Json,
    },
    /// `{ "by": "…" }`
    CloseIncident {
        id: String,
        change: Json,
    },
    /// Who asked what and got what.
    Clients,
    /// How the database is doing, and every gate.
    Gates,
    /// What a gate's metric was in the last hours.
    History {
        gate: String,
    },
    /// What would become of a query: `{ "user": "etl", "sql": "DELETE …" }` and what else is known of who asks.
    Explain {
        question: Json,
    },
    /// Read proxy.yaml again.
    Reload,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlError {
    pub kind: ControlErrorKind,
    /// All that is wrong, a line each.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlErrorKind {
    /// What was asked for makes no sense.
    Invalid,
    NotFound,
    /// It clashes with what is there.
    Conflict,
    /// It makes sense, but could not be kept or done.
    Failed,
}

pub type Reply = Result<Json, ControlError>;

/// A command and where its answer is waited for.
#[derive(Debug)]
pub struct Request {
    pub command: Command,
    pub reply: oneshot::Sender<Reply>,
}

/// The way to whoever keeps the rules.
#[derive(Debug, Clone)]
pub struct Controller {
    requests: Sender<Request>,
}

impl Controller {
    pub fn new(requests: Sender<Request>) -> Controller {
        Controller { requests }
    }

    pub async fn ask(&self, command: Command) -> Reply {
        let gone = || ControlError { kind: ControlErrorKind::Failed, message: "the proxy is ending".to_owned() };
        let (reply, answer) = oneshot::channel();
        self.requests.send(Request { command, reply }).map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}
