//! `cargo demo`: a real MySQL primary and replica, the proxy before them, and clients that use it.
//!
//! Everything it needs it gets or starts itself, and nothing is left of it. The proxy is the real one: this program starts
//! itself a second time as `tollgate run`. It ends with an error if anything that it shows was not as it should be.
//!
//! It shows two things: rules, by which one of two that ask alike is favoured; and a gate, by which a job that writes more than
//! the replica can apply is let run on (`mode: warn`), and then held at the replica's pace (`mode: enforce`).
//!
//! Read [`show`] first: it tells the story, the other files are its parts.
#![forbid(unsafe_code)]

mod show;

mod servers;

mod slow_replica;

mod proxy_process;

mod welcome;

mod stage;

mod parts;

mod lag;

mod chart;

mod clients;

mod figures;

mod observer;

mod table;

mod verdict;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// A real MySQL primary and replica, Tollgate before them, and four clients.
#[derive(Debug, Parser)]
#[command(name = "cargo demo")]
struct Arguments {
    /// Stop after so many seconds of the clients' work; without it, at Ctrl-C.
    #[arg(long)]
    seconds: Option<u64>,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|first| first == proxy_process::ARGUMENT) {
        return proxy_process::main(words.next());
    }
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let code = match runtime.block_on(show::run(arguments.seconds.map(Duration::from_secs))) {
        Ok(code) => code,
        Err(error) => failed(&error),
    };
    // Not waiting for a download that Ctrl-C interrupted.
    runtime.shutdown_background();
    code
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("demo: {error:#}");
    ExitCode::FAILURE
}
