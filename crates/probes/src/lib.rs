//! Asks MySQL and MariaDB how they are, and writes heartbeats.
//!
//! It reports, each report with the time of its question, and says `unknown` and why where there is no answer; it never
//! decides what follows. It connects straight to the servers with a user of its own, one connection a server (and one each
//! for heartbeats and for custom SQL), and never waits for anybody longer than the deadline of a sample.
//!
//! Read [`Probes`] first, then `primary` and `replica`.
#![forbid(unsafe_code)]

// What is wanted, and what is told.
mod custom;
mod event;
mod new_sessions;
mod pace;
mod run;
mod server;
pub mod settings;

// Whom it asks.
mod discovery;
mod host;
mod primary;
mod replica;

// What it asks.
mod ask;
mod catalogue;
mod clock;
mod heartbeat;

// How it asks.
mod complaints;
mod connector;
mod line;
mod rows;
mod trouble;

mod grants;

pub use catalogue::{CatalogueSeen, CatalogueSettings, read_catalogue, watch_catalogue};
pub use connector::{Connector, PROGRAM_NAME};
pub use custom::{Ask, CustomMetric, On};
pub use event::{Change, Event, Role, ServerSeen};
pub use grants::{Grants, grants};
pub use heartbeat::table::statements as heartbeat_statements;
pub use new_sessions::{hidden_session_settings, watch_session_settings};
pub use pace::Pace;
pub use run::{Probes, WorkSoFar};
pub use server::{Flavor, ReplicationState};
pub use settings::{Address, Endpoint, Heartbeat, Host, Login, MissingTable, Replicas, Secret, Settings, Tls, TlsMode};
