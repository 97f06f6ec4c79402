//! A dozen lines a test: start a proxy, connect, look.

mod in_process;
mod raw;
mod tollgate;

pub(crate) use in_process::InProcess;
pub(crate) use raw::{Raw, RawOptions, read_err};
pub(crate) use tollgate::{PATIENCE, Tollgate, upstream, wait_until};
