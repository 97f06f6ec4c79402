//! The probes, put together: a task a server, so that none waits for another.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use health::{ServerName, Work};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tracing::error;

use crate::connector::Connector;
use crate::custom::{self, CustomMetric, On};
use crate::discovery::Found;
use crate::event::{Event, Outbox};
use crate::heartbeat::Heart;
use crate::heartbeat::writer::Writer;
use crate::host;
use crate::line::Line;
use crate::pace::{Pace, Ticker};
use crate::primary::Primary;
use crate::replica::Replica;
use crate::settings::{Host, Replicas, Settings};

/// The work that has been committed so far; asked at every heartbeat.
pub type WorkSoFar = Arc<dyn Fn() -> Work + Send + Sync>;

/// Where it all starts.
#[derive(Debug)]
pub struct Probes {}

/// What every task needs.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) settings: Arc<Settings>,
    pub(crate) pace: watch::Receiver<Pace>,
    pub(crate) custom: watch::Receiver<Arc<Vec<CustomMetric>>>,
    pub(crate) outbox: Outbox,
    pub(crate) heart: Option<Arc<Heart>>,
    /// What times are counted from.
    pub(crate) epoch: Instant,
    /// The offset of the primary's clock.
    pub(crate) primary_clock: watch::Sender<Option<f64>>,
}

/// So many discoveries in a row must miss a replica before it is forgotten: it may be about to connect again.
const MISSES: u32 = 2;

impl Probes {
    /// Asks for as long as it is polled; dropping it ends every task and connection. Must run inside a tokio runtime.
    ///
    /// `pace`: a quicker one wakes at once whom it concerns. `events`: should have room for some samples of all servers; what
    /// does not fit is lost and counted, except changes, which wait.
    pub async fn run(
        settings: Settings,
        pace: watch::Receiver<Pace>,
        custom: watch::Receiver<Arc<Vec<CustomMetric>>>,
        work: WorkSoFar,
        events: mpsc::Sender<Event>,
    ) -> Infallible {
        let heart = settings.heartbeat.is_some().then(|| Arc::new(Heart::new()));
        let common = Common {
            settings: Arc::new(settings),
            pace,
            custom,
            outbox: Outbox::new(events),
            heart,
            epoch: Instant::now(),
            primary_clock: watch::Sender::new(None),
        };
        let mut tasks = JoinSet::new();
        let (found, mut discovered) = watch::channel(Found::default());
        tasks.spawn(Primary::new(&common, found).run());
        ask_no_server(common.settings.host, &common.pace, &common.custom, &common.outbox, &mut tasks);
        tasks.spawn(custom::sql::run(common.clone(), common.settings.primary.clone(), On::Primary));
        if let Some(writer) = writer(&common, work) {
            tasks.spawn(writer.run());
        }
        let mut replicas = Followers::default();
        if let Replicas::Listed(listed) = &common.settings.replicas {
            replicas.set(&Found { of: String::new(), replicas: listed.clone() }, &common, &mut tasks);
        }
        loop {
            tokio::select! {
                Ok(()) = discovered.changed() => {
                    let found = discovered.borrow_and_update().clone();
                    replicas.set(&found, &common, &mut tasks);
                }
                Some(end) = tasks.join_next() => ended(end),
            }
        }
    }

    /// The same where there is no user to ask servers as: what needs none, which is pages and the load of this machine.
    pub async fn run_without_servers(
        host: Host,
        pace: watch::Receiver<Pace>,
        custom: watch::Receiver<Arc<Vec<CustomMetric>>>,
        events: mpsc::Sender<Event>,
    ) -> Infallible {
        let mut tasks = JoinSet::new();
        ask_no_server(host, &pace, &custom, &Outbox::new(events), &mut tasks);
        while let Some(end) = tasks.join_next().await {
            ended(end);
        }
        std::future::pending().await
    }
}

fn ask_no_server(
    host: Host,
    pace: &watch::Receiver<Pace>,
    custom: &watch::Receiver<Arc<Vec<CustomMetric>>>,
    outbox: &Outbox,
    tasks: &mut JoinSet<()>,
) {
    tasks.spawn(host::run(host, pace.clone(), outbox.clone()));
    tasks.spawn(custom::http::run(custom.clone(), pace.clone(), outbox.clone()));
}

/// A task of a replica that is gone is cancelled; no other one ends.
fn ended(end: Result<(), JoinError>) {
    if let Err(error) = end
        && !error.is_cancelled()
    {
        error!(%error, "a probe has ended, which is a bug: its metrics will be stale");
    }
}

fn writer(common: &Common, work: WorkSoFar) -> Option<Writer> {
    let settings = &common.settings;
    let heart = common.heart.clone()?;
    let heartbeat = Arc::new(settings.heartbeat.clone()?);
    let connector = Connector::new(&settings.primary, &settings.login);
    let line = Line::new(connector, settings.timeout).renewed(settings.primary.address.is_a_name());
    let ticker = Ticker::new(common.pace.clone(), |pace| pace.lag);
    Some(Writer { line, ticker, heartbeat, heart, timeout: settings.timeout, work })
}

/// The replicas that are being asked.
#[derive(Debug, Default)]
struct Followers {
    /// Whom they follow.
    primary: String,
    known: HashMap<ServerName, Follower>,
}

#[derive(Debug)]
struct Follower {
    tasks: [AbortHandle; 2],
    missed: u32,
}

impl Followers {
    fn set(&mut self, found: &Found, common: &Common, tasks: &mut JoinSet<()>) {
        // Of another primary: whoever is not on its list follows the old one, or nobody.
        let most = if self.primary == found.of { MISSES } else { 1 };
        self.primary.clone_from(&found.of);
        for endpoint in &found.replicas {
            let follower = self.known.entry(endpoint.name()).or_insert_with(|| Follower {
                tasks: [
                    tasks.spawn(Replica::new(common, endpoint).run()),
                    tasks.spawn(custom::sql::run(common.clone(), endpoint.clone(), On::Replicas)),
                ],
                missed: 0,
            });
            follower.missed = 0;
        }
        self.known.retain(|name, follower| {
            if found.replicas.iter().any(|endpoint| endpoint.name() == *name) {
                return true;
            }
            follower.missed += 1;
            if follower.missed < most {
                return true;
            }
            follower.tasks.iter().for_each(AbortHandle::abort);
            common.outbox.send(Event::Gone(name.clone()));
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{Address, Endpoint, Login, Secret, Tls, TlsMode};

    fn endpoint(host: &str) -> Endpoint {
        Endpoint { address: Address::Tcp { host: host.into(), port: 1 }, tls: Tls::new(TlsMode::Disabled) }
    }

    #[tokio::test]
    async fn a_replica_is_gone_when_it_was_missing_twice() {
        let (sender, mut events) = mpsc::channel(100);
        let settings = Settings {
            primary: endpoint("127.0.0.1"),
            replicas: Replicas::Discover,
            login: Login { user: "u".into(), password: Secret::new("p") },
            heartbeat: None,
            timeout: Settings::TIMEOUT,
            host: Host::Elsewhere,
        };
        let common = Common {
            settings: Arc::new(settings),
            pace: watch::channel(Pace::of_all(Duration::from_secs(1))).1,
            custom: watch::channel(Arc::default()).1,
            outbox: Outbox::new(sender),
            heart: None,
            epoch: Instant::now(),
            primary_clock: watch::Sender::new(None),
        };
        let (a, b) = (endpoint("127.0.0.1"), endpoint("127.0.0.2"));
        let (mut tasks, mut followers) = (JoinSet::new(), Followers::default());
        let mut gone = |of: &str, found: &[&Endpoint]| {
            let replicas = found.iter().copied().cloned().collect();
            followers.set(&Found { of: of.into(), replicas }, &common, &mut tasks);
            let gone = std::iter::from_fn(|| events.try_recv().ok()).filter_map(|event| match event {
                Event::Gone(name) => Some(name.to_string()),
                Event::Report(_) | Event::Server(_) | Event::Changed(_) => None,
            });
            (gone.collect::<Vec<_>>(), followers.known.len())
        };
        assert_eq!(gone("p", &[&a, &b]), (vec![], 2));
        assert_eq!(gone("p", &[&a]), (vec![], 2), "it may be about to connect again");
        assert_eq!(gone("p", &[&a, &b]), (vec![], 2));
        assert_eq!(gone("p", &[&a]), (vec![], 2));
        assert_eq!(gone("p", &[&a]), (vec!["127.0.0.2:1".to_owned()], 1));
        assert_eq!(gone("p", &[&a, &b]), (vec![], 2), "it has come back");
        assert_eq!(gone("q", &[&b]), (vec!["127.0.0.1:1".to_owned()], 1), "it does not follow the new primary");
        assert_eq!(gone("q", &[]), (vec![], 1));
    }
}
