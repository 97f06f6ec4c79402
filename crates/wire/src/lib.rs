//! The MySQL and MariaDB client/server protocol as values: what a packet's payload says, and how it is written.
//!
//! It never does I/O, never reads a clock, never decides: no sockets, no policy. A decoder borrows from the payload it is
//! given, checks every length, and answers [`Malformed`] instead of guessing. What we need not change is never decoded
//! and encoded again: offsets (`Query::sql_offset`, `Execute::types`) point into the packet as it came.
//!
//! Read [`Fields`] first (the cursor that every decoder stands on), then [`Greeting`] and [`LoginPacket`] (how a session
//! begins), then [`Query`] and [`OkPacket`].
#![forbid(unsafe_code)]

// What every decoder answers for a payload that is wrong, and the cursor it reads with.
mod error;
mod fields;

pub mod packet;

// The bits that both ends agree on.
mod capability;
mod status;

// Login, in the order of its messages: the server greets,
mod greeting;

// the client asks for TLS or logs in,
mod login_request;

// and says who it is;
pub mod attributes;

// the two exchange proofs,
mod auth;

// and may do so again later.
mod change_user;

// Commands: which they are,
mod command;

// SQL as text, with its query attributes,
mod parameters;
mod query;

// and prepared.
mod prepare;

mod bulk_execute;
mod execute;

// Replies.
mod err;
mod ok;

// and which packets of one are still to come.
mod reply;

#[cfg(test)]
mod recorded;

pub use auth::{AuthPacket, encode_more_data, encode_switch, scramble};
pub use bulk_execute::BulkExecute;
pub use capability::Capabilities;
pub use change_user::ChangeUser;
pub use command::{Command, ReplyShape};
pub use err::ErrPacket;
pub use error::Malformed;
pub use execute::{Execute, TypeLayout, types_inserted};
pub use fields::{Fields, put_lenenc_bytes, put_lenenc_int, put_nul_bytes};
pub use greeting::Greeting;
pub use login_request::{LoginPacket, LoginRequest, SslRequest};
pub use ok::{OkPacket, without_redirect};
pub use parameters::{Parameter, ParameterType, Parameters};
pub use prepare::PrepareOk;
pub use query::Query;
pub use reply::{OutOfSync, ReplyTracker, Step, Stop};
pub use status::StatusFlags;
