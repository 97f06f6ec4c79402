//! One client session: sockets, the order of steps, bytes. The only crate that moves query traffic.
//!
//! It never decodes rows, never gathers a result, never stores a password, and forwards no command without a
//! [`Permit`](admission::port::Permit). What a packet says is `wire`'s business; what a statement says is `statement`'s; whether it
//! may go is decided behind [`Admission`](admission::port::Admission).
//!
//! Read [`session`] first: its `serve_command` is the life of a query. How a session comes to be is in `login`.
#![forbid(unsafe_code)]

// The life of a connection, in its order.
pub mod listener;
pub mod workers;

mod login;

pub mod session;

// Who stands at the gate.
pub mod facts;

// The two ends.
mod buffer;
mod leg;
mod transport;

pub mod upstream;

// What a login needs.
pub mod password_exchange;
pub mod proxy_protocol;
pub mod tls;

// What the sessions share.
pub mod counters;
pub mod error;
pub mod limits;
pub mod registry;
pub mod shared;

#[cfg(fuzzing)]
pub mod fuzzing;
