//! What the probes cost the servers: their processor time over a while without probes, and over as long with them, in
//! turns, because an idle server's own share is as large and changes with the machine's load.
//!
//!     cargo run -p probes --example cost [seconds] [interval in ms] [rounds]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use health::Work;
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
    for _ in 0..rounds {
        measure("without", &cluster, seconds).await?;
        for (name, heartbeat) in [("with, no heartbeat", None), ("with a heartbeat", Some(heartbeat.clone()))] {
            let running = tokio::spawn(run(settings(&cluster, heartbeat), Pace { interval }));
            tokio::time::sleep(Duration::from_secs(2)).await;
            measure(name, &cluster, seconds).await?;
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

async fn measure(name: &str, cluster: &Cluster, seconds: u64) -> Result<()> {
    let before = [used(&cluster.primary)?, used(&cluster.replica)?];
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let after = [used(&cluster.primary)?, used(&cluster.replica)?];
    let share = |which: usize| (after[which] - before[which]) / seconds as f64 * 100.0;
    println!("{name:<22} {:>8.2} {:>8.2}", share(0), share(1));
    Ok(())
}

/// Seconds on a processor, of all threads, to the nanosecond.
fn used(server: &Server) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir(format!("/proc/{}/task", server.pid()?))? {
        // A thread may end while it is looked at.
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += text.split(' ').next().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(nanoseconds / 1e9)
}

fn endpoint(server: &Server) -> Endpoint {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    Endpoint { address, tls: Tls::new(TlsMode::Preferred) }
}
