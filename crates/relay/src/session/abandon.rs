//! The client is gone; its statement may not be.
//!
//! MySQL finishes a running statement after its client has left, and notices only when it writes. So the upstream's
//! connection, and with it the permit, is kept until the statement answers; where the proxy has a user for it, the
//! statement is killed.

use super::{Sent, Session, UnderWay};
use crate::counters::Counter;

impl Session {
    pub(super) async fn abandon(mut self) {
        let sent = |under_way: UnderWay| under_way.sent != Sent::NotYet && !under_way.answered;
        let runs = self.under_way.is_some_and(sent) && !self.tracker.is_idle();
        if self.under_way.is_some() && !self.tracker.is_idle() {
            self.shared.counters.add(Counter::LeftDuringReply);
        }
        if runs && self.in_flight.is_some() && self.upstream.input.is_empty() {
            let killer = self.shared.killer.clone();
            if let (Some(killer), Some(id)) = (killer, self.handle().upstream_id()) {
                if killer.kill_query(id).await {
                    self.shared.counters.add(Counter::QueriesKilled);
                }
            }
            // An answer, or the upstream's end: either way the statement has ended, or ends as it writes to nobody.
            let _ = self.upstream.input.fill(&mut self.upstream.transport).await;
        }
    }
}
