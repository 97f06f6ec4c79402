//! What the probes cost the servers: their processor time over a while without probes, and over as long with them, in
//! turns, because an idle server's own share is as large and changes with the machine's load.
//!
//!     cargo run -p probes --example cost [seconds] [interval in ms] [rounds] [writes a second]
//!
//! With writes there is traffic meanwhile, as there is wherever servers are asked this often: on a server that otherwise sleeps
//! a small transaction also wakes everything that is behind a commit. What the writer's own connection takes is left out.

use std::fs;
use std::sync::Arc;
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let seconds = numbers.next().transpose()?.unwrap_or(30);
    let interval = Duration::from_millis(numbers.next().transpose()?.unwrap_or(250));
    let rounds = numbers.next().transpose()?.unwrap_or(3);
    let writes = numbers.next().transpose()?.unwrap_or(0);
    let cluster = Cluster::start()?;
    let heartbeat = Heartbeat {
        schema: "tollgate".into(),
        table: "heartbeat".into(),
        proxy: "cost".into(),
        missing: MissingTable::Create,
    };
    let wanted = Grants { user: "cost", host: "%", heartbeat: Some(&heartbeat), discover: false };
    cluster.primary.root_sql(&probes::grants(Flavor::Mysql, &wanted).replace("<password>", "cost-pw"))?;

    let writer = if writes > 0 { Some(write(&cluster.primary, writes).await?) } else { None };
    tokio::time::sleep(Duration::from_secs(10)).await;
    println!("{:<22} {:>8} {:>8}", "% of a core", "primary", "replica");
    for _ in 0..rounds {
        measure("without", &cluster, writer, seconds).await?;
        for (name, heartbeat) in [("with, no heartbeat", None), ("with a heartbeat", Some(heartbeat.clone()))] {
            let running = tokio::spawn(run(settings(&cluster, heartbeat), Pace { interval }));
            tokio::time::sleep(Duration::from_secs(2)).await;
            measure(name, &cluster, writer, seconds).await?;
            running.abort();
        }
    }
    Ok(())
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

async fn run(settings: Settings, pace: Pace) {
    let (events, mut told) = mpsc::channel(1000);
    let (_pace, pace) = watch::channel(pace);
    let (_custom, custom) = watch::channel(Arc::new(Vec::new()));
    tokio::spawn(async move { while told.recv().await.is_some() {} });
    match Probes::run(settings, pace, custom, Arc::new(|| Work::NONE), events).await {}
}

/// Writes so many rows a second from now on. The thread of the server that does it.
async fn write(server: &Server, rows: u64) -> Result<u64> {
    let login = sandbox::APP;
    let options = OptsBuilder::default()
        .ip_or_hostname("127.0.0.1")
        .tcp_port(server.port())
        .prefer_socket(false)
        .user(Some(login.user))
        .pass(Some(login.password));
    let mut connection = Conn::new(options).await?;
    connection.query_drop("CREATE DATABASE cost").await?;
    connection.query_drop("CREATE TABLE cost.t (id INT PRIMARY KEY, n INT); INSERT INTO cost.t VALUES (1, 0)").await?;
    let own = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
    let thread = connection.query_first(own).await?.context("the server does not tell its threads")?;
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / u32::try_from(rows).unwrap_or(u32::MAX));
        loop {
            ticks.tick().await;
            if connection.exec_drop("UPDATE cost.t SET n = n + 1 WHERE id = 1", ()).await.is_err() {
                return;
            }
        }
    });
    Ok(thread)
}

async fn measure(name: &str, cluster: &Cluster, writer: Option<u64>, seconds: u64) -> Result<()> {
    let before = [used(&cluster.primary, writer)?, used(&cluster.replica, None)?];
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let after = [used(&cluster.primary, writer)?, used(&cluster.replica, None)?];
    let share = |which: usize| (after[which] - before[which]) / seconds as f64 * 100.0;
    println!("{name:<22} {:>8.2} {:>8.2}", share(0), share(1));
    Ok(())
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
