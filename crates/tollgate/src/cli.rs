//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::health::Question;

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
    },
    /// Ask a running proxy whether it is ready; the exit code says so too. For health checks of containers.
    Health {
        /// Its `admin.http`.
        #[arg(default_value = "127.0.0.1:6034")]
        address: SocketAddr,
        /// Only whether it lives: it may be draining, or its upstream down.
        #[arg(long)]
        live: bool,
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
        Command::Check { config } => crate::check::check(&config),
        Command::Health { address, live } => {
            crate::health::health(address, if live { Question::Live } else { Question::Ready })
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tollgate: {error:#}");
            ExitCode::FAILURE
        }
    }
}
