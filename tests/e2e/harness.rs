//! A dozen lines a test: start a proxy, connect, look.

mod counting;
mod in_process;
mod raw;
mod scripted;
mod tollgate;

pub(crate) use counting::Counting;
pub(crate) use in_process::InProcess;
pub(crate) use raw::{Raw, RawOptions, read_err};
pub(crate) use scripted::{Scripted, ScriptedLeg};
pub(crate) use tollgate::{Tollgate, upstream, wait_until};
