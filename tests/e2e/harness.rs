//! A dozen lines a test: start a proxy, connect, look.

mod counting;
mod forwarder;
mod hostile;
mod hung_mount;
mod in_process;
mod programs;
mod raw;
mod scripted;
mod skipped;
mod tls_bridge;
mod tollgate;
mod wall_clock;

pub(crate) use counting::Counting;
pub(crate) use forwarder::Forwarder;
pub(crate) use hostile::{Hostile, HostileLeg};
pub(crate) use hung_mount::HungMount;
pub(crate) use in_process::{Decides, InProcess};
pub(crate) use programs::{mysql, mysql_at_socket, process_list};
pub(crate) use raw::{Raw, RawOptions, encrypt, proof, read_err};
pub(crate) use scripted::{OK, SCRAMBLE, Scripted, bridge, denied};
pub(crate) use skipped::skipped;
pub(crate) use tls_bridge::tls_bridge;
pub(crate) use tollgate::{PATIENCE, Tollgate, upstream, wait_until};
pub(crate) use wall_clock::WallClock;
