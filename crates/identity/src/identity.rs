//! Everything that is known about who asks a query, or everything of it that is trusted.

use std::net::IpAddr;
use std::sync::Arc;

use crate::name::Name;
use crate::pairs::Pairs;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    pub name: Name,
    pub user: Box<[u8]>,
    /// Canonical: an IPv4 address is never written as an IPv6 one. `None` on a Unix socket.
    pub address: Option<IpAddr>,
    /// The subject of a certificate that was verified.
    pub certificate: Option<Box<str>>,
    /// The name of the listener that it came by.
    pub listener: Arc<str>,
    /// Of the connection.
    pub attrs: Pairs,
    /// Of the comments.
    pub tags: Pairs,
    pub query_attrs: Pairs,
    /// A program told by the words that it puts into its comments or attributes, such as `gh-ost`.
    pub tool: Option<Box<[u8]>>,
}

impl Identity {
    /// Whether anything of it is only what the client says of itself.
    pub fn has_claims(&self) -> bool {
        !(self.attrs.is_empty() && self.tags.is_empty() && self.query_attrs.is_empty()) || self.tool.is_some()
    }
}
