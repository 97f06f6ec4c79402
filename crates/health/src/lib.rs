//! How the database is doing, as known: readings with their time, what they add up to, and what each gate lets through.
//!
//! It never asks a server, never looks at a clock (`now` is given) and knows no client. `probes` brings the readings,
//! `admission` does what the flows say. Read [`gate`] first.
#![forbid(unsafe_code)]

// What is measured.
pub mod metric;
pub mod reading;

// Heartbeats, and the work between them.
pub mod beats;
pub mod work;

// What the readings of all servers add up to.
pub mod appliers;
pub mod board;

// What follows from it.
pub mod control;
pub mod gate;
pub mod ramp;
pub mod settings;
pub mod valve;

// For those who look.
pub mod history;

pub use beats::Beats;
pub use board::{Aggregate, Board, Replica};
pub use gate::{Flow, Gate, Observation, State};
pub use metric::{BuiltIn, MetricName, ServerName, Unit};
pub use ramp::Ramp;
pub use reading::{Reading, Report, Unknown};
pub use settings::{Control, OnStale, Over, Scope, Settings};
pub use valve::Valve;
pub use work::{Work, WorkLog};
