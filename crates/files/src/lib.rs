//! Access to files that may be anything, on file systems that may hang.
//!
//! Two guards. [`read`] accepts only regular files of a bounded size, so that no pipe, device or socket in a file's place
//! makes its reader wait. [`Helper`] runs file system calls on another thread and stops waiting for them at a deadline,
//! because a hung mount blocks even `stat`, and no flag of `open` prevents that.
//!
//! The crate never interprets what it reads. Read [`Helper`] first.
#![forbid(unsafe_code)]

mod helper;
mod regular;

pub use helper::{Helper, HelperError};
pub use regular::{Content, create, open, open_or_create, read};
