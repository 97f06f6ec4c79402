//! Servers with the probes' user on them, and what the probes tell of them.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use health::{BuiltIn, Reading, Report, Unknown, Work};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use probes::{
    Address, CustomMetric, Endpoint, Event, Flavor, Grants, Heartbeat, Host, Login, MissingTable, Pace, Probes,
    Replicas, Secret, Settings, Tls, TlsMode,
};
use sandbox::{Cluster, Server};
use tokio::sync::{Mutex, MutexGuard, mpsc, watch};
use tokio::task::JoinHandle;

/// Long enough for a loaded machine; it is not waited for where all is well.
const DEADLINE: Duration = Duration::from_secs(30);
const PASSWORD: &str = "probe-pw";
pub(crate) const USER: &str = "probe";

pub(crate) const FAST: Pace = Pace::of_all(Duration::from_millis(100));

/// A primary and its replica, whose state a test may change. One test at a time.
pub(crate) async fn cluster() -> Result<(&'static Cluster, MutexGuard<'static, ()>)> {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::const_new(());
    let turn = TURN.lock().await;
    let started = CLUSTER.get_or_init(|| start_cluster().map_err(|error| format!("{error:#}")));
    Ok((started.as_ref().map_err(|error| anyhow!("{error}"))?, turn))
}

fn start_cluster() -> Result<Cluster> {
    let cluster = Cluster::start()?;
    let heartbeat = heartbeat("any");
    cluster.primary.root_sql(&make_user(Flavor::Mysql, &heartbeat))?;
    cluster.wait_for_replica(DEADLINE)?;
    Ok(cluster)
}

pub(crate) fn make_user(flavor: Flavor, heartbeat: &Heartbeat) -> String {
    let wanted = Grants { user: USER, host: "%", password: Some(PASSWORD), heartbeat: Some(heartbeat), discover: true };
    probes::grants(flavor, &wanted)
}

pub(crate) fn heartbeat(proxy: &str) -> Heartbeat {
    Heartbeat {
        schema: "toll_gate".into(),
        table: "heartbeat".into(),
        proxy: proxy.into(),
        missing: MissingTable::Create,
    }
}

pub(crate) fn endpoint(server: &Server) -> Endpoint {
    port(server.port())
}

pub(crate) fn port(port: u16) -> Endpoint {
    Endpoint { address: Address::Tcp { host: "127.0.0.1".into(), port }, tls: Tls::new(TlsMode::Preferred) }
}

pub(crate) fn settings(primary: Endpoint, replicas: Vec<Endpoint>, heartbeat: Option<Heartbeat>) -> Settings {
    Settings {
        primary,
        replicas: Replicas::Listed(replicas),
        login: Login { user: USER.into(), password: Secret::new(PASSWORD) },
        heartbeat,
        timeout: Settings::TIMEOUT,
        host: Host::Here,
    }
}

pub(crate) fn of_cluster(cluster: &Cluster, heartbeat: Option<Heartbeat>) -> Settings {
    settings(endpoint(&cluster.primary), vec![endpoint(&cluster.replica)], heartbeat)
}

/// The statements that make the replica one again, while it is one.
pub(crate) fn replication(cluster: &Cluster) -> Result<String> {
    let host = cluster.replica.root_sql("SELECT HOST FROM performance_schema.replication_connection_configuration")?;
    Ok(format!(
        "SET GLOBAL read_only=ON; CHANGE REPLICATION SOURCE TO SOURCE_HOST='{}', SOURCE_PORT={}, SOURCE_USER='repl',
         SOURCE_PASSWORD='repl-pw', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1; START REPLICA",
        host.trim(),
        cluster.primary.port()
    ))
}

/// Running probes. Dropping it ends them.
pub(crate) struct Running {
    events: mpsc::Receiver<Event>,
    pub(crate) pace: watch::Sender<Pace>,
    pub(crate) custom: watch::Sender<Arc<Vec<CustomMetric>>>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn start(settings: Settings) -> Running {
    start_at(settings, FAST)
}

pub(crate) fn start_at(settings: Settings, pace: Pace) -> Running {
    let (sender, events) = mpsc::channel(1000);
    let (pace, paced) = watch::channel(pace);
    let (custom, customs) = watch::channel(Arc::new(Vec::new()));
    let work = Arc::new(|| Work { transactions: 7.0, rows: 70.0 });
    let task = tokio::spawn(async move { match Probes::run(settings, paced, customs, work, sender).await {} });
    Running { events, pace, custom, task }
}

impl Running {
    /// The first event that is wanted. Those before it are gone.
    pub(crate) async fn event<T>(&mut self, what: &str, mut wanted: impl FnMut(Event) -> Option<T>) -> Result<T> {
        let end = Instant::now() + DEADLINE;
        let mut last = None;
        loop {
            let event = tokio::time::timeout_at(end.into(), self.events.recv()).await;
            let event = event.with_context(|| format!("{what} did not come; last was {last:?}"))?.context("ended")?;
            last = Some(event.clone());
            if let Some(found) = wanted(event) {
                return Ok(found);
            }
        }
    }

    /// What is told from now on: what was told before does not count.
    pub(crate) fn forget(&mut self) {
        while self.events.try_recv().is_ok() {}
    }

    pub(crate) async fn report(
        &mut self,
        metric: &str,
        server: &str,
        wanted: impl Fn(&Report) -> bool,
    ) -> Result<Report> {
        let mut last = None;
        let found = self.event(metric, |event| match event {
            Event::Report(report) if &*report.metric == metric && &*report.server == server => {
                last = Some(report.reading);
                wanted(&report).then_some(report)
            }
            _ => None,
        });
        let found = found.await;
        found.with_context(|| format!("{metric} of {server} was last {last:?}"))
    }

    pub(crate) async fn value(&mut self, metric: BuiltIn, server: &Endpoint) -> Result<f64> {
        let report = self.report(metric.as_str(), &server.name(), |report| number(report.reading).is_some()).await?;
        number(report.reading).context("no value")
    }

    pub(crate) async fn lag(&mut self, server: &Server, wanted: impl Fn(Reading) -> bool) -> Result<Report> {
        let name = endpoint(server).name();
        self.report(BuiltIn::ReplicationLag.as_str(), &name, |report| wanted(report.reading)).await
    }

    pub(crate) async fn lag_is(&mut self, server: &Server, reading: Reading) -> Result<Report> {
        self.lag(server, |told| told == reading).await
    }

    pub(crate) async fn lag_is_unknown(&mut self, server: &Server, why: Unknown) -> Result<Report> {
        self.lag_is(server, Reading::Unknown(why)).await
    }

    pub(crate) async fn lag_is_known(&mut self, server: &Server) -> Result<Report> {
        self.lag(server, |told| number(told).is_some()).await
    }
}

pub(crate) fn number(reading: Reading) -> Option<f64> {
    match reading {
        Reading::Value(value) => Some(value),
        Reading::Idle | Reading::Delayed | Reading::Unknown(_) => None,
    }
}

/// Over so many seconds.
pub(crate) fn over(seconds: f64) -> impl Fn(Reading) -> bool {
    move |reading| number(reading).is_some_and(|value| value > seconds)
}

/// A session of an application, which can hold locks.
pub(crate) async fn session(server: &Server) -> Result<Conn> {
    let opts = OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(server.port())
        .user(Some(sandbox::APP.user))
        .pass(Some(sandbox::APP.password))
        .prefer_socket(Some(false))
        .ssl_opts(mysql_async::SslOpts::default().with_danger_accept_invalid_certs(true));
    Ok(Conn::new(opts).await?)
}

pub(crate) async fn run(connection: &mut Conn, sql: &str) -> Result<()> {
    connection.query_drop(sql).await.with_context(|| sql.to_owned())
}
