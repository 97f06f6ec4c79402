//! `10.2.0.0/16`, or one address.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::{Deserialize, Deserializer};

use super::read_text;
use crate::tree::Complaint;

#[derive(Debug)]
pub(crate) struct Network(pub(crate) IpNet);

impl Network {
    pub(crate) fn of(text: &str) -> Option<Self> {
        let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.ok().map(|network| Network(network.trunc()))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Complaint> {
        Network::of(text).ok_or_else(|| {
            let remedy = "write a network as `10.2.0.0/16` or `fd00::/8`, or one address as `10.2.0.7`";
            Complaint::new(format!("`{text}` is not a network"), remedy)
        })
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a network, such as `10.2.0.0/16`", Self::parse)
    }
}
