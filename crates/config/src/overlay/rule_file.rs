//! The rules file, and what this process last read from it or wrote to it. Its methods wait for the disk.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rules::{RuleId, Timestamp};

use super::store::{Read, Store};
use super::{Note, OverlayError, State};

#[derive(Debug)]
pub(super) struct RuleFile {
    pub(super) store: Store,
    state: State,
    /// Counts the changes of `state`.
    version: u64,
    taken: Arc<HashSet<RuleId>>,
    pub(super) notes: Vec<Note>,
    /// Why it could not be read the last time; this has been noted.
    unreadable: Option<String>,
}

impl RuleFile {
    pub(super) fn new(folder: &Path) -> RuleFile {
        RuleFile {
            store: Store::new(folder),
            state: State::default(),
            version: 0,
            taken: Arc::default(),
            notes: Vec::new(),
            unreadable: None,
        }
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn set_taken(&mut self, taken: Arc<HashSet<RuleId>>) {
        self.taken = taken;
    }

    /// Reads what an earlier process left.
    pub(super) fn open(&mut self) {
        self.notes.extend(self.store.make_folder());
        // A file may have to be set aside. Without the lock (on a read-only disk) none can be.
        let _lock = self.store.lock().ok();
        let read = self.store.read();
        if let Some(state) = self.understand(read) {
            self.adopt(state);
        }
    }

    /// Takes over what another process has written.
    pub(super) fn refresh(&mut self) {
        if !self.store.has_changed() {
            return;
        }
        let read = self.store.read();
        match read {
            Read::Good { .. } => {
                self.unreadable = None;
                if let Some(state) = self.understand(read) {
                    self.adopt(state);
                }
            }
            Read::Unreadable(error) => self.note_unreadable(&error),
            // Another process may be writing it; what is in memory is whole, and the next change looks closer.
            Read::Missing | Read::Broken(_) | Read::Newer(_) => self.unreadable = None,
        }
    }

    /// Makes a change to what the file says now, writes it, and only then takes it over.
    pub(super) fn change<T>(
        &mut self,
        now: Timestamp,
        deadline: Instant,
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
        self.store.write(&next, deadline)?;
        self.replace(next);
        Ok(made)
    }

    fn note_unreadable(&mut self, error: &std::io::Error) {
        let error = error.to_string();
        if self.unreadable.as_ref() != Some(&error) {
            self.notes.push(Note::NotRefreshed { file: self.store.file(), error: error.clone() });
        }
        self.unreadable = Some(error);
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
        self.replace(state);
    }

    fn replace(&mut self, state: State) {
        if state != self.state {
            self.version += 1;
            self.state = state;
        }
    }
}
