//! The program: command line, wiring, signals.
//!
//! Only `proxy` knows all crates. It is a library so that tests can run the same proxy with an admission of their own.
#![forbid(unsafe_code)]

pub mod cli;

mod check;

mod health;

mod run;

pub mod proxy;

mod certificates;
mod kill_query;
mod log;
mod system_limits;
