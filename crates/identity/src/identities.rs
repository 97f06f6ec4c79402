//! A client's identity twice: as claimed, and on trusted facts alone.

use std::net::IpAddr;
use std::sync::Arc;

use crate::identity::Identity;
use crate::said::Said;
use crate::settings::Settings;

/// The facts of a connection after its login.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    pub user: &'a [u8],
    /// `None` on a Unix socket.
    pub address: Option<IpAddr>,
    /// The subject of a certificate that was verified.
    pub certificate: Option<&'a str>,
    pub listener: &'a Arc<str>,
    pub attributes: &'a [(Vec<u8>, Vec<u8>)],
}

#[derive(Debug, Clone)]
pub struct Identities {
    pub claimed: Arc<Identity>,
    /// On trusted facts alone. `None` if that is the same, or if the claims are trusted: one judgement is enough.
    pub trusted: Option<Arc<Identity>>,
    /// Keys that were dropped since they were given different values.
    pub conflicts: u32,
}

pub fn of_connection(settings: &Settings, connection: &Connection<'_>) -> Identities {
    let _ = settings;
    let claimed = Identity {
        user: connection.user.into(),
        address: connection.address.map(|address| address.to_canonical()),
        certificate: connection.certificate.map(Box::from),
        listener: Arc::clone(connection.listener),
        ..Identity::default()
    };
    Identities { claimed: Arc::new(claimed), trusted: None, conflicts: 0 }
}

/// `connection` is the session's.
pub fn of_query(settings: &Settings, connection: &Identities, said: &Said<'_>) -> Identities {
    let _ = (settings, said);
    connection.clone()
}
