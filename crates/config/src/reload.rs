//! A changed proxy.yaml → a new plan, or the reason why the old one stays.
//!
//! Two parts. [`Watch`] decides from what the file looks like and the time when to read it; it knows neither files nor
//! clocks. [`Reloader`] reads it, compares it with the plan in force, and says what came of it.

mod diff;
mod effect;
mod look;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rules::{RuleId, Timestamp};

pub use diff::{Change, Diff, RuleChange};
pub use look::{Look, Looker, Stamp};
pub use watch::{LOOK_EVERY, Next, STILL_FOR, Watch};

use crate::disk::Disk;
use crate::load::{self, Surroundings};
use crate::plan::Plan;
use crate::problem::{ConfigError, Problem};
use crate::tree::{At, KeyPath, Trouble};

/// Who wants the file to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// It has changed. It may be half written.
    Watch,
    /// Somebody asked, by signal or command: the file is as they mean it.
    Request,
}

/// What came of reading the file again.
#[derive(Debug)]
pub enum Outcome {
    /// It means what is in force already.
    Unchanged,
    Applied(Applied),
    /// The old plan stays.
    Refused(ReloadError),
    /// Nothing that has changed can take effect while the proxy runs.
    NeedsRestart {
        keys: Vec<String>,
    },
}

/// A plan to be put in force.
#[derive(Debug)]
pub struct Applied {
    /// What needs a restart is in it as it was before.
    pub plan: Arc<Plan>,
    pub diff: Diff,
    pub generation: u64,
    /// Keys whose new value waits for a restart.
    pub needs_restart: Vec<String>,
    pub warnings: Vec<Problem>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(
        "{} is a mere beginning of the file in force ({have} of {of} bytes), as if it were being saved\n  \
         = save it again; if this is how it is meant, send SIGHUP or change one more line",
        .path.display()
    )]
    HalfWritten { path: PathBuf, have: usize, of: usize },
}

/// Keeps the last good plan.
#[derive(Debug)]
pub struct Reloader {
    path: PathBuf,
    disk: Disk,
    /// Of the plan in force.
    text: String,
    plan: Arc<Plan>,
    generation: u64,
}

impl Reloader {
    /// Reads the file for the first time: its plan is generation 1. Also gives what is worth a word about it.
    pub fn start(path: &Path) -> Result<(Reloader, Vec<Problem>), ConfigError> {
        let around = Surroundings::of_process();
        let (text, exposure) = load::read(path, &around.disk)?;
        let around = Surroundings { exposure, ..around };
        let (plan, warnings) = load::load(&text, path, &around)?;
        let reloader =
            Reloader { path: path.to_owned(), disk: Disk::while_running(), text, plan: Arc::new(plan), generation: 1 };
        Ok((reloader, warnings))
    }

    /// Looks at the same file, with the same patience.
    pub fn looker(&self) -> Looker {
        Looker::new(&self.path, self.disk.clone())
    }

    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Reads the file again. `taken` are the ids of the rules added at run time, which no rule of the file may have.
    /// Takes some milliseconds, and up to a few seconds if a file system hangs.
    pub fn reload(&mut self, trigger: Trigger, taken: &[RuleId], now: Timestamp) -> Outcome {
        match self.try_reload(trigger, taken, now) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Refused(error),
        }
    }

    fn try_reload(&mut self, trigger: Trigger, taken: &[RuleId], now: Timestamp) -> Result<Outcome, ReloadError> {
        let (text, exposure) = load::read(&self.path, &self.disk)?;
        let beginning = text.len() < self.text.len() && self.text.starts_with(&text);
        let half = ReloadError::HalfWritten { path: self.path.clone(), have: text.len(), of: self.text.len() };
        let around = Surroundings { exposure, now, disk: self.disk.clone(), ..Surroundings::of_process() };
        let read = load::load(&text, &self.path, &around);
        let (new, warnings) = match read {
            // Of half a file the errors say nothing.
            Err(_) if beginning && trigger == Trigger::Watch => return Err(half),
            read => read?,
        };
        self.refuse_taken(&new, taken, &text)?;
        let diff = Diff::of(&self.plan.policy, &new.policy);
        let needs_restart = effect::waiting(&self.plan, &new);
        if beginning && trigger == Trigger::Watch && !(diff.is_empty() && needs_restart.is_empty()) {
            return Err(half);
        }
        self.text = text;
        match (diff.is_empty(), needs_restart.is_empty()) {
            (true, true) => Ok(Outcome::Unchanged),
            (true, false) => Ok(Outcome::NeedsRestart { keys: needs_restart }),
            (false, _) => {
                let plan = Arc::new(Plan { policy: new.policy, ..Plan::clone(&self.plan) });
                self.plan = Arc::clone(&plan);
                self.generation += 1;
                Ok(Outcome::Applied(Applied { plan, diff, generation: self.generation, needs_restart, warnings }))
            }
        }
    }

    fn refuse_taken(&self, new: &Plan, taken: &[RuleId], text: &str) -> Result<(), ConfigError> {
        let clashes = new.policy.rules.iter().enumerate().filter(|(_, rule)| taken.contains(&rule.id));
        let problem = |(index, rule): (usize, &rules::Rule)| {
            let place = KeyPath::of("rules").item(index).key("id");
            let what = format!("a rule added at run time has the id `{}` already", rule.id);
            let trouble = Trouble::new(place, At::Value, what, "end that one first, or give this one another id");
            Problem::of(&trouble, &self.path, text)
        };
        let problems: Vec<Problem> = clashes.map(problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(ConfigError::Invalid(problems)) }
    }
}

#[cfg(test)]
mod tests;
