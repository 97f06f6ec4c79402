//! May it go now: units, dice, limits, the queue, and the error that a refused client gets.
//!
//! The relay asks through [`port`]; it forwards nothing without a [`port::Permit`]. Who asks is `identity`'s business, what
//! is asked `statement`'s, which rule owns it `rules`'. What is decided here is pure: [`mod@unit`], [`attempt`] and [`limits`]
//! take the time and the dice as arguments. Only `hold` and `gatekeeper` know a clock.
//!
//! It never sees a socket, never reads a file and never keeps SQL. Read [`mod@unit`] first.
#![forbid(unsafe_code)]

// What the relay sees.
pub mod port;

// One session's verdicts, in their order.
mod session_gate;

mod decision;
mod login;
mod recent_changes;
mod shared_catalog;
mod spoken;
mod who;

pub mod unit;

mod note;
mod question;

pub mod gates;

pub mod attempt;

pub mod limits;

mod hold;
mod room;

pub mod refusal;
mod refusing;
mod warned;

// What the sessions share.
mod connections;
mod gatekeeper;

pub mod explain;

pub mod policy;
pub mod stats;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod stage;

pub use gatekeeper::{Gatekeeper, Wall};
pub use note::Note;
