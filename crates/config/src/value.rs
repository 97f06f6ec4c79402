//! The kinds of values that a key can have, each checked where it is read, so that an error points at it.

mod address;
mod count;
mod duration;
mod empty;
mod identity;
mod line;
mod list;
mod listen;
mod moment;
mod network;
mod path;
mod ratio;
mod secret;
mod size;
mod table;
mod text;
mod word;
mod yes;

pub(crate) use address::{DialAt, HostName, HttpAt, ListenAt, SourceAddress};
pub(crate) use count::{Count, WorkerCount};
pub(crate) use duration::{Span, shown, shown_duration};
pub(crate) use empty::NoEntries;
pub(crate) use identity::{NamedPart, TrustOf};
pub(crate) use line::{Id, Line};
pub(crate) use list::List;
pub(crate) use listen::{RawListen, RawListener};
pub(crate) use moment::Moment;
pub(crate) use network::Network;
pub(crate) use path::FilePath;
pub(crate) use ratio::Ratio;
pub(crate) use secret::SecretRef;
pub(crate) use size::Size;
pub(crate) use table::TableRef;
pub(crate) use text::{UserName, read_measure, read_text};
pub(crate) use word::Word;
pub(crate) use yes::Yes;
