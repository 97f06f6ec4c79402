//! The primary: its status at every sample, what it is set to each second, `history_list_length` as often as somebody wants to
//! know it, who follows it every 10 s.

use std::sync::Arc;
use std::time::{Duration, Instant};

use health::{BuiltIn, Reading, ServerName, Unknown};
use tokio::sync::watch;

use crate::ask::{history, status, variables};
use crate::clock::Clock;
use crate::complaints::Complaints;
use crate::connector::Connector;
use crate::discovery::{Discovery, Found};
use crate::event::{Change, Event, Role, ServerSeen, Sightings};
use crate::line::{Line, Open};
use crate::pace::{Tick, Ticker};
use crate::run::Common;
use crate::server::Identity;
use crate::settings::Replicas;

/// Between two looks at what changes slowly. A little less than a second, so that of samples each second none is passed over.
pub(crate) const SLOWLY: Duration = Duration::from_millis(950);

pub(crate) struct Primary {
    common: Common,
    name: ServerName,
    line: Line,
    complaints: Complaints,
    history_complaints: Complaints,
    known: Option<Known>,
    most_connections: Option<f64>,
    clock: Clock,
    sightings: Sightings,
    slow_after: Option<Instant>,
    history_asked: Option<Instant>,
    discovery: Option<Discovery>,
}

#[derive(Debug, Clone, PartialEq)]
struct Known {
    id: Arc<str>,
    read_only: bool,
}

impl Primary {
    pub(crate) fn new(common: &Common, found: watch::Sender<Found>) -> Primary {
        let settings = &common.settings;
        let name = settings.primary.name();
        let connector = Connector::new(&settings.primary, &settings.login);
        Primary {
            line: Line::new(connector, settings.timeout).renewed(settings.primary.address.is_a_name()),
            complaints: Complaints::new(format!("the primary {name} does not say how it is")),
            history_complaints: Complaints::new(format!("the primary {name} does not tell its history_list_length")),
            common: common.clone(),
            name,
            known: None,
            most_connections: None,
            clock: Clock::default(),
            sightings: Sightings::default(),
            slow_after: None,
            history_asked: None,
            discovery: match settings.replicas {
                Replicas::Listed(_) => None,
                Replicas::Discover => Some(Discovery::new(settings.primary.clone(), found)),
            },
        }
    }

    pub(crate) async fn run(mut self) {
        let mut ticker = Ticker::new(self.common.pace.clone(), |pace| pace.status);
        loop {
            if ticker.tick().await == Tick::Woken {
                self.line.hurry();
                self.slow_after = None;
                self.history_asked = None;
            }
            let now = Instant::now();
            let slowly = self.slow_after.is_none_or(|time| now >= time);
            if slowly {
                self.slow_after = Some(now + SLOWLY);
            }
            if self.line.rests() {
                continue;
            }
            let deadline = now + self.common.settings.timeout;
            match self.sample(deadline, slowly).await {
                Ok(()) => self.complaints.fine(),
                Err((why, error)) => {
                    self.complaints.failed(why, error.as_ref());
                    for metric in status::METRICS.into_iter().chain([BuiltIn::HistoryListLength]) {
                        self.common.outbox.metric(metric, &self.name, Reading::Unknown(why), now);
                    }
                    // The next that answers may be another, with other settings.
                    self.slow_after = None;
                    self.history_asked = None;
                }
            }
            if let Some(discovery) = &mut self.discovery
                && self.line.has_connection()
            {
                discovery.look(&mut self.line, self.common.settings.timeout).await;
            }
        }
    }

    /// An error here is one of the connection, or one that leaves nothing to report.
    async fn sample(&mut self, deadline: Instant, slowly: bool) -> Result<(), (Unknown, Option<mysql_async::Error>)> {
        if slowly || !self.line.has_connection() {
            self.look_at_variables(deadline).await?;
        }
        let sent = Instant::now();
        let status = self.line.ask(deadline, |mut open: Open| async move {
            let status = status::ask(&mut open.connection, open.identity.flavor).await;
            (open, status)
        });
        for (metric, reading) in status.await?.readings(self.most_connections) {
            self.common.outbox.metric(metric, &self.name, reading, sent);
        }
        if self.history_is_due(sent) {
            self.history_asked = Some(sent);
            self.measure_history(deadline).await;
        }
        Ok(())
    }

    /// At the sample that is nearest to when somebody wants to know it.
    fn history_is_due(&self, now: Instant) -> bool {
        let pace = *self.common.pace.borrow();
        self.history_asked.is_none_or(|asked| now.saturating_duration_since(asked) + pace.status / 2 >= pace.history)
    }

    async fn look_at_variables(&mut self, deadline: Instant) -> Result<(), (Unknown, Option<mysql_async::Error>)> {
        let asked = self.line.ask(deadline, |mut open: Open| async move {
            let sent = Instant::now();
            let told = variables::ask(&mut open.connection, open.identity.flavor).await;
            let told = told.map(|variables| (variables, open.identity.clone(), sent));
            (open, told)
        });
        let (variables, identity, sent) = asked.await?;
        self.most_connections = variables.most_connections;
        self.seen(&identity, variables.read_only);
        if let Some(now) = variables.now {
            self.clock.looked(self.common.epoch, sent, Instant::now(), now);
            self.common.primary_clock.send_replace(self.clock.offset());
        }
        Ok(())
    }

    fn seen(&mut self, identity: &Identity, read_only: bool) {
        let now = Known { id: identity.id.clone(), read_only };
        for change in changes(self.known.as_ref(), &now) {
            if matches!(change, Change::NewServer { .. }) {
                self.clock = Clock::default();
                self.discovery.iter_mut().for_each(Discovery::start_anew);
            }
            self.common.outbox.send(Event::Changed(change));
        }
        self.known = Some(now);
        self.line.renew_early(read_only);
        let seen = ServerSeen {
            name: self.name.clone(),
            role: Role::Primary,
            id: identity.id.clone(),
            read_only,
            flavor: identity.flavor,
            version: identity.version.clone(),
            replication: None,
        };
        self.sightings.tell(seen, Instant::now(), &self.common.outbox);
    }

    /// Its privilege may be missing where all others are there.
    async fn measure_history(&mut self, deadline: Instant) {
        let sent = Instant::now();
        let asked = self.line.ask(deadline, |mut open: Open| async move {
            let history = history::ask(&mut open.connection).await;
            (open, history)
        });
        let reading = match asked.await {
            Ok(reading) => {
                self.history_complaints.fine();
                reading
            }
            Err((why, error)) => {
                self.history_complaints.failed(why, error.as_ref());
                Reading::Unknown(why)
            }
        };
        self.common.outbox.metric(BuiltIn::HistoryListLength, &self.name, reading, sent);
    }
}

/// What the servers' users must know of: another server first, then whether it takes writes.
fn changes(before: Option<&Known>, now: &Known) -> Vec<Change> {
    let Some(before) = before else { return Vec::new() };
    let mut changes = Vec::new();
    if before.id != now.id {
        changes.push(Change::NewServer { from: before.id.clone(), to: now.id.clone() });
    }
    match (before.read_only, now.read_only) {
        (false, true) => changes.push(Change::Demoted),
        (true, false) => changes.push(Change::Promoted),
        (false, false) | (true, true) => {}
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_and_the_first_look_is_none() {
        let known = |id: &str, read_only| Known { id: id.into(), read_only };
        let new = Change::NewServer { from: "a".into(), to: "b".into() };
        for (before, now, expected) in [
            (None, known("a", true), vec![]),
            (Some(known("a", false)), known("a", false), vec![]),
            (Some(known("a", false)), known("a", true), vec![Change::Demoted]),
            (Some(known("a", true)), known("a", false), vec![Change::Promoted]),
            (Some(known("a", false)), known("b", false), vec![new.clone()]),
            (Some(known("a", true)), known("b", false), vec![new.clone(), Change::Promoted]),
            (Some(known("a", false)), known("b", true), vec![new, Change::Demoted]),
        ] {
            assert_eq!(changes(before.as_ref(), &now), expected, "{before:?} {now:?}");
        }
    }
}
