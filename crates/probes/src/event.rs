//! What the probes have to tell, and the way it goes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use health::{BuiltIn, MetricName, Reading, Report, ServerName, Work};
use tokio::sync::mpsc;
use tracing::warn;

use crate::server::{Flavor, ReplicationState};

#[derive(Debug, Clone)]
pub enum Event {
    Report(Report),
    /// What is known of a server; when it changes, and again every 10 s.
    Server(ServerSeen),
    Changed(Change),
    /// It follows the primary no more, as far as discovery sees.
    Gone(ServerName),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSeen {
    pub name: ServerName,
    pub role: Role,
    /// `server_uuid`; what comes nearest to it on MariaDB.
    pub id: Arc<str>,
    pub read_only: bool,
    pub flavor: Flavor,
    pub version: Arc<str>,
    /// Of a replica.
    pub replication: Option<ReplicationState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Primary,
    Replica,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Primary => "primary",
            Role::Replica => "replica",
        })
    }
}

/// Of the server at the primary's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    NewServer {
        from: Arc<str>,
        to: Arc<str>,
    },
    /// It became read-only.
    Demoted,
    Promoted,
}

/// Where events go. A reader that is slow must not hold up the probes, so what does not fit is lost and counted; but only
/// reports and sightings, which come again. The others wait for room.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    events: mpsc::Sender<Event>,
    /// What must arrive and found no room.
    waiting: Arc<Mutex<VecDeque<Event>>>,
    lost: Arc<AtomicU64>,
}

/// A reader that takes nothing for so many changes is gone.
const MOST_WAITING: usize = 256;

impl Outbox {
    pub(crate) fn new(events: mpsc::Sender<Event>) -> Outbox {
        Outbox { events, waiting: Arc::default(), lost: Arc::default() }
    }

    pub(crate) fn send(&self, event: Event) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(first) = waiting.pop_front() {
            if let Err(error) = self.events.try_send(first) {
                waiting.push_front(error.into_inner());
                break;
            }
        }
        let Err(error) = self.events.try_send(event) else { return };
        match error.into_inner() {
            event @ (Event::Changed(_) | Event::Gone(_)) if waiting.len() < MOST_WAITING => waiting.push_back(event),
            Event::Report(_) | Event::Server(_) | Event::Changed(_) | Event::Gone(_) => self.lose(),
        }
    }

    pub(crate) fn metric(&self, metric: BuiltIn, server: &ServerName, reading: Reading, at: Instant) {
        self.report(metric.as_str().into(), server, reading, at, None);
    }

    pub(crate) fn report(
        &self,
        metric: MetricName,
        server: &ServerName,
        reading: Reading,
        at: Instant,
        applied: Option<Work>,
    ) {
        self.send(Event::Report(Report { metric, server: server.clone(), reading, at, applied }));
    }

    fn lose(&self) {
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        // Once, and then more rarely the longer it lasts.
        if lost.is_power_of_two() && !self.events.is_closed() {
            warn!(lost, "measurements come faster than they are taken up");
        }
    }
}

/// Tells of a server when something about it has changed, and now and then all the same.
#[derive(Debug, Default)]
pub(crate) struct Sightings {
    last: Option<(ServerSeen, Instant)>,
}

const AGAIN: Duration = Duration::from_secs(10);

impl Sightings {
    pub(crate) fn tell(&mut self, seen: ServerSeen, now: Instant, outbox: &Outbox) {
        let known = self.last.as_ref().is_some_and(|(last, at)| *last == seen && now.duration_since(*at) < AGAIN);
        if !known {
            self.last = Some((seen.clone(), now));
            outbox.send(Event::Server(seen));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_loses_reports_and_no_changes() {
        let (sender, mut events) = mpsc::channel(1);
        let outbox = Outbox::new(sender);
        let report = || outbox.metric(BuiltIn::LockWaits, &"s".into(), Reading::Value(1.0), Instant::now());
        report();
        report();
        outbox.send(Event::Changed(Change::Demoted));
        assert_eq!(outbox.lost.load(Ordering::Relaxed), 1);
        assert!(matches!(events.try_recv(), Ok(Event::Report(_))));
        report();
        assert!(matches!(events.try_recv(), Ok(Event::Changed(Change::Demoted))), "it goes before what came later");
    }
}
