//! The rules that are added while the proxy runs, kept in `state_dir/rules.json` beside those of proxy.yaml.
//!
//! What is confirmed is on the disk: a change is written, synced and renamed into place before it is told, and a change that
//! cannot be written does not happen. Two processes (a new one that takes over the port, and the old one that drains) share
//! the file: each change is made to what the file says at that moment, under a lock.
//!
//! It blocks on the disk, knows no clock, and logs nothing: what has to be said is in [`Note`]s. [`State`] is the pure part.

mod error;
mod format;
mod state;
mod store;

use std::collections::HashSet;
use std::path::Path;

use rules::{Rule, RuleId, Timestamp};

pub use error::{Note, OverlayError};
pub use state::{Closed, Ending, Extension, Incident, Past, State};

use store::{Read, Store};

#[derive(Debug)]
pub struct Overlay {
    store: Store,
    state: State,
    /// Of the rules of the file, which no rule here may have.
    taken: HashSet<RuleId>,
    notes: Vec<Note>,
}

impl Overlay {
    /// Reads what an earlier process left. It always succeeds, since the proxy must start: what could not be read is set
    /// aside, and the notes say so. `taken` are the ids of the rules of proxy.yaml.
    pub fn open(folder: &Path, taken: impl IntoIterator<Item = RuleId>) -> (Overlay, Vec<Note>) {
        let (store, trouble) = Store::open(folder);
        let taken = taken.into_iter().collect();
        let mut overlay = Overlay { store, state: State::default(), taken, notes: trouble.into_iter().collect() };
        // A file may have to be set aside. Without the lock (on a read-only disk) none can be.
        let lock = overlay.store.lock().ok();
        let read = overlay.store.read();
        if let Some(state) = overlay.understand(read) {
            overlay.adopt(state);
        }
        drop(lock);
        let notes = overlay.take_notes();
        (overlay, notes)
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// In force or just expired, the oldest first.
    pub fn rules(&self) -> &[Rule] {
        &self.state.rules
    }

    /// The ids of the rules of a new plan.
    pub fn set_taken(&mut self, taken: impl IntoIterator<Item = RuleId>) {
        self.taken = taken.into_iter().collect();
    }

    /// What has come up since the last call; each asks for a person.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    pub fn add(&mut self, rule: Rule, now: Timestamp) -> Result<(), OverlayError> {
        self.refuse_taken([&rule])?;
        self.change(now, |state| state.add(rule, now))
    }

    /// Gives a rule another end, for a new reason. Gives the rule as it is now.
    pub fn extend(&mut self, id: &str, extension: &Extension<'_>, now: Timestamp) -> Result<Rule, OverlayError> {
        self.change(now, |state| state.extend(id, extension, now))
    }

    /// Ends a rule before its time. Gives the rule as it was.
    pub fn end(&mut self, id: &str, now: Timestamp) -> Result<Rule, OverlayError> {
        self.change(now, |state| state.end(id, now))
    }

    /// Opens an incident, with the rules that its playbook puts in force: all of them, or nothing.
    pub fn open_incident(&mut self, incident: Incident, rules: Vec<Rule>, now: Timestamp) -> Result<(), OverlayError> {
        self.refuse_taken(&rules)?;
        self.change(now, |state| state.open_incident(incident, rules, now))
    }

    /// Closes an incident and ends the rules that its playbook had put in force.
    pub fn close_incident(&mut self, id: &str, now: Timestamp) -> Result<Closed, OverlayError> {
        self.change(now, |state| state.close_incident(id, now))
    }

    /// Takes out the rules whose time is over, which have had no effect since then, and gives them. Nothing is written if there are none.
    pub fn expire(&mut self, now: Timestamp) -> Result<Vec<Rule>, OverlayError> {
        if self.state.rules.iter().any(|rule| state::is_over(rule, now)) {
            self.change(now, |state| Ok(state.expire(now)))
        } else {
            Ok(Vec::new())
        }
    }

    /// Takes over what another process has written meanwhile. Cheap if that is nothing; says whether something has changed.
    pub fn refresh(&mut self) -> bool {
        if !self.store.has_changed() {
            return false;
        }
        let read = self.store.read();
        let before = self.state.clone();
        match read {
            Read::Good { .. } => {
                if let Some(state) = self.understand(read) {
                    self.adopt(state);
                }
            }
            // Somebody may be at work on it; what is in memory is whole, and the next change looks closer.
            Read::Missing | Read::Broken(_) | Read::Newer(_) | Read::Unreadable(_) => {}
        }
        self.state != before
    }

    /// Makes a change to what the file says now, writes it, and only then takes it over.
    fn change<T>(
        &mut self,
        now: Timestamp,
        change: impl FnOnce(&mut State) -> Result<T, OverlayError>,
    ) -> Result<T, OverlayError> {
        let _lock = self.store.lock()?;
        match self.store.read() {
            Read::Newer(format) => return Err(OverlayError::Newer { file: self.store.file(), format }),
            Read::Unreadable(error) => return Err(self.store.unwritable(error)),
            read => {
                if let Some(state) = self.understand(read) {
                    self.adopt(state);
                }
            }
        }
        let mut next = self.state.clone();
        let made = change(&mut next)?;
        next.forget(now);
        self.store.write(&next)?;
        self.state = next;
        Ok(made)
    }

    /// The state that was read, if it is one; what is wrong with the file is noted, and a broken one set aside.
    fn understand(&mut self, read: Read) -> Option<State> {
        let file = self.store.file();
        match read {
            Read::Missing => None,
            Read::Good { state, lost } => {
                if !lost.is_empty()
                    && let Some(kept) = self.store.copy_aside()
                {
                    self.notes.push(Note::Lost { file, lost, kept });
                }
                Some(state)
            }
            Read::Broken(why) => {
                let kept = self.store.set_aside();
                self.notes.push(Note::Broken { file, why, kept });
                None
            }
            Read::Newer(format) => {
                self.notes.push(Note::Newer { file, format });
                None
            }
            Read::Unreadable(error) => {
                self.notes.push(Note::Unreadable { file, error: error.to_string() });
                None
            }
        }
    }

    fn adopt(&mut self, mut state: State) {
        for (old, new) in state.rename_taken(&self.taken) {
            self.notes.push(Note::Renamed { old, new });
        }
        self.state = state;
    }

    fn refuse_taken<'r>(&self, rules: impl IntoIterator<Item = &'r Rule>) -> Result<(), OverlayError> {
        match rules.into_iter().find(|rule| self.taken.contains(&rule.id)) {
            Some(rule) => Err(OverlayError::IdTaken { id: rule.id.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
