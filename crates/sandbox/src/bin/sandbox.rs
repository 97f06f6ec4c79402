//! `cargo run -p sandbox -- up`: servers to try things on by hand.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use sandbox::{APP, Cluster, ETL, Flavor, MONITOR, Options, Server, TOLLGATE, source};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A real MySQL primary and replica, and MariaDB, that leave nothing behind.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Starts the servers, says how to connect, and stops them at Ctrl-C (or after some seconds).
    Up(Up),
    /// Says which server would be started, and where it is from; fetches it if need be.
    Which {
        /// Of MariaDB.
        #[arg(long)]
        mariadb: bool,
    },
}

#[derive(Args)]
struct Up {
    /// Also a MariaDB server.
    #[arg(long)]
    mariadb: bool,
    /// Only MariaDB.
    #[arg(long, conflicts_with = "mariadb")]
    only_mariadb: bool,
    /// Only the primary, of MySQL.
    #[arg(long, conflicts_with = "only_mariadb")]
    no_replica: bool,
    /// An argument for the servers' programs, such as `--wait-timeout=5`; may be given several times.
    #[arg(long, allow_hyphen_values = true)]
    argument: Vec<String>,
    /// Statements to run as root on the first server before it is said to be there.
    #[arg(long)]
    sql: Option<String>,
    /// Stop after so long.
    #[arg(long)]
    seconds: Option<u64>,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().action {
        Action::Up(wanted) => up(wanted),
        Action::Which { mariadb } => which(if mariadb { Flavor::Mariadb } else { Flavor::Mysql }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandbox: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn which(flavor: Flavor) -> Result<()> {
    writeln!(std::io::stdout(), "{}", source::describe(flavor)?)?;
    Ok(())
}

fn up(Up { mariadb, only_mariadb, no_replica, argument, sql, seconds }: Up) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A handler of our own: whoever started us, as `nohup` or a CI runner may, could have had the signal ignored.
    let interrupt = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
    let with_arguments = |mut options: Options| {
        options.arguments.clone_from(&argument);
        options
    };
    let mut servers: Vec<(&str, Server)> = Vec::new();
    if no_replica {
        servers.push(("primary", Server::start(with_arguments(Options::mysql()))?));
    } else if !only_mariadb {
        let Cluster { primary, replica } =
            Cluster::with_options(with_arguments(Options::mysql()), with_arguments(Options::mysql()))?;
        servers.extend([("primary", primary), ("replica", replica)]);
    }
    if mariadb || only_mariadb {
        servers.push(("mariadb", Server::start(with_arguments(Options::mariadb()))?));
    }
    if let (Some(sql), Some((_, first))) = (sql, servers.first()) {
        first.root_sql(&sql)?;
    }
    print_table(&servers)?;

    // The servers end with `servers`. After any other signal the watchers see that this process has gone, and clean up.
    runtime.block_on(interrupted(interrupt, seconds.map(Duration::from_secs)))
}

/// Until Ctrl-C, or for so long.
async fn interrupted(mut interrupt: Signal, limit: Option<Duration>) -> Result<()> {
    match limit {
        Some(limit) => drop(tokio::time::timeout(limit, interrupt.recv()).await),
        None => drop(interrupt.recv().await),
    }
    Ok(())
}

fn print_table(servers: &[(&str, Server)]) -> Result<()> {
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
