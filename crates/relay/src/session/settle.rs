//! What a command has changed, once its reply has ended.

use ::session::StatementsPerText;
use admission::port::Outcome;
use wire::{Command, StatusFlags};

use super::Session;
use super::inspect::Reading;

/// The one error that says the transaction is over, be it InnoDB's or that of metadata locks (checked on MySQL 9.7 and MariaDB
/// 10.11). Of no other does an ERR say so. A SIGNAL may use its code and end nothing; the next OK then says so.
const DEADLOCK: u16 = 1213;

impl Session {
    #[inline]
    pub(super) fn settle(&mut self, command: Command, reading: &Reading) {
        self.under_way = None;
        let succeeded = self.tracker.error.is_none();
        match command {
            Command::StmtPrepare => match self.tracker.prepared.filter(|_| succeeded) {
                Some(prepared) => self.statements.insert(prepared, reading),
                None => self.statements.prepare_failed(),
            },
            Command::StmtClose => {
                if let Some(id) = reading.statement_id {
                    self.statements.close(id);
                }
            }
            Command::StmtExecute | Command::StmtBulkExecute | Command::StmtReset => {
                if let Some(prepared) = reading.statement_id.and_then(|id| self.statements.prepared_mut(id)) {
                    prepared.has_long_data = false;
                    if command != Command::StmtReset {
                        prepared.kept_types = None;
                    }
                }
                self.text.settle(&reading.effect, succeeded, self.no_backslash_escapes());
            }
            Command::ResetConnection if succeeded => {
                self.statements.clear();
                self.text.reset(Some(self.no_backslash_escapes()));
                self.gate.reset();
            }
            Command::SetOption if succeeded => self.settle_option(reading),
            Command::Query => self.text.settle(&reading.effect, succeeded, self.no_backslash_escapes()),
            _ => {}
        }
        self.settle_permit();
        // A PREPARE kills nobody, and asks for no privilege.
        if succeeded && !reading.killed.is_empty() && command != Command::StmtPrepare {
            self.settle_kills(reading);
        }
    }

    /// What the reply that has ended means for whom it was let through.
    #[inline]
    pub(super) fn settle_permit(&mut self) {
        let deadlocked = self.tracker.error == Some(DEADLOCK);
        if deadlocked {
            self.tracker.status.remove(StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY);
        }
        let (succeeded, session) = (self.tracker.error.is_none(), self.state());
        if let Some(permit) = self.permit.take() {
            permit.settle(Outcome { succeeded, deadlocked, rows: self.tracker.affected, session });
        }
    }

    /// COM_SET_OPTION turns several statements a text on (0) and off (1).
    fn settle_option(&mut self, reading: &Reading) {
        match reading.option {
            Some(1) => self.text.set_statements(StatementsPerText::One),
            Some(_) | None => self.text.set_statements(StatementsPerText::Several),
        }
    }

    /// The upstream has agreed to a KILL: a command of that session that is held here ends too.
    fn settle_kills(&self, reading: &Reading) {
        for &id in &reading.killed {
            self.shared.registry.interrupt(id, self.handle());
        }
        if reading.rewritten.is_some() {
            self.shared.counters.add(crate::counters::Counter::KillsTranslated);
        }
    }
}
