//! The upstream's catalogue: what its views, routines and triggers touch.
//!
//! One query tells whether anything has changed since the last pass; only then are the rows read and the snapshot built
//! anew. Both happen on a timer and after DDL or a CALL was seen, but at most for a tenth of the time.

mod ask;
mod privileges;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use catalog::Catalog;
use health::Unknown;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use tracing::info;

use crate::complaints::Complaints;
use crate::connector::Connector;
use crate::line::{Line, Open};
use crate::settings::{Endpoint, Login};

/// How the catalogue is read.
#[derive(Debug, Clone)]
pub struct CatalogueSettings {
    pub upstream: Endpoint,
    pub login: Login,
    /// Between two passes without a request.
    pub interval: Duration,
}

impl CatalogueSettings {
    pub const INTERVAL: Duration = Duration::from_secs(60);
}

/// Between the beginnings of two passes, however many requests there are, and at least ten times what a pass takes: what was
/// just defined is in doubt for as long.
const SOONEST: Duration = Duration::from_millis(100);
/// After a pass that failed.
const RETRY: Duration = Duration::from_secs(5);
/// The deadline of a pass: a catalogue of 100,000 objects takes longer than a sample.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Names are printed in backticks whatever the server's sql_mode is, and nothing is written.
const SESSION: &[&str] = &["SET SESSION sql_mode=''", "SET SESSION TRANSACTION READ ONLY"];

/// A snapshot of the catalogue.
#[derive(Debug, Clone)]
pub struct CatalogueSeen {
    pub catalog: Arc<Catalog>,
    /// It is at least as new as this.
    pub from: Instant,
}

impl CatalogueSeen {
    /// Nothing is known yet.
    pub fn unknown() -> CatalogueSeen {
        CatalogueSeen { catalog: Arc::new(Catalog::unknown()), from: Instant::now() }
    }
}

/// Reads the catalogue for as long as it is polled; dropping it ends the connection.
///
/// `wanted` asks for a pass. `sender` gets each new snapshot, and the old one with a new time if nothing has changed; the last
/// one stays while the server does not answer.
pub async fn watch_catalogue(
    settings: CatalogueSettings,
    wanted: Arc<Notify>,
    sender: watch::Sender<CatalogueSeen>,
) -> Infallible {
    let mut reader = Reader::new(&settings.upstream, &settings.login);
    let name = settings.upstream.name();
    let mut complaints = Complaints::new(format!("the catalogue of {name} cannot be read"));
    loop {
        let begun = Instant::now();
        let pause = match reader.pass().await {
            Ok(Some(catalog)) => {
                complaints.fine();
                log(&catalog, begun.elapsed());
                sender.send_replace(CatalogueSeen { catalog: Arc::new(catalog), from: begun });
                settings.interval
            }
            Ok(None) => {
                complaints.fine();
                sender.send_modify(|seen| seen.from = begun);
                settings.interval
            }
            Err((why, error)) => {
                complaints.failed(why, error.as_ref());
                settings.interval.min(RETRY)
            }
        };
        let soonest = SOONEST.max(begun.elapsed() * 10);
        tokio::select! {
            () = sleep_until(begun + pause) => {}
            () = wanted.notified() => sleep_until(begun + soonest.min(settings.interval)).await,
        }
    }
}

/// Reads the catalogue once.
pub async fn read_catalogue(upstream: &Endpoint, login: &Login) -> Result<Catalog, String> {
    match Reader::new(upstream, login).pass().await {
        Ok(catalog) => Ok(catalog.unwrap_or_default()),
        Err((_, Some(error))) => Err(error.to_string()),
        Err((why, None)) => Err(why.means().to_owned()),
    }
}

fn log(catalog: &Catalog, took: Duration) {
    let (tables, views, routines) = catalog.counts();
    let unseen: Vec<String> = catalog.unseen().iter().map(ToString::to_string).collect();
    info!(tables, views, routines, unseen = unseen.join("; "), ?took, "read the server's catalogue");
}

struct Reader {
    connector: Connector,
    line: Line,
    /// What the last snapshot was built from.
    version: Option<ask::Version>,
}

type Failure = (Unknown, Option<mysql_async::Error>);

impl Reader {
    fn new(upstream: &Endpoint, login: &Login) -> Reader {
        let connector = Connector::new(upstream, login);
        Reader { line: line(&connector), connector, version: None }
    }

    /// `None`: nothing has changed.
    async fn pass(&mut self) -> Result<Option<Catalog>, Failure> {
        let look = match self.look().await? {
            ask::Look::OtherGrants => {
                self.version = None;
                self.line = line(&self.connector);
                self.look().await?
            }
            look @ (ask::Look::Unchanged | ask::Look::Read(_)) => look,
        };
        match look {
            ask::Look::Unchanged | ask::Look::OtherGrants => Ok(None),
            ask::Look::Read(read) => {
                let (version, inventory) = *read;
                // Reading thousands of bodies must not hold up whoever shares the thread.
                let built = tokio::task::spawn_blocking(move || Catalog::build(inventory)).await;
                let catalog = built.map_err(|_| (Unknown::Failed, None))?;
                self.version = Some(version);
                Ok(Some(catalog))
            }
        }
    }

    async fn look(&mut self) -> Result<ask::Look, Failure> {
        let known = self.version.clone();
        let deadline = std::time::Instant::now() + TIMEOUT;
        let asked = self.line.ask(deadline, |mut open: Open| async move {
            let look = ask::look(&mut open.connection, &open.identity, known.as_ref()).await;
            (open, look)
        });
        asked.await
    }
}

fn line(connector: &Connector) -> Line {
    Line::new(connector.clone(), TIMEOUT).renewed(true).with(SESSION)
}
