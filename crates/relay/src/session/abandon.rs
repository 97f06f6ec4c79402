//! The client is gone; its statement may not be.
//!
//! MySQL finishes a running statement after its client has left, and notices only when it writes. So the upstream's
//! connection, and with it the permit, is kept until the reply has ended; where the proxy has a user for it, the
//! statement is killed. A command or file of which the upstream has not got all is not run: the connection is closed.

use std::time::Duration;

use tokio::time::timeout;
use wire::Stop;

use super::{Session, Turn};
use crate::counters::Counter;

/// A server that writes so much writes a result: it notices at its next write that nobody reads, and ends.
const DISCARDED: usize = 1024 * 1024;

/// How long a server may take to end a statement that it has been told to end.
const KILL_AGAIN: Duration = Duration::from_secs(1);

impl Session {
    pub(super) async fn abandon(mut self) {
        let Some(under_way) = self.under_way else { return };
        // A dump's server ends it when it cannot write.
        if self.tracker.is_idle() || self.tracker.follows_binlog() {
            return;
        }
        if under_way.turn == Turn::Client || self.permit.is_none() {
            return;
        }
        self.until_over().await;
        // Nobody has read it, and yet it, or what came before it in its text, may have been committed.
        if self.tracker.is_idle() || self.tracker.affected > 0 {
            self.settle_permit();
        }
    }

    async fn until_over(&mut self) {
        // It may have ended in what is here already.
        let mut discarded = 0;
        if self.discard_what_is_here(&mut discarded) == Reply::Over {
            return;
        }
        let mut pause = KILL_AGAIN;
        while self.kill_query().await {
            // KILL QUERY ends one statement of a text that may have more; one that rolls back takes its time.
            if timeout(pause, self.discard_reply(&mut discarded)).await.is_ok() {
                return;
            }
            pause *= 2;
        }
        self.discard_reply(&mut discarded).await;
    }

    async fn kill_query(&mut self) -> bool {
        let (Some(killer), Some(id)) = (self.shared.killer.clone(), self.handle().upstream_id()) else { return false };
        let killed = killer.kill_query(id, self.handle().upstream_address()).await;
        if killed {
            self.shared.counters.add(Counter::QueriesKilled);
        }
        killed
    }

    /// Until the reply has ended, or is a result that nobody waits for, or the upstream is gone. Cancel safe.
    async fn discard_reply(&mut self, discarded: &mut usize) {
        while *discarded < DISCARDED {
            match self.upstream.input.fill(&mut self.upstream.transport).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if self.discard_what_is_here(discarded) == Reply::Over {
                return;
            }
        }
    }

    fn discard_what_is_here(&mut self, discarded: &mut usize) -> Reply {
        loop {
            let Ok(step) = self.tracker.advance(self.upstream.input.unread()) else { return Reply::Over };
            self.upstream.input.consume(step.consumed);
            *discarded += step.consumed;
            match step.stop {
                Stop::NeedMore => return Reply::GoesOn,
                Stop::NeedWhole(length) => {
                    self.upstream.input.reserve(length);
                    return Reply::GoesOn;
                }
                Stop::Redirect(length) => {
                    let stop = self.tracker.pass_packet(&self.upstream.input.unread()[..length]);
                    self.upstream.input.consume(length);
                    if !matches!(stop, Ok(Stop::NeedMore)) {
                        return Reply::Over;
                    }
                }
                // Nobody is left to send a file.
                Stop::End | Stop::LocalInfile => return Reply::Over,
            }
        }
    }
}

/// Of a reply that nobody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    GoesOn,
    /// It has ended, or nobody can tell any more where it does.
    Over,
}
