//! The program: command line, wiring, signals.
//!
//! Only `proxy` knows all crates. It is a library so that tests can run the same proxy with an admission of their own.
#![forbid(unsafe_code)]

#[cfg(not(panic = "unwind"))]
compile_error!("a panic must end one session only: build with panic = \"unwind\"");

pub mod cli;

mod check;

mod health;

mod explain;

mod grants_command;

// Commands to a running proxy.
mod clients_command;
mod gates_command;
mod incident_command;
mod reload_command;
mod rules_command;

mod http;
mod pair;
mod predecessor;
mod print;
mod running;

mod run;

pub mod proxy;

mod steering;

mod certificates;
mod digests;
mod kill_query;
mod log;
mod measuring;
mod probe_settings;
mod system_limits;
mod upstream_watch;
