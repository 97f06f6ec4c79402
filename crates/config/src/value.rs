//! The kinds of values that a key can have, each checked where it is read, so that an error points at it.

mod address;
mod count;
mod duration;
mod empty;
mod listen;
mod network;
mod path;
mod secret;
mod size;
mod text;

pub(crate) use address::{DialAt, HostName, HttpAt, ListenAt, SourceAddress};
pub(crate) use count::{Count, WorkerCount};
pub(crate) use duration::{Span, shown};
pub(crate) use empty::{NoEntries, NoItems};
pub(crate) use listen::{RawListen, RawListener};
pub(crate) use network::Network;
pub(crate) use path::FilePath;
pub(crate) use secret::SecretRef;
pub(crate) use size::Size;
pub(crate) use text::{UserName, read_measure, read_text};
