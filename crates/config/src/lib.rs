//! `proxy.yaml` → a validated [`Plan`].
//!
//! The only crate that knows YAML. A file goes through four steps, one file each: the text becomes a `tree`, the tree
//! is read into the `raw` structs (what the user wrote, key by key), those are `resolve`d into the `plan` (what the
//! rest of the program uses: plain types, every default filled in), and whatever was wrong on the way is a `problem`
//! with its place in the file and a remedy. All that is wrong with a file is said at once.
//!
//! While the proxy runs, `reload` turns a changed file into a new plan, and `overlay` keeps the rules that are added
//! meanwhile, which come as JSON through `rule`, the same reader.
//!
//! It never accepts a key that does nothing, never looks a name up, never opens a socket, and never shows a secret.
//! Read [`Plan`] first.
#![forbid(unsafe_code)]

mod check;
mod closest;
mod disk;
mod gate;
mod keys;
mod later;
mod load;
mod locate;
pub mod overlay;
mod plan;
mod policy;
mod problem;
mod raw;
pub mod reload;
mod resolve;
pub mod rule;
mod secret;
mod tree;
mod value;
mod warnings;

pub use check::{CheckReport, check};
pub use gate::{Gate, Metric, MetricQuestion, On};
pub use keys::keys;
pub use plan::{
    Admin, CertificateFiles, ClientTls, ClientTlsFiles, Drain, Heartbeat, Limits, ListenAddress, Listener, Log,
    LogFormat, LogLevel, OnDemotion, Plan, Probe, ProxyProtocol, Replicas, TableName, Upstream, UpstreamAddress,
    UpstreamTls, Workers,
};
pub use policy::{Defaults, ErrorPreset, HeartbeatWriters, Playbook, Policy, Queue, Template};
pub use problem::{ConfigError, Problem};
pub use secret::Secret;
pub use value::duration;

#[cfg(test)]
mod tests;
