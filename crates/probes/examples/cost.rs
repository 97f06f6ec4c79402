//! What the probes cost the servers: their processor time over a while without probes, and over as long with them, in
//! turns, because an idle server's own share is as large and changes with the machine's load.
//!
//!     cargo run -p probes --example cost [seconds] [rounds] [writes a second …]
//!
//! Writes are what a proxy would have carried. With none of them servers that otherwise sleep are woken by the probes alone, and
//! pay for all that is behind a commit. What the writer's own connection takes is left out.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result};
use health::Work;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use probes::{
    Address, Endpoint, Flavor, Grants, Heartbeat, Host, Login, MissingTable, Pace, Probes, Replicas, Secret, Settings,
    Tls, TlsMode,
};
use sandbox::{Cluster, Server};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// What is measured with each number of writes.
struct Case {
    name: &'static str,
    pace: Pace,
    heartbeat: bool,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// As with a gate on each metric, and on lag alone.
const ALL: Pace = Pace { status: ms(250), history: ms(1000), lag: ms(250), custom: ms(0), wakes: 0 };
const LAG: Pace = Pace { status: ms(1000), history: ms(5000), lag: ms(250), custom: ms(0), wakes: 0 };

const CASES: [Case; 4] = [
    Case { name: "all gates, no heartbeat", pace: ALL, heartbeat: false },
    Case { name: "all gates, heartbeat", pace: ALL, heartbeat: true },
    Case { name: "lag, no heartbeat", pace: LAG, heartbeat: false },
    Case { name: "lag, heartbeat", pace: LAG, heartbeat: true },
];

/// Of both servers, in per cent of a core.
type Shares = [f64; 2];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let seconds = numbers.next().transpose()?.unwrap_or(25);
    let rounds = numbers.next().transpose()?.unwrap_or(3);
    let mut rates = numbers.collect::<Result<Vec<_>, _>>()?;
    if rates.is_empty() {
        rates = vec![0, 4, 50];
    }
    let cluster = Cluster::start()?;
    let heartbeat = Heartbeat {
        schema: "tollgate".into(),
        table: "heartbeat".into(),
        proxy: "cost".into(),
        missing: MissingTable::Create,
    };
    let wanted =
        Grants { user: "cost", host: "%", password: Some("cost-pw"), heartbeat: Some(&heartbeat), discover: false };
    cluster.primary.root_sql(&probes::grants(Flavor::Mysql, &wanted))?;
    println!("{:>8} {:<24} {:<32} replica, % of a core", "writes/s", "", "primary, % of a core");
    for rate in rates {
        let written = Arc::new(AtomicU64::new(0));
        let writer =
            if rate > 0 { Some(Writer::start(&cluster.primary, rate, Arc::clone(&written)).await?) } else { None };
        let thread = writer.as_ref().map(|writer| writer.thread);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let mut without = Vec::new();
        let mut more: [Vec<Shares>; CASES.len()] = Default::default();
        for _ in 0..rounds {
            let base = measure(&cluster, thread, seconds).await?;
            without.push(base);
            for (case, more) in CASES.iter().zip(&mut more) {
                let settings = settings(&cluster, case.heartbeat.then(|| heartbeat.clone()));
                let running = tokio::spawn(run(settings, case.pace, Arc::clone(&written)));
                tokio::time::sleep(Duration::from_secs(2)).await;
                let with = measure(&cluster, thread, seconds).await?;
                more.push([with[0] - base[0], with[1] - base[1]]);
                running.abort();
            }
        }
        print(rate, "without probes", "", &without);
        CASES.iter().zip(&more).for_each(|(case, more)| print(rate, case.name, "+", more));
    }
    Ok(())
}

fn print(rate: u64, name: &str, sign: &str, rounds: &[Shares]) {
    let list = |server: usize| {
        let shares = rounds.iter().map(|shares| shares[server]);
        let mean = shares.clone().sum::<f64>() / rounds.len() as f64;
        let each = shares.map(|share| format!("{share:.2}")).collect::<Vec<_>>().join(" ");
        format!("{}{mean:.2} ({each})", if mean < 0.0 { "" } else { sign })
    };
    println!("{rate:>8} {name:<24} {:<32} {}", list(0), list(1));
}

fn settings(cluster: &Cluster, heartbeat: Option<Heartbeat>) -> Settings {
    Settings {
        primary: endpoint(&cluster.primary),
        replicas: Replicas::Listed(vec![endpoint(&cluster.replica)]),
        login: Login { user: "cost".into(), password: Secret::new("cost-pw") },
        heartbeat,
        timeout: Settings::TIMEOUT,
        host: Host::Here,
    }
}

async fn run(settings: Settings, pace: Pace, written: Arc<AtomicU64>) {
    let (events, mut told) = mpsc::channel(1000);
    let (_pace, pace) = watch::channel(pace);
    let (_custom, custom) = watch::channel(Arc::new(Vec::new()));
    tokio::spawn(async move { while told.recv().await.is_some() {} });
    let work = Arc::new(move || {
        let written = written.load(Relaxed) as f64;
        Work { transactions: written, rows: written }
    });
    match Probes::run(settings, pace, custom, work, events).await {}
}

/// Writes so many rows a second, until it is dropped.
struct Writer {
    /// Of the server, that does it.
    thread: u64,
    task: JoinHandle<()>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Writer {
    async fn start(server: &Server, rows: u64, written: Arc<AtomicU64>) -> Result<Writer> {
        let login = sandbox::APP;
        let options = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(server.port())
            .prefer_socket(false)
            .user(Some(login.user))
            .pass(Some(login.password));
        let mut connection = Conn::new(options).await?;
        connection.query_drop("CREATE DATABASE IF NOT EXISTS cost").await?;
        connection.query_drop("CREATE TABLE IF NOT EXISTS cost.t (id INT PRIMARY KEY, n INT)").await?;
        connection.query_drop("INSERT IGNORE INTO cost.t VALUES (1, 0)").await?;
        let own = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
        let thread = connection.query_first(own).await?.context("the server does not tell its threads")?;
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / u32::try_from(rows).unwrap_or(u32::MAX));
        let task = tokio::spawn(async move {
            loop {
                ticks.tick().await;
                if connection.exec_drop("UPDATE cost.t SET n = n + 1 WHERE id = 1", ()).await.is_err() {
                    return;
                }
                written.fetch_add(1, Relaxed);
            }
        });
        Ok(Writer { thread, task })
    }
}

async fn measure(cluster: &Cluster, writer: Option<u64>, seconds: u64) -> Result<Shares> {
    let before = [used(&cluster.primary, writer)?, used(&cluster.replica, None)?];
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let after = [used(&cluster.primary, writer)?, used(&cluster.replica, None)?];
    Ok([0, 1].map(|server| (after[server] - before[server]) / seconds as f64 * 100.0))
}

/// Seconds on a processor, of all threads but one, to the nanosecond.
fn used(server: &Server, but: Option<u64>) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir(format!("/proc/{}/task", server.pid()?))? {
        let thread = thread?;
        if but.is_some_and(|but| thread.file_name().to_str() == Some(&but.to_string())) {
            continue;
        }
        // A thread may end while it is looked at.
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        nanoseconds += text.split(' ').next().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(nanoseconds / 1e9)
}

fn endpoint(server: &Server) -> Endpoint {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    Endpoint { address, tls: Tls::new(TlsMode::Preferred) }
}
