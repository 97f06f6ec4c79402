//! Real MySQL and MariaDB servers for the tests, the demo and the benchmarks.
//!
//! A server comes from the first of: a Docker engine, a `mysqld` on the PATH, Debian's or Ubuntu's packages unpacked into
//! a cache folder ([`source`] says how each is found, and `TOLLGATE_SANDBOX_SOURCE` forces one). Nothing is installed, no
//! root is needed, no port is fixed, and nothing is left behind, even if this process is killed with -9.
//!
//! It is never part of the proxy, and it never speaks the MySQL protocol itself: SQL goes through the `mysql` program.
//!
//! Read [`Server`] first, then [`Cluster`]. Most tests need only [`mysql_shared`] and [`mariadb_shared`].
#![forbid(unsafe_code)]

mod cache;
mod certificates;
mod cluster;
mod flavor;
mod options;
mod process;
mod progress;
mod server;
mod shell;
pub mod source;
mod template;
mod users;
mod watcher;

pub use cache::folder as cache_folder;
pub use cluster::{Cluster, Mysql, mariadb_shared, mysql_shared};
pub use flavor::Flavor;
pub use options::Options;
pub use server::Server;
pub use source::client_program;
pub use users::{APP, ETL, Login, MONITOR, TOLLGATE};
