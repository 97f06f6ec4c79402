//! The statement that runs upstream, as it is counted, and what its unit has committed.

use health::Work;
use statement::{Class, TransactionEffect};
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
    /// A transaction was open when the last reply ended.
    in_transaction: bool,
    autocommit: bool,
    /// Rows that the open transaction has changed.
    rows: u64,
    /// What gates expect of the unit.
    charges: Vec<Charges>,
}

#[derive(Debug, Clone, Copy)]
struct Statement {
    facts: Facts,
    sent: Instant,
    concerning: Concerning,
    /// Gates whose leave it had to ask.
    asked: u64,
    /// It still counts as running.
    counts: bool,
    /// If it succeeds, what its transaction had done before is kept or gone, whether or not another begins with it.
    ends: bool,
    /// How long it takes is how long a commit takes: a COMMIT, or a write by itself. What a routine does besides, nobody knows, and what
    /// DDL does takes as long as the table is large.
    commits: bool,
}

impl Running {
    pub(super) fn new(shard: ShardId) -> Running {
        Running { shard, statement: None, in_transaction: false, autocommit: true, rows: 0, charges: Vec::new() }
    }

    pub(super) fn shard(&self) -> ShardId {
        self.shard
    }

    /// It goes upstream.
    #[inline]
    pub(super) fn begin(&mut self, gates: &Gates, facts: &Facts, concerning: Concerning, asked: u64) {
        let begun = gates.in_flight().begin(self.shard, facts.class, concerning.choosy);
        let commits = facts.class == Class::Write && self.autocommit && !self.in_transaction;
        if commits {
            gates.in_flight().commits(self.shard);
        }
        let sent = Instant::now();
        self.statement = Some(Statement { facts: *facts, sent, concerning, asked, counts: true, ends: false, commits });
        if begun == Begun::Look {
            gates.glance_from(self.shard, sent.into_std());
        }
    }

    /// The same for what ends a transaction: COMMIT and ROLLBACK, also AND CHAIN, and BEGIN inside of one.
    pub(super) fn begin_to_end(&mut self, gates: &Gates, facts: &Facts) {
        self.begin(gates, facts, Concerning::default(), 0);
        if let Some(statement) = &mut self.statement {
            statement.ends = true;
            if !facts.rolls_back && !std::mem::replace(&mut statement.commits, true) {
                gates.in_flight().commits(self.shard);
            }
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
        if let Some(statement) = &mut self.statement {
            let counted = *statement;
            statement.counts = false;
            end(self.shard, gates, limits, &counted);
        }
    }

    /// The client has sent all that it had to: it runs at the server's pace again.
    pub(super) fn resumed(&mut self, gates: &Gates) {
        let Some(statement) = self.statement.as_mut().filter(|statement| !statement.counts) else { return };
        statement.counts = true;
        gates.in_flight().begin(self.shard, statement.facts.class, statement.concerning.choosy);
        if statement.commits {
            gates.in_flight().commits(self.shard);
        }
    }

    /// A reply has ended.
    #[inline]
    pub(super) fn settle(&mut self, gates: &Gates, limits: &Limits, outcome: &Outcome) {
        let was_open = std::mem::replace(&mut self.in_transaction, outcome.session.in_transaction);
        self.autocommit = outcome.session.autocommit;
        let Some(statement) = self.statement.take() else {
            // What is never held may end a transaction too: SET autocommit=1, UNLOCK TABLES. That it was open at all shows that
            // nothing has rolled it back.
            if !self.in_transaction && self.has_unit() {
                self.unit_ended(gates, self.rows > 0);
            }
            return;
        };
        let Statement { facts, sent, .. } = statement;
        if facts.class.locks_or_writes() {
            self.rows = self.rows.saturating_add(outcome.rows);
        }
        // What did more than to begin or end a transaction, and yet crossed the border of one, may have kept what was before it,
        // also if it failed then: that counts now.
        let borders =
            facts.transaction != TransactionEffect::None || facts.crosses_boundary || facts.commits_implicitly;
        let crossed = borders && !statement.ends;
        let ended = !self.in_transaction || crossed || (statement.ends && outcome.succeeded);
        let lost = outcome.deadlocked && was_open && !crossed;
        let committed = ended && !lost && self.committed(&facts, outcome);
        gates.took(self.shard, facts.class, sent.elapsed(), statement.commits && committed && outcome.succeeded);
        end(self.shard, gates, limits, &statement);
        if ended {
            self.unit_ended(gates, committed);
        }
    }

    /// It was refused: nothing of it runs. What its transaction has done before may be committed all the same.
    pub(super) fn refused(&mut self, gates: &Gates, limits: &Limits) {
        if let Some(statement) = self.statement.take() {
            end(self.shard, gates, limits, &statement);
        }
    }

    /// The session is gone, or begins anew: what was not committed never will be.
    pub(super) fn abort(&mut self, gates: &Gates, limits: &Limits) {
        self.refused(gates, limits);
        (self.in_transaction, self.autocommit) = (false, true);
        self.unit_ended(gates, false);
    }

    /// Whether something that a replica must do again was kept, if not everything was lost.
    fn committed(&self, facts: &Facts, outcome: &Outcome) -> bool {
        let hidden = match facts.class {
            // What they write shows in no count of rows, and a routine that fails may have written before.
            Class::Call | Class::Unparsed => true,
            Class::Ddl => outcome.succeeded,
            Class::Control | Class::Read | Class::Write => false,
        };
        // It says nothing of what follows it in the same text.
        let rolled_back = facts.rolls_back && outcome.rows == 0;
        hidden || (self.rows > 0 && !rolled_back)
    }

    fn has_unit(&self) -> bool {
        self.rows > 0 || !self.charges.is_empty()
    }

    fn unit_ended(&mut self, gates: &Gates, committed: bool) {
        let rows = std::mem::take(&mut self.rows);
        if committed {
            gates.in_flight().committed(self.shard, rows);
        }
        let work = if committed { Work { transactions: 1.0, rows: rows as f64 } } else { Work::NONE };
        for charges in self.charges.drain(..) {
            charges.settle(work);
        }
    }
}

/// It runs no more. Somebody may wait for that.
fn end(shard: ShardId, gates: &Gates, limits: &Limits, statement: &Statement) {
    let Statement { facts, sent, concerning, asked, counts, commits, .. } = statement;
    if !counts {
        return;
    }
    if *commits {
        gates.in_flight().came_back(shard);
    }
    gates.in_flight().end(shard, facts.class, concerning.choosy);
    if gates.restricting() & (concerning.enforced | asked) != 0 {
        limits.ended(Slot::all(*asked), sent.elapsed());
    }
}
