//! The clients: `web`, which reads and changes single rows; `billing` and `report`, which read ranges; and `job`, which writes
//! more than the replica can apply.

mod job;
mod report;
mod web;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_async::Conn;
use sandbox::Login;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::figures::{Figures, Reading, Span};
use crate::servers::opts;

/// Between an error and the next attempt to connect.
const AFTER_AN_ERROR: Duration = Duration::from_millis(200);
/// A client that has not ended by then after it was asked to hangs.
const END_DEADLINE: Duration = Duration::from_secs(20);

/// All of them, at work.
#[derive(Debug)]
pub(crate) struct Clients {
    stop: watch::Sender<bool>,
    job_works: watch::Sender<bool>,
    clients: [Client; 4],
    connections: JoinSet<()>,
}

#[derive(Debug)]
struct Client {
    name: &'static str,
    figures: Arc<Figures>,
}

/// A client's name and what it has seen.
pub(crate) type Named = (&'static str, Reading);

impl Clients {
    pub(crate) fn start(proxy: SocketAddr) -> Clients {
        let begin = Instant::now();
        let (stop, stopped) = watch::channel(false);
        let (job_works, works) = watch::channel(true);
        let names = [web::NAME, report::BILLING.name, report::REPORT.name, job::NAME];
        let clients = names.map(|name| Client { name, figures: Arc::new(Figures::new(begin)) });
        let mut connections = JoinSet::new();
        let [web, billing, report, job] = &clients;
        for number in 0..web::CONNECTIONS {
            let connection = Connection::new(proxy, web::LOGIN, &web.figures, &stopped);
            connections
                .spawn(connection.keep_up(move |connection, conn| Box::pin(web::work(connection, conn, number))));
        }
        for (reader, client) in [(report::BILLING, billing), (report::REPORT, report)] {
            let connection = Connection::new(proxy, reader.login, &client.figures, &stopped);
            connections
                .spawn(connection.keep_up(move |connection, conn| Box::pin(report::work(connection, conn, reader))));
        }
        for number in 0..job::CONNECTIONS {
            let connection = Connection::new(proxy, job::LOGIN, &job.figures, &stopped);
            let works = works.clone();
            connections.spawn(connection.keep_up(move |connection, conn| {
                let works = works.clone();
                Box::pin(job::work(connection, conn, number, works))
            }));
        }
        Clients { stop, job_works, clients, connections }
    }

    /// Whether the job works or rests.
    pub(crate) fn job_works(&self, works: bool) {
        self.job_works.send_replace(works);
    }

    pub(crate) fn read(&self, span: Span) -> Vec<Named> {
        let now = Instant::now();
        self.clients.iter().map(|client| (client.name, client.figures.read(span, now))).collect()
    }

    /// Of `web`, whose latency is looked at.
    pub(crate) fn foreground(&self, span: Span) -> Reading {
        let [web, ..] = &self.clients;
        web.figures.read(span, Instant::now())
    }

    pub(crate) fn job(&self, span: Span) -> Reading {
        let [.., job] = &self.clients;
        job.figures.read(span, Instant::now())
    }

    /// Lets each finish what it is at, log out, and gives what was seen from the beginning.
    pub(crate) async fn finish(mut self) -> Vec<Named> {
        let totals = self.read(Span::Total);
        let _ = self.stop.send(true);
        let ended = tokio::time::timeout(END_DEADLINE, async { while self.connections.join_next().await.is_some() {} });
        if ended.await.is_err() {
            for client in &self.clients {
                client.figures.error(&format!("a query was not answered within {END_DEADLINE:?}"));
            }
        }
        // What they did at the very end counts, the time that it took them to end does not.
        let overs = totals.into_iter().map(|(_, reading)| reading.over);
        self.read(Span::Total)
            .into_iter()
            .zip(overs)
            .map(|((name, reading), over)| (name, Reading { over, ..reading }))
            .collect()
    }
}

/// One connection of a client, which connects again after an error.
#[derive(Debug)]
struct Connection {
    proxy: SocketAddr,
    login: Login,
    figures: Arc<Figures>,
    stopped: watch::Receiver<bool>,
}

/// The work on an open connection, until it fails or is to stop.
type Work<'a> = std::pin::Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send + 'a>>;

impl Connection {
    fn new(proxy: SocketAddr, login: Login, figures: &Arc<Figures>, stopped: &watch::Receiver<bool>) -> Connection {
        Connection { proxy, login, figures: Arc::clone(figures), stopped: stopped.clone() }
    }

    async fn keep_up(self, work: impl for<'a> Fn(&'a Connection, &'a mut Conn) -> Work<'a>) {
        while !self.is_to_stop() {
            if let Err(error) = self.once(&work).await {
                self.figures.error(&format!("{error:#}"));
                self.pause(AFTER_AN_ERROR).await;
            }
        }
    }

    async fn once(&self, work: &impl for<'a> Fn(&'a Connection, &'a mut Conn) -> Work<'a>) -> anyhow::Result<()> {
        let mut conn = Conn::new(opts(self.proxy, self.login)).await?;
        work(self, &mut conn).await?;
        conn.disconnect().await?;
        Ok(())
    }

    /// Runs and times one query.
    async fn timed<T>(&self, query: impl Future<Output = mysql_async::Result<T>>) -> mysql_async::Result<T> {
        let begin = Instant::now();
        let answer = query.await?;
        self.figures.query(begin.elapsed());
        Ok(answer)
    }

    fn is_to_stop(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Not longer than until the end.
    async fn pause(&self, time: Duration) {
        let mut stopped = self.stopped.clone();
        let _ = tokio::time::timeout(time, stopped.wait_for(|stop| *stop)).await;
    }
}
