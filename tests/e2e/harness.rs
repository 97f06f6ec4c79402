//! A dozen lines a test: start a proxy, connect, look.

mod in_process;
mod raw;
mod tollgate;

pub(crate) use in_process::InProcess;
pub(crate) use raw::{Raw, RawOptions};
pub(crate) use tollgate::{Tollgate, upstream, wait_until};
