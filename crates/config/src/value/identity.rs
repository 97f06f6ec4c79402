//! What `identity` lists: facts that make a name, and those whose claims are believed.

use identity::{NamePart, Trust};
use serde::de::{Deserialize, Deserializer};

use super::{Network, read_text};
use crate::closest::closest;
use crate::tree::Complaint;

/// `client`, `user`, `tag.app` …
#[derive(Debug, Clone)]
pub(crate) struct NamedPart(pub(crate) NamePart);

const PARTS: [&str; 5] = ["client", "user", "certificate", "address", "tool"];

impl NamedPart {
    fn parse(text: &str) -> Result<Self, Complaint> {
        NamePart::named(text).map(NamedPart).ok_or_else(|| {
            let remedy = match closest(text, &PARTS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "write `client`, `user`, `certificate`, `address`, `tool`, `tag.…`, `attr.…` or `query_attr.…`"
                    .to_owned(),
            };
            Complaint::new(format!("`{text}` is no fact that a name is made of"), remedy)
        })
    }
}

impl<'de> Deserialize<'de> for NamedPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a fact, such as `user` or `tag.app`", Self::parse)
    }
}

/// A user's name, or a network.
#[derive(Debug, Clone)]
pub(crate) struct TrustOf(pub(crate) Trust);

impl TrustOf {
    fn parse(text: &str) -> Result<Self, Complaint> {
        if let Some(network) = Network::of(text) {
            return Ok(TrustOf(Trust::Network(network.0)));
        }
        let remedy = "write the name of a MySQL user, an address or a network, such as `app` or `10.2.0.0/16`";
        match text {
            "" => Err(Complaint::new("the name is empty", remedy)),
            // No user is called so, and a typing error in a network should not become one.
            _ if text.contains('/') => Err(Complaint::new(format!("`{text}` is not a network"), remedy)),
            _ if text.contains('*') => {
                Err(Complaint::new("`*` stands for nobody here: users are named one by one", remedy))
            }
            user => Ok(TrustOf(Trust::User(user.as_bytes().into()))),
        }
    }
}

impl<'de> Deserialize<'de> for TrustOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a user's name, an address or a network", Self::parse)
    }
}
