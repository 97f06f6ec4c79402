//! The built binary, before a real MySQL and a real MariaDB. One test program, so that its tests share the servers.
//!
//! A test starts a [`harness::Tollgate`] of its own with the settings it needs, which takes a few milliseconds, and
//! speaks to it with real clients or, where bytes matter, with [`harness::Raw`].
#![forbid(unsafe_code)]

mod harness;

mod aborted_connects;
mod admin_http;
mod bad_input;
mod catalogue;
mod change_user;
mod command_line;
mod differential;
mod execute_refused;
mod finished_logins;
mod greeting;
mod health;
mod logins;
mod our_uid;
mod proxy_protocol;
mod redirects;
mod sessions;
mod too_many_columns;

mod drain;
mod failover;
mod file_replacements;
mod holding;
mod kill;
mod leaving;
mod limits;
mod losses;
mod readiness;
mod replication;
mod upstream_loss;

mod doubt;
mod gates_commands;
mod rules;
mod rules_commands;

mod gates;

mod drivers;
mod tls;

mod record_replies;
