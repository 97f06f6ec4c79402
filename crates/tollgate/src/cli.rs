//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tollgate: {error:#}");
            ExitCode::FAILURE
        }
    }
}
