//! Measures Tollgate against no proxy at all, a bare relay and HAProxy, in one run, in short interleaved rounds.
//!
//! It never asserts on a time: it prints medians, their intervals and whether the aims were met. Read
//! [`rounds::Rounds`] first (what is run in which order), then [`workload::Workload`] (what one run is) and
//! [`aims`] (what is hoped for).
//!
//! [`storm`] is a rig of its own: writers against a slow replica, and how far it falls behind.
#![forbid(unsafe_code)]

pub mod aims;
pub mod contestant;
pub mod figure;
pub mod options;
pub mod report;
pub mod rig;
pub mod rounds;
pub mod server;
pub mod stats;
pub mod syscalls;
pub mod workload;

pub mod child;
pub mod client;
pub mod interrupt;
pub mod machine;
pub mod process;
pub mod progress;
pub mod sysbench;

pub mod storm;
