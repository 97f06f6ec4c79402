//! What is in force, and who changes it: the file, the rules added at run time, and the clock.
//!
//! One thread keeps both. It looks at the file ten times a second, carries out what operators ask for, warns of rules that
//! are about to end, and gives the sessions a new policy whenever something has changed. It may wait for the disk, up
//! to a deadline; nobody who serves clients ever waits for it.

mod changes;
mod describe;
mod gates;
mod policy;
mod report;
mod whom;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use admin::PolicyFile;
use admin::control::{Command, Controller, Reply, Request};
use admission::Gatekeeper;
use anyhow::Context;
use config::overlay::Overlay;
use config::reload::{LOOK_EVERY, Looker, Next, Outcome, Reloader, Trigger, Watch};
use rules::{RuleId, RuleSet, Timestamp, lifetime};
use tokio::sync::watch;
use tracing::{error, info, warn};

pub(crate) use policy::keeper_of_file;
pub(crate) use report::Report;

use crate::digests::Digests;
use crate::explain::{self, Question};
use crate::measuring::{self, Custom};

pub(crate) struct Steering {
    reloader: Reloader,
    overlay: Overlay,
    keeper: Arc<Gatekeeper>,
    watch: Watch,
    looker: Looker,
    /// Whether the file is what is in force, for the metrics.
    file: Arc<PolicyFile>,
    /// The metrics of the configuration, for the one who measures.
    custom: watch::Sender<Custom>,
    /// What MySQL's digests in rules stand for.
    digests: Arc<Digests>,
    /// Counts up with every policy, whoever changed it.
    generation: u64,
    /// Rules whose coming end has been logged, with that end.
    warned: HashMap<RuleId, Timestamp>,
    /// What was logged of the clients, and which troubles, so that each is said once.
    report: Report,
}

impl Steering {
    /// Reads what is in force at the start.
    pub(crate) fn new(reloader: Reloader, seed: u64) -> Steering {
        let plan = Arc::clone(reloader.plan());
        let (overlay, notes) = Overlay::open(&plan.state_dir, plan.policy.rules.iter().map(|rule| rule.id.clone()));
        for note in notes {
            error!("{note}");
        }
        let generation = reloader.generation();
        let rules = policy::rules(&plan.policy, overlay.rules());
        let digests = Arc::new(Digests::default());
        digests.want(&rules);
        let fingerprint = |digest: &str| digests.fingerprint(digest);
        let rules = RuleSet::new(rules, &fingerprint);
        let policy = policy::policy(&plan.policy, rules, &fingerprint, generation);
        let keeper = Gatekeeper::new(policy, policy::wall_clock(), seed);
        let (custom, _) = watch::channel(measuring::custom(&plan.policy));
        let mut looker = reloader.looker();
        let watch = Watch::new(looker.look(Instant::now()));
        let steering = Steering {
            reloader,
            overlay,
            keeper,
            watch,
            looker,
            file: Arc::default(),
            custom,
            digests,
            generation,
            warned: HashMap::new(),
            report: Report::default(),
        };
        let (of_file, of_run_time) = (plan.policy.rules.len(), steering.overlay.rules().len());
        info!(generation, of_file, of_run_time, "rules in force");
        steering.warn_of_missing_gates();
        steering
    }

    pub(crate) fn keeper(&self) -> Arc<Gatekeeper> {
        Arc::clone(&self.keeper)
    }

    pub(crate) fn file(&self) -> Arc<PolicyFile> {
        Arc::clone(&self.file)
    }

    pub(crate) fn custom(&self) -> watch::Receiver<Custom> {
        self.custom.subscribe()
    }

    pub(crate) fn digests(&self) -> Arc<Digests> {
        Arc::clone(&self.digests)
    }

    /// Starts its thread. It ends when the last [`Controller`] is gone.
    pub(crate) fn start(self) -> anyhow::Result<Controller> {
        let (requests, queue) = channel();
        std::thread::Builder::new()
            .name("steering".to_owned())
            .spawn(move || self.run(&queue))
            .context("cannot start the thread that keeps the rules")?;
        Ok(Controller::new(requests))
    }

    fn run(mut self, queue: &Receiver<Request>) {
        loop {
            match queue.recv_timeout(LOOK_EVERY) {
                Ok(Request { command, reply }) => {
                    let answer = self.carry_out(command);
                    // Who asked may have left; what was done is done.
                    let _ = reply.send(answer);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.tick(Instant::now());
        }
    }

    fn tick(&mut self, now: Instant) {
        let seen = self.looker.look(now);
        if self.watch.look(seen, now) == Next::Read {
            let _ = self.reload(Trigger::Watch);
        }
        let wall = self.keeper.now();
        self.end_what_is_over(wall);
        self.warn_of_ends(wall);
        let (changed, news) = (self.overlay.refresh(), self.digests.take_news());
        if changed || news {
            self.apply();
        }
        for note in self.overlay.take_notes() {
            error!("{note}");
        }
        self.report.log_each_minute(&self.keeper, now);
    }

    fn carry_out(&mut self, command: Command) -> Reply {
        match command {
            Command::Rules => Ok(self.describe_rules()),
            Command::Add { rule } => self.add(&rule),
            Command::Extend { id, change } => self.extend(&id, &change),
            Command::End { id, change } => self.end(&id, &change),
            Command::Incidents => Ok(self.describe_incidents()),
            Command::OpenIncident { incident } => self.open_incident(&incident),
            Command::CloseIncident { id, change } => self.close_incident(&id, &change),
            Command::Clients => Ok(self.describe_clients()),
            Command::Gates => Ok(self.describe_gates()),
            Command::History { gate } => self.describe_history(&gate),
            Command::Explain { question } => self.explain(&question),
            Command::Reload => self.reload(Trigger::Request),
        }
    }

    fn explain(&self, question: &serde_json::Value) -> Reply {
        let question = Question::read(question, self.reloader.plan()).map_err(describe::invalid)?;
        Ok(explain::answer(&question.explain(&self.keeper)))
    }

    /// Reads the file again; whatever is wrong with it, the old plan stays.
    fn reload(&mut self, trigger: Trigger) -> Reply {
        let taken: Vec<RuleId> = self.overlay.rules().iter().map(|rule| rule.id.clone()).collect();
        let outcome = self.reloader.reload(trigger, &taken, self.keeper.now());
        self.file.set_refused(matches!(outcome, Outcome::Refused(_)));
        match outcome {
            Outcome::Unchanged => Ok(describe::reloaded("unchanged", self.generation, None, &[])),
            Outcome::NeedsRestart { keys } => {
                warn!(keys = keys.join(", "), "proxy.yaml has changed in what takes a restart");
                Ok(describe::reloaded("needs restart", self.generation, None, &keys))
            }
            Outcome::Applied(applied) => {
                self.overlay.set_taken(applied.plan.policy.rules.iter().map(|rule| rule.id.clone()));
                self.apply();
                info!(generation = self.generation, changes = %applied.diff, "proxy.yaml is in force");
                for warning in &applied.warnings {
                    warn!(key = warning.key, "{}; {}", warning.what, warning.remedy);
                }
                self.warn_of_missing_gates();
                if !applied.needs_restart.is_empty() {
                    warn!(keys = applied.needs_restart.join(", "), "these changes take a restart");
                }
                let diff = applied.diff.to_string();
                Ok(describe::reloaded("applied", self.generation, Some(&diff), &applied.needs_restart))
            }
            Outcome::Refused(refused) => {
                error!(generation = self.generation, "proxy.yaml is refused, the old rules stay:\n{refused}");
                Err(describe::invalid(refused.to_string()))
            }
        }
    }

    /// Gives the sessions what is in force now.
    fn apply(&mut self) {
        self.generation += 1;
        let plan = self.reloader.plan();
        let previous = self.keeper.policy();
        let rules = policy::rules(&plan.policy, self.overlay.rules());
        self.digests.want(&rules);
        let fingerprint = |digest: &str| self.digests.fingerprint(digest);
        let rules = RuleSet::after(&previous.rules, rules, &fingerprint);
        self.keeper.apply(policy::policy(&plan.policy, rules, &fingerprint, self.generation));
        self.custom.send_replace(measuring::custom(&plan.policy));
    }

    /// A rule of the run time may outlive a gate of the file.
    fn warn_of_missing_gates(&self) {
        let policy = &self.reloader.plan().policy;
        for rule in self.overlay.rules() {
            for gate in policy.missing_gates(rule) {
                warn!(rule = %rule.id, %gate, "a rule of the run time names a gate that there is not: it does nothing there");
            }
        }
    }

    /// Rules of the run time whose time is over have had no effect since; now they are gone.
    fn end_what_is_over(&mut self, now: Timestamp) {
        match self.overlay.expire(now) {
            Ok(over) if over.is_empty() => {}
            Ok(over) => {
                for rule in &over {
                    info!(rule = %rule.id, "a rule has expired");
                }
                self.apply();
            }
            Err(trouble) => self.report.once(&trouble.to_string()),
        }
    }

    /// Once for each end: one that has moved comes near again.
    fn warn_of_ends(&mut self, now: Timestamp) {
        let policy = self.keeper.policy();
        let ending = policy.rules.rules().iter().filter(|rule| lifetime::is_ending(rule, now));
        let ending = ending.filter_map(|rule| Some((rule.id.clone(), rule.expires?))).collect();
        let warned = std::mem::replace(&mut self.warned, ending);
        for (rule, expires) in self.warned.iter().filter(|(rule, expires)| warned.get(*rule) != Some(expires)) {
            let left = expires.since(now).as_secs();
            warn!(%rule, seconds_left = left, "a rule is about to expire; extend it if it is still needed");
        }
    }
}

#[cfg(test)]
mod tests;
