//! What is known of a session's client once it has logged in: the ground that identity will stand on.

use std::net::SocketAddr;

use admission::port::Client;
use statement::Charset;
use wire::Capabilities;

use crate::tls::ClientCertificate;

#[derive(Clone, Debug)]
pub struct SessionFacts {
    /// The id that the client was greeted with.
    pub connection_id: u32,
    pub listener: String,
    /// The address the client comes from: the peer's, or what a trusted peer's PROXY header said. `None` on a Unix
    /// socket.
    pub address: Option<SocketAddr>,
    pub user: Vec<u8>,
    pub database: Option<Vec<u8>>,
    /// The client's connection attributes as it sent them, `_tollgate_*` and what exceeds the limit taken out.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Of a certificate that was verified against `client_ca`.
    pub certificate: Option<ClientCertificate>,
    pub tls: bool,
    /// As negotiated with the client.
    pub capabilities: Capabilities,
    /// Of the login.
    pub charset: Charset,
}

impl SessionFacts {
    /// As the admission sees it.
    pub fn client(&self) -> Client<'_> {
        Client {
            connection: self.connection_id,
            user: &self.user,
            address: self.address,
            listener: &self.listener,
            certificate: self.certificate.as_ref().map(|certificate| certificate.subject.as_str()),
            attributes: &self.attributes,
            database: self.database.as_deref(),
        }
    }
}

/// The most attributes that are kept of one client.
const KEPT: usize = 64;

/// A client's own attributes; what is malformed is not kept.
pub(crate) fn attributes(block: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    wire::attributes::iterate(block)
        .map_while(Result::ok)
        .filter(|(key, _)| !key.to_ascii_lowercase().starts_with(b"_tollgate_"))
        .take(KEPT)
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}
