//! The built binary, before a real MySQL and a real MariaDB. One test program, so that its tests share the servers.
//!
//! A test starts a [`harness::Tollgate`] of its own with the settings it needs, which takes a few milliseconds, and
//! speaks to it with real clients or, where bytes matter, with [`harness::Raw`].
#![forbid(unsafe_code)]

mod harness;

mod bad_input;
mod sessions;
