//! The statement that runs upstream, as it is counted, and what its unit has committed.

use std::sync::Arc;

use health::Work;
use statement::Class;
use tokio::time::Instant;

use crate::gates::{Begun, Gates, ShardId};
use crate::limits::{Charges, Limits, Slot};
use crate::policy::Concerning;
use crate::port::Outcome;
use crate::unit::Facts;

#[derive(Debug)]
pub(super) struct Running {
    shard: ShardId,
    statement: Option<Statement>,
    /// Rows that the open transaction has changed.
    rows: u64,
    /// What gates expect of the unit.
    charges: Vec<Charges>,
}

#[derive(Debug, Clone, Copy)]
struct Statement {
    facts: Facts,
    sent: Instant,
    /// Counted by gates that do not concern everybody.
    choosy: u64,
    /// Gates whose leave it had to ask.
    asked: u64,
    /// It still counts as running.
    counts: bool,
    /// If it succeeds, what its transaction had done before is kept or gone, whether or not another begins with it.
    ends: bool,
}

impl Running {
    pub(super) fn new(shard: ShardId) -> Running {
        Running { shard, statement: None, rows: 0, charges: Vec::new() }
    }

    pub(super) fn shard(&self) -> ShardId {
        self.shard
    }

    /// It goes upstream.
    #[inline]
    pub(super) fn begin(&mut self, gates: &Gates, facts: &Facts, concerning: Concerning, asked: u64) {
        let begun = gates.in_flight().begin(self.shard, facts.class, concerning.choosy);
        let sent = Instant::now();
        let choosy = concerning.choosy;
        self.statement = Some(Statement { facts: *facts, sent, choosy, asked, counts: true, ends: false });
        if begun == Begun::Look {
            gates.glance_from(self.shard, sent.into_std());
        }
    }

    /// The same for what ends a transaction: COMMIT and ROLLBACK, also AND CHAIN, and BEGIN inside of one.
    pub(super) fn begin_to_end(&mut self, gates: &Gates, facts: &Facts) {
        self.begin(gates, facts, Concerning::default(), 0);
        if let Some(statement) = &mut self.statement {
            statement.ends = true;
        }
    }

    pub(super) fn charge(&mut self, charges: Option<Charges>) {
        let Some(mut charges) = charges else { return };
        charges.but_for(&self.charges);
        if !charges.is_empty() {
            self.charges.push(charges);
        }
    }

    /// It runs at the client's pace now.
    pub(super) fn blocked_on_client(&mut self, gates: &Gates, limits: &Limits) {
        let Some(statement) = &mut self.statement else { return };
        if std::mem::take(&mut statement.counts) {
            gates.in_flight().end(self.shard, statement.facts.class, statement.choosy);
            give_way(gates, limits, statement.asked, statement.sent);
        }
    }

    /// Its reply has ended.
    #[inline]
    pub(super) fn settle(&mut self, gates: &Gates, limits: &Arc<Limits>, outcome: &Outcome) {
        let Some(statement) = self.statement.take() else { return };
        let Statement { facts, sent, .. } = statement;
        let writes = facts.class.locks_or_writes();
        if writes {
            self.rows = self.rows.saturating_add(outcome.rows);
        }
        let ended = !outcome.session.in_transaction || (statement.ends && outcome.succeeded);
        let committed = ended && self.committed(&facts, outcome);
        gates.took(self.shard, facts.class, sent.elapsed(), committed);
        if committed {
            gates.in_flight().committed(self.shard, self.rows);
        }
        self.end(gates, limits, &statement);
        if ended {
            self.unit_ended(committed);
        }
    }

    /// It is gone, and its session with it.
    pub(super) fn abort(&mut self, gates: &Gates, limits: &Arc<Limits>) {
        if let Some(statement) = self.statement.take() {
            self.end(gates, limits, &statement);
        }
        self.unit_ended(false);
    }

    fn end(&self, gates: &Gates, limits: &Arc<Limits>, statement: &Statement) {
        if statement.counts {
            gates.in_flight().end(self.shard, statement.facts.class, statement.choosy);
            give_way(gates, limits, statement.asked, statement.sent);
        }
    }

    /// Whether something that a replica must do again was kept.
    fn committed(&self, facts: &Facts, outcome: &Outcome) -> bool {
        if !outcome.succeeded || facts.rolls_back {
            return false;
        }
        let hidden = match facts.class {
            // What they write shows in no count of rows.
            Class::Call | Class::Unparsed | Class::Ddl => true,
            Class::Control | Class::Read | Class::Write => false,
        };
        self.rows > 0 || hidden
    }

    fn unit_ended(&mut self, committed: bool) {
        let rows = std::mem::take(&mut self.rows);
        let work = if committed { Work { transactions: 1.0, rows: rows as f64 } } else { Work::NONE };
        for charges in self.charges.drain(..) {
            charges.settle(work);
        }
    }
}

/// Somebody may wait for what has just ended.
fn give_way(gates: &Gates, limits: &Limits, asked: u64, sent: Instant) {
    if gates.restricting() == 0 {
        return;
    }
    limits.ended(Slot::all(asked), sent.elapsed());
}
