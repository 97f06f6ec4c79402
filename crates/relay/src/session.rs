//! One client and its upstream, from accept to the end.
//!
//! `run` reads like the life of a query: read a command, look at it, ask whether it may go, forward it with the permit,
//! copy the reply, settle. One command is under way at a time; what a client sends ahead waits in its buffer and then
//! in its socket, so replies come in order and a slow reader slows nobody but itself.

mod abandon;
mod admit;
mod binlog;
mod change_user;
mod copy_reply;
mod forward;
mod inspect;
pub(crate) mod kill_parameter;
mod local_infile;
mod read_command;
mod refuse;
mod renumber;
mod settle;
mod statements;
mod stream_rewritten;

use std::sync::Arc;
use std::time::Duration;

use ::session::{Part, SessionText, Source, StatementsPerText};
use statement::{Scan, Server};
use tokio::io::AsyncWriteExt;
use tracing::debug;
use wire::{Capabilities, Command, ReplyShape, ReplyTracker, StatusFlags};

use crate::counters::Counter;
use crate::error::{Blame, SessionError};
use crate::facts::SessionFacts;
use crate::leg::Leg;
use crate::limits::{Slot, UnauthenticatedPlaces};
use crate::listener::Accepted;
use crate::login::{self, LoggedIn};
use crate::registry::{Entry, SessionHandle};
use crate::shared::Shared;
use crate::transport::Patience;
use admission::port::{Gate, Permit, SessionState};

use forward::Sent;
use inspect::Reading;
use renumber::Renumber;
use statements::Statements;

/// A session that is logged in.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    client: Leg,
    upstream: Leg,
    facts: SessionFacts,
    gate: Box<dyn Gate>,
    tracker: ReplyTracker,
    statements: Statements,
    /// What decides how the next text is read.
    text: SessionText,
    /// The one reading of the text of the command under way.
    scan: Option<Scan>,
    /// Of the command that runs, until its reply has ended.
    permit: Option<Permit>,
    /// The command that is under way, for what is told to a client whose session is broken off.
    under_way: Option<UnderWay>,
    /// Of that command, with its client.
    patience: Patience,
    /// Whether the client has sent a command yet.
    asked: bool,
    /// Set where the upstream counts the packets of this reply otherwise than the client.
    renumber: Option<Renumber>,
    entry: Entry,
    /// Places under the limits per address and per user, given back when the session ends.
    slots: (Option<Slot>, Slot),
}

/// What an ERR in place of the rest of a reply must fit.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// The sequence number of the command's last packet.
    sequence: u8,
    /// Whether anything of the reply has gone to the client.
    answered: bool,
    /// Whose turn it is.
    turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The upstream has not got all of the command or file: if the rest never comes, it does nothing with it.
    Client,
    Upstream,
}

/// Serves one connection to its end. `connection_slot` and `unauthenticated` are places under the limits.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    accepted: Accepted,
    connection_slot: Slot,
    unauthenticated: UnauthenticatedPlaces,
) {
    let entry = shared.registry.enter();
    // Boxed, so that the memory of a login is not kept by the task for the whole life of the session.
    let logged_in = Box::pin(login::login(&shared, accepted, unauthenticated, &entry.handle)).await;
    if let Some(logged_in) = logged_in {
        Session::new(shared, logged_in, entry).run().await;
    }
    drop(connection_slot);
}

impl Session {
    fn new(shared: Arc<Shared>, logged_in: LoggedIn, entry: Entry) -> Session {
        let LoggedIn { client, upstream, facts, gate, status, slots } = logged_in;
        let server = server(&shared);
        let no_backslash_escapes = status.contains(StatusFlags::NO_BACKSLASH_ESCAPES);
        let statements = statements_per_text(facts.capabilities);
        let mut text = SessionText::new(server, facts.charset, statements, no_backslash_escapes);
        text.begin(shared.upstream.beginning());
        Session {
            tracker: ReplyTracker::new(facts.capabilities, status),
            text,
            scan: None,
            shared,
            client,
            upstream,
            facts,
            gate,
            statements: Statements::default(),
            permit: None,
            under_way: None,
            asked: false,
            renumber: None,
            patience: Patience::new(),
            entry,
            slots,
        }
    }

    async fn run(mut self) {
        let error = loop {
            match self.serve_command().await {
                Ok(Flow::Continue) => {}
                Ok(Flow::Quit) => return self.quit().await,
                Err(error) => break error,
            }
        };
        Box::pin(self.end(error)).await;
    }

    async fn serve_command(&mut self) -> Result<Flow, SessionError> {
        let request = self.read_command().await?;
        self.asked = true;
        self.heed_farewell().await?;
        let Some(command) = request.command else {
            self.shared.counters.add(Counter::CommandUnknown);
            return self.refuse(&request, &crate::error::ClientError::unknown_command()).await;
        };
        self.under_way = Some(UnderWay { sequence: request.header.sequence, answered: false, turn: Turn::Client });
        self.patience = Patience::new();
        if command == Command::ChangeUser {
            return Box::pin(self.change_user(&request)).await;
        }
        let mut reading = Reading::default();
        if let Err(error) = self.inspect(command, &request, &mut reading) {
            self.shared.counters.add(Counter::ClientMalformed);
            return self.refuse(&request, &error).await;
        }
        if command == Command::StmtPrepare {
            reading.note = Some(self.note(&request));
        }
        let shape = command.reply_shape();
        let permit = if shape == ReplyShape::None {
            // Nothing can be said to a client that expects no reply.
            Permit::without_reply()
        } else {
            match self.admit(command, &request, &reading).await? {
                Ok(permit) => permit,
                Err(refusal) => return self.refuse_statement(command, &request, &reading, refusal).await,
            }
        };
        // Something may have been said while the command was held.
        self.heed_farewell().await?;
        let sent = self.forward(command, &request, &reading, permit).await?;
        if command == Command::Quit {
            return Ok(Flow::Quit);
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.turn = Turn::Upstream;
        }
        match shape {
            ReplyShape::None => self.settle(command, &reading),
            ReplyShape::BinlogEvents => {
                Box::pin(self.copy_binlog()).await?;
                self.settle(command, &reading);
            }
            ReplyShape::Simple
            | ReplyShape::Text
            | ReplyShape::Results
            | ReplyShape::Prepare
            | ReplyShape::Fields
            | ReplyShape::Rows
            | ReplyShape::Login => self.copy_reply(command, &reading).await?,
        }
        // The rest of a command that was cut must not be taken for the next; and an error out of step is a server's last.
        if sent == Sent::CutShort || self.tracker.out_of_step {
            return Err(SessionError::UpstreamGone);
        }
        Ok(Flow::Continue)
    }

    fn handle(&self) -> &SessionHandle {
        &self.entry.handle
    }

    fn capabilities(&self) -> Capabilities {
        self.facts.capabilities
    }

    fn in_transaction(&self) -> bool {
        self.tracker.status.contains(StatusFlags::IN_TRANS)
    }

    fn state(&self) -> SessionState {
        SessionState {
            in_transaction: self.in_transaction(),
            autocommit: self.tracker.status.contains(StatusFlags::AUTOCOMMIT),
            holds_locks: self.text.locks().blocks_others(),
        }
    }

    /// Nothing is open that ending now would break off.
    fn at_boundary(&self) -> bool {
        !self.in_transaction() && !self.text.locks().may_hold_any()
    }

    fn no_backslash_escapes(&self) -> bool {
        self.tracker.status.contains(StatusFlags::NO_BACKSLASH_ESCAPES)
    }

    /// Reads the text of a command, once.
    #[inline]
    fn read_text(&self, sql: &[u8], source: Source, whole: bool) -> Scan {
        let part = if whole { Part::Whole } else { Part::Beginning };
        self.text.read(sql, source, part)
    }

    /// COM_QUIT went upstream; the server closes, and so do we.
    async fn quit(mut self) {
        let _ = self.upstream.transport.shutdown().await;
    }

    async fn end(mut self, error: SessionError) {
        let counter = error.counter();
        if let Some(counter) = counter {
            self.shared.counters.add(counter);
        }
        debug!(connection = self.handle().id, blame = ?error.blame(), %error, "session ended");
        if error.blame() == Blame::Upstream {
            self.shared.upstream.doubt();
        }
        self.say_why(&error).await;
        match error {
            SessionError::ClientGone | SessionError::ClientIo(_) => {
                if counter.is_none() && self.under_way.is_some() && !self.tracker.is_idle() {
                    self.shared.counters.add(Counter::LeftDuringReply);
                }
                self.abandon().await;
            }
            SessionError::Cut => self.abandon().await,
            SessionError::ClientMalformed(_)
            | SessionError::UpstreamGone
            | SessionError::UpstreamIo(_)
            | SessionError::OutOfSync(_)
            | SessionError::Drained => {}
        }
    }

    /// Tells the client why, where there is something to tell and an ERR fits into the stream, and lets it arrive.
    async fn say_why(&mut self, error: &SessionError) {
        if matches!(error, SessionError::ClientGone | SessionError::ClientIo(_)) {
            return;
        }
        let payload = error.client_error().map(|error| error.payload(self.capabilities()));
        let sequence = match self.under_way {
            Some(under_way) if !under_way.answered => Some(under_way.sequence.wrapping_add(1)),
            Some(_) if self.tracker.is_between_packets() && self.upstream.input.is_empty() => {
                Some(self.as_client_counts(self.tracker.sequence).wrapping_add(1))
            }
            Some(_) => None,
            // A server that shuts down just closes between commands (checked: MySQL 9.7).
            None => None,
        };
        let goodbye = async {
            if let (Some(sequence), Some(payload)) = (sequence, payload) {
                self.client.sequence = sequence;
                if self.client.write_packet(&payload).await.is_err() {
                    return;
                }
            }
            linger(&mut self.client).await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
    }
}

/// How a command left the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Continue,
    Quit,
}

/// Closes the writing side and reads until the peer has closed too: a socket closed with unread input is reset, and
/// what was written last may be lost with it. The caller limits the time.
pub(crate) async fn linger(leg: &mut Leg) {
    if leg.transport.shutdown().await.is_err() {
        return;
    }
    loop {
        leg.input.consume(leg.input.len());
        match leg.input.fill(&mut leg.transport).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

fn statements_per_text(capabilities: Capabilities) -> StatementsPerText {
    if capabilities.contains(Capabilities::MULTI_STATEMENTS) {
        StatementsPerText::Several
    } else {
        StatementsPerText::One
    }
}

/// Which versioned comments the upstream takes for code.
pub(crate) fn server(shared: &Shared) -> Server {
    shared.upstream.last_greeting().map_or(Server::Unknown, |greeting| {
        let version = version_number(&greeting.version);
        match (version, greeting.is_mariadb()) {
            (None, _) => Server::Unknown,
            (Some(version), true) => Server::MariaDb(version),
            (Some(version), false) => Server::MySql(version),
        }
    })
}

/// `9.7.4-2` is 90704; MariaDB may write `5.5.5-10.11.6-MariaDB`, a prefix for old clients.
fn version_number(version: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(version).ok()?;
    let text = text.strip_prefix("5.5.5-").unwrap_or(text);
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (major, minor, patch) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    major.checked_mul(10_000)?.checked_add(minor.checked_mul(100)?)?.checked_add(patch)
}

#[cfg(test)]
mod tests;
