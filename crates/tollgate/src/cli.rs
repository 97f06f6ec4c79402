//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::explain::Explain;
use crate::grants_command::Password;
use crate::health::Question;
use crate::incident_command::{self, IncidentCommand};
use crate::print::Output;
use crate::rules_command::{self, RulesCommand};
use crate::running::Where;
use crate::{clients_command, gates_command, grants_command, reload_command};

/// A MySQL proxy that no client can go around.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the proxy.
    Run {
        /// The configuration file.
        #[arg(long, default_value = "proxy.yaml")]
        config: PathBuf,
    },
    /// Read a configuration file and say what is wrong with it.
    Check {
        #[arg(default_value = "proxy.yaml")]
        config: PathBuf,
        /// Connect to the upstream as the probe's user too, and say which views, routines and triggers it cannot see.
        #[arg(long)]
        connect: bool,
    },
    /// Ask a running proxy whether it is ready; the exit code says so too. For health checks of containers.
    Health {
        /// Its `admin.http`, as --http has it.
        address: Option<SocketAddr>,
        #[command(flatten)]
        proxy: Where,
        /// Only whether it lives: it may be draining, or its upstream down.
        #[arg(long)]
        live: bool,
    },
    /// What would become of a statement, and why: who asks, which rules match, the verdict, the error.
    ///
    /// For example: `tollgate explain --user etl --address 10.0.0.7 'DELETE FROM orders'`
    Explain(Box<Explain>),
    /// The rules of a running proxy: see them, add, extend and end them.
    Rules {
        #[command(subcommand)]
        command: RulesCommand,
    },
    /// Incidents of a running proxy, and the playbooks that they put in force.
    Incident {
        #[command(subcommand)]
        command: IncidentCommand,
    },
    /// Who asks a running proxy, and what they got.
    Clients {
        #[command(flatten)]
        proxy: Where,
        #[command(flatten)]
        output: Output,
    },
    /// How the database is doing, and what each gate of a running proxy makes of it.
    Gates {
        #[command(flatten)]
        proxy: Where,
        #[command(flatten)]
        output: Output,
    },
    /// Print the statements that make the proxy's own MySQL user, with the privileges that a file needs.
    ///
    /// Pipe them into `mysql`, on the primary, with --with-password. Without it, write the password in first: until then the
    /// statements are an error.
    Grants {
        #[arg(long, default_value = "proxy.yaml")]
        config: PathBuf,
        /// For MariaDB, whose privileges have other names.
        #[arg(long)]
        mariadb: bool,
        /// From where the proxy connects, as MySQL writes it.
        #[arg(long, default_value = "%")]
        host: String,
        /// Print the password that the file has under `probe.password`.
        #[arg(long)]
        with_password: bool,
    },
    /// Have a running proxy read its file again.
    Reload {
        #[command(flatten)]
        proxy: Where,
        #[command(flatten)]
        output: Output,
    },
}

pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// The same with a command line of the caller's, the program's name first: for programs that are the proxy besides
/// something else, as the demo is.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = match Arguments::parse_from(arguments).command {
        Command::Run { config } => crate::run::run(&config),
        Command::Check { config, connect } => {
            let ask = if connect { crate::check::Ask::ServerToo } else { crate::check::Ask::FileOnly };
            crate::check::check(&config, ask)
        }
        Command::Health { address, proxy, live } => {
            let address = address.map_or_else(|| proxy.address(), Ok);
            let question = if live { Question::Live } else { Question::Ready };
            address.and_then(|address| crate::health::health(address, question))
        }
        Command::Explain(explain) => explain.run(),
        Command::Rules { command } => rules_command::run(&command),
        Command::Incident { command } => incident_command::run(&command),
        Command::Clients { proxy, output } => clients_command::run(&proxy, output),
        Command::Gates { proxy, output } => gates_command::run(&proxy, output),
        Command::Grants { config, mariadb, host, with_password } => {
            let flavor = if mariadb { probes::Flavor::Mariadb } else { probes::Flavor::Mysql };
            let password = if with_password { Password::Printed } else { Password::LeftOut };
            grants_command::run(&config, flavor, &host, password)
        }
        Command::Reload { proxy, output } => reload_command::run(&proxy, output),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tollgate: {error:#}");
            ExitCode::FAILURE
        }
    }
}
