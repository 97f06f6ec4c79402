//! The rules that are added while the proxy runs, kept in `state_dir/rules.json` beside those of proxy.yaml.
//!
//! What is confirmed is on the disk: a change is written, synced and renamed into place before it is told, and a change that
//! cannot be written does not happen. Two processes (a new one that takes over the port, and the old one that drains) share
//! the file: each change is made to what the file says at that moment, under a lock.
//!
//! It waits for the disk, but never longer than a deadline: a thread of its own touches the files (`rule_file`), and [`Overlay`]
//! keeps a copy of what they say. It knows no wall clock, and logs nothing: what has to be said is in [`Note`]s. [`State`] is
//! the pure part.

mod error;
mod format;
mod rule_file;
mod state;
mod store;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use files::{Helper, HelperError};
use rules::{Rule, RuleId, Timestamp};

pub use error::{Note, OverlayError};
pub use state::{Closed, Ending, Extension, Incident, Past, State};

use rule_file::RuleFile;

/// For a look at the file, which comes with every tick.
const LOOK_TIME: Duration = Duration::from_secs(2);

/// For a change, which is synced.
const CHANGE_TIME: Duration = Duration::from_secs(5);

/// How long after `CHANGE_TIME` the answer is waited for: nothing is put in place after that time, and whether it was is told.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// The rules added at run time, as they were when the disk last answered.
#[derive(Debug)]
pub struct Overlay {
    folder: PathBuf,
    helper: Helper,
    /// Locked by the helper while it is at work, which a hung disk makes long.
    file: Arc<Mutex<RuleFile>>,
    /// A copy of the file's.
    state: State,
    /// Which one.
    version: u64,
    /// Of the rules of the file, which no rule here may have.
    taken: Arc<HashSet<RuleId>>,
    notes: Vec<Note>,
    /// The disk did not answer the last time; this has been noted.
    hanging: bool,
}

impl Overlay {
    /// Reads what an earlier process left. It always succeeds, since the proxy must start: what could not be read is set
    /// aside, and the notes say so. `taken` are the ids of the rules of proxy.yaml.
    pub fn open(folder: &Path, taken: impl IntoIterator<Item = RuleId>) -> (Overlay, Vec<Note>) {
        let mut overlay = Overlay {
            folder: folder.to_owned(),
            helper: Helper::default(),
            file: Arc::new(Mutex::new(RuleFile::new(folder))),
            state: State::default(),
            version: 0,
            taken: Arc::new(taken.into_iter().collect()),
            notes: Vec::new(),
            hanging: false,
        };
        // If the disk hangs, that is in the notes.
        let _ = overlay.ask(CHANGE_TIME, RuleFile::open);
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
        self.taken = Arc::new(taken.into_iter().collect());
    }

    /// What has come up since the last call; each asks for a person.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    pub fn add(&mut self, rule: Rule, now: Timestamp) -> Result<(), OverlayError> {
        self.refuse_taken([&rule])?;
        self.change(now, move |state| state.add(rule, now))
    }

    /// Gives a rule another end, for a new reason. Gives the rule as it is now.
    pub fn extend(&mut self, id: &str, extension: &Extension<'_>, now: Timestamp) -> Result<Rule, OverlayError> {
        let (id, until, reason) = (id.to_owned(), extension.until, extension.reason.map(str::to_owned));
        self.change(now, move |state| state.extend(&id, &Extension { until, reason: reason.as_deref() }, now))
    }

    /// Ends a rule before its time. Gives the rule as it was.
    pub fn end(&mut self, id: &str, now: Timestamp) -> Result<Rule, OverlayError> {
        let id = id.to_owned();
        self.change(now, move |state| state.end(&id, now))
    }

    /// Opens an incident, with the rules that its playbook puts in force: all of them, or nothing.
    pub fn open_incident(&mut self, incident: Incident, rules: Vec<Rule>, now: Timestamp) -> Result<(), OverlayError> {
        self.refuse_taken(&rules)?;
        self.change(now, move |state| state.open_incident(incident, rules, now))
    }

    /// Closes an incident and ends the rules that its playbook had put in force.
    pub fn close_incident(&mut self, id: &str, now: Timestamp) -> Result<Closed, OverlayError> {
        let id = id.to_owned();
        self.change(now, move |state| state.close_incident(&id, now))
    }

    /// Takes out the rules whose time is over, which have had no effect since then, and gives them. Nothing is written if there are none.
    pub fn expire(&mut self, now: Timestamp) -> Result<Vec<Rule>, OverlayError> {
        if self.state.rules.iter().any(|rule| state::is_over(rule, now)) {
            self.change(now, move |state| Ok(state.expire(now)))
        } else {
            Ok(Vec::new())
        }
    }

    /// Takes over what another process has written meanwhile. Cheap if that is nothing; says whether something has changed.
    pub fn refresh(&mut self) -> bool {
        let before = self.version;
        // If the disk hangs, that is in the notes, and the rules in memory stay in force.
        let _ = self.ask(LOOK_TIME, RuleFile::refresh);
        self.version != before
    }

    /// Makes a change to what the file says now, writes it, and only then takes it over.
    fn change<T: Send + 'static>(
        &mut self,
        now: Timestamp,
        change: impl FnOnce(&mut State) -> Result<T, OverlayError> + Send + 'static,
    ) -> Result<T, OverlayError> {
        let deadline = Instant::now() + CHANGE_TIME;
        let made = self.ask(CHANGE_TIME + ANSWER_TIME, move |file| file.change(now, deadline, change));
        made.unwrap_or_else(|error| Err(self.unanswered(error)))
    }

    fn unanswered(&self, error: HelperError) -> OverlayError {
        let file = self.folder.join("rules.json");
        match error {
            HelperError::Late => OverlayError::Unanswered { file },
            HelperError::Hanging | HelperError::NoThread(_) | HelperError::Panicked => {
                OverlayError::NotKept { file, error: error.into() }
            }
        }
    }

    /// Lets the helper work on the file, and takes over what the file says then.
    fn ask<T: Send + 'static>(
        &mut self,
        deadline: Duration,
        work: impl FnOnce(&mut RuleFile) -> T + Send + 'static,
    ) -> Result<T, HelperError> {
        let (file, taken) = (Arc::clone(&self.file), Arc::clone(&self.taken));
        let answer = self.helper.run(&self.folder, deadline, move || {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.set_taken(taken);
            work(&mut file)
        });
        self.take_over();
        match &answer {
            Ok(_) => self.hanging = false,
            Err(error) if !std::mem::replace(&mut self.hanging, true) => {
                self.notes.push(Note::Hanging { folder: self.folder.clone(), error: error.to_string() });
            }
            Err(_) => {}
        }
        answer
    }

    /// Copies what the file says, also if that became known only after its deadline.
    fn take_over(&mut self) {
        let Ok(mut file) = self.file.try_lock() else { return };
        self.notes.append(&mut file.notes);
        if file.version() != self.version {
            self.version = file.version();
            self.state.clone_from(file.state());
        }
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
