//! What the probes cost the servers: their processor time over a while without probes, and over as long with them.
//!
//!     cargo run -p probes --example cost [seconds] [interval in ms]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use health::Work;
use probes::{
    Address, Endpoint, Flavor, Grants, Heartbeat, Host, Login, MissingTable, Pace, Probes, Replicas, Secret, Settings,
    Tls, TlsMode,
};
use sandbox::{Cluster, Server};
use tokio::sync::{mpsc, watch};

/// The kernel counts in hundredths of a second.
const TICK: f64 = 0.01;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let seconds = numbers.next().transpose()?.unwrap_or(30);
    let interval = Duration::from_millis(numbers.next().transpose()?.unwrap_or(250));
    let cluster = Cluster::start()?;
    let heartbeat = Heartbeat {
        schema: "tollgate".into(),
        table: "heartbeat".into(),
        proxy: "cost".into(),
        missing: MissingTable::Create,
    };
    let wanted = Grants { user: "cost", host: "%", heartbeat: Some(&heartbeat), discover: false };
    cluster.primary.root_sql(&probes::grants(Flavor::Mysql, &wanted).replace("<password>", "cost-pw"))?;

    tokio::time::sleep(Duration::from_secs(10)).await;
    println!("{:<22} {:>8} {:>8}", "% of a core", "primary", "replica");
    measure("without", &cluster, seconds).await?;
    for (name, heartbeat) in [("with, no heartbeat", None), ("with a heartbeat", Some(heartbeat))] {
        let (events, mut told) = mpsc::channel(1000);
        let (_pace, pace) = watch::channel(Pace { interval });
        let (_custom, custom) = watch::channel(Arc::new(Vec::new()));
        let settings = Settings {
            primary: endpoint(&cluster.primary),
            replicas: Replicas::Listed(vec![endpoint(&cluster.replica)]),
            login: Login { user: "cost".into(), password: Secret::new("cost-pw") },
            heartbeat,
            timeout: Settings::TIMEOUT,
            host: Host::Here,
        };
        let running = tokio::spawn(async move {
            let reading = tokio::spawn(async move { while told.recv().await.is_some() {} });
            let _ = Probes::run(settings, pace, custom, Arc::new(|| Work::NONE), events).await;
            reading.abort();
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        measure(name, &cluster, seconds).await?;
        running.abort();
    }
    Ok(())
}

async fn measure(name: &str, cluster: &Cluster, seconds: u64) -> Result<()> {
    let servers = [&cluster.primary, &cluster.replica];
    let before = [used(servers[0])?, used(servers[1])?];
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let share = |now: f64, before: f64| (now - before) / seconds as f64 * 100.0;
    let (primary, replica) = (share(used(servers[0])?, before[0]), share(used(servers[1])?, before[1]));
    println!("{name:<22} {primary:>8.2} {replica:>8.2}");
    Ok(())
}

/// Seconds of user and system time, of all threads, also of those that have ended.
fn used(server: &Server) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid()?))?;
    let (_, fields) = stat.rsplit_once(") ").context("no process")?;
    let ticks: Vec<f64> = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() * TICK)
}

fn endpoint(server: &Server) -> Endpoint {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    Endpoint { address, tls: Tls::new(TlsMode::Preferred) }
}
