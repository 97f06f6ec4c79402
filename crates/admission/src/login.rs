//! The facts of a login, kept for when the settings of names or trust change.

use std::net::IpAddr;
use std::sync::Arc;

use identity::{Connection, Identities, Settings};

use crate::port::Client;

#[derive(Debug)]
pub(crate) struct Login {
    user: Box<[u8]>,
    address: Option<IpAddr>,
    listener: Arc<str>,
    certificate: Option<Box<str>>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// The one that was asked for; what a USE makes of it does not matter to a login.
    pub(crate) schema: Option<Box<[u8]>>,
}

impl Login {
    pub(crate) fn new(client: &Client<'_>) -> Login {
        Login {
            user: client.user.into(),
            address: client.address.map(|address| address.ip()),
            listener: client.listener.into(),
            certificate: client.certificate.map(Box::from),
            attributes: client.attributes.to_vec(),
            schema: client.database.map(Box::from),
        }
    }

    pub(crate) fn identities(&self, settings: &Settings) -> Identities {
        let connection = Connection {
            user: &self.user,
            address: self.address,
            certificate: self.certificate.as_deref(),
            listener: &self.listener,
            attributes: &self.attributes,
        };
        identity::of_connection(settings, &connection)
    }
}
