//! `cargo run -p sandbox -- up`: servers to try things on by hand.

use std::io::Write;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use sandbox::{APP, Cluster, ETL, MONITOR, Options, Server, TOLLGATE};

/// A real MySQL primary and replica, and MariaDB, that leave nothing behind.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Starts the servers, says how to connect, and stops them at Ctrl-C (or after some seconds).
    Up {
        /// Also a MariaDB server.
        #[arg(long)]
        mariadb: bool,
        /// Only MariaDB.
        #[arg(long, conflicts_with = "mariadb")]
        only_mariadb: bool,
        /// Stop after so long.
        #[arg(long)]
        seconds: Option<u64>,
    },
}

fn main() -> Result<()> {
    let Action::Up { mariadb, only_mariadb, seconds } = Arguments::parse().action;
    let cluster = if only_mariadb { None } else { Some(Cluster::start()?) };
    let mariadb = if mariadb || only_mariadb { Some(Server::start(Options::mariadb())?) } else { None };

    let mut servers: Vec<(&str, &Server)> = Vec::new();
    if let Some(cluster) = &cluster {
        servers.extend([("primary", &cluster.primary), ("replica", &cluster.replica)]);
    }
    servers.extend(mariadb.as_ref().map(|server| ("mariadb", server)));
    print_table(&servers)?;

    // At Ctrl-C this process just ends: the watchers see that and clean up.
    match seconds {
        Some(seconds) => thread::sleep(Duration::from_secs(seconds)),
        None => loop {
            thread::park();
        },
    }
    Ok(())
}

fn print_table(servers: &[(&str, &Server)]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<8}  {:<15}  {:>7}  {:<34}  version", "server", "address", "pid", "socket")?;
    for (name, server) in servers {
        let (address, socket) = (server.address().to_string(), server.socket().display().to_string());
        let (flavor, version, origin) = (server.flavor(), server.version(), server.origin());
        writeln!(out, "{name:<8}  {address:<15}  {:>7}  {socket:<34}  {flavor} {version} ({origin})", server.pid()?)?;
    }
    let logins = [APP, ETL, MONITOR, TOLLGATE].map(|login| format!("{}/{}", login.user, login.password));
    writeln!(out, "\nusers: {}; root without a password by the socket; database: test", logins.join(", "))?;
    if let Some((_, server)) = servers.first() {
        writeln!(out, "mysql -h 127.0.0.1 -P {} -u {} -p{} test", server.port(), APP.user, APP.password)?;
    }
    writeln!(out, "Ctrl-C stops them and removes their folders.")?;
    out.flush()?;
    Ok(())
}
