//! `listen`: one address, one listener with its keys, or a list of either.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Id, ListenAt, Network, read_text};
use crate::plan::ClientTls;

const EXPECTED: &str = "an address, such as `127.0.0.1:6033`, or a list of them";

/// Remembers whether it was a list, since that is part of a listener's place in the file.
#[derive(Debug)]
pub(crate) enum RawListen {
    One(RawListener),
    Many(Vec<RawListener>),
}

#[derive(Debug, Default)]
pub(crate) struct RawListener {
    pub(crate) address: Option<ListenAt>,
    pub(crate) name: Option<Id>,
    pub(crate) tls: Option<ClientTls>,
    pub(crate) proxy_protocol_from: Option<Vec<Network>>,
}

/// The keys of a listener that is written as a map.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "the keys of a listener, such as `address: 127.0.0.1:6033`")]
struct ListenerKeys {
    address: Option<ListenAt>,
    name: Option<Id>,
    tls: Option<ClientTls>,
    #[serde(deserialize_with = "networks")]
    proxy_protocol_from: Option<Vec<Network>>,
}

impl<'de> Deserialize<'de> for ListenAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, EXPECTED, Self::parse)
    }
}

impl<'de> Deserialize<'de> for RawListen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListenVisitor)
    }
}

impl<'de> Deserialize<'de> for RawListener {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListenerVisitor)
    }
}

struct ListenVisitor;

impl<'de> Visitor<'de> for ListenVisitor {
    type Value = RawListen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawListen, E> {
        ListenerVisitor.visit_str(text).map(RawListen::One)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawListen, A::Error> {
        ListenerVisitor.visit_map(map).map(RawListen::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawListen, A::Error> {
        let mut listeners = Vec::new();
        while let Some(listener) = list.next_element()? {
            listeners.push(listener);
        }
        Ok(RawListen::Many(listeners))
    }
}

struct ListenerVisitor;

impl<'de> Visitor<'de> for ListenerVisitor {
    type Value = RawListener;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, such as `127.0.0.1:6033`, or the keys of a listener")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawListener, E> {
        let address = ListenAt::parse(text).map_err(E::custom)?;
        Ok(RawListener { address: Some(address), ..RawListener::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawListener, A::Error> {
        let ListenerKeys { address, name, tls, proxy_protocol_from } =
            ListenerKeys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RawListener { address, name, tls, proxy_protocol_from })
    }
}

/// Serde's own `Vec` would ask for "a sequence".
fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Network>>, D::Error> {
    deserializer.deserialize_any(NetworksVisitor).map(Some)
}

struct NetworksVisitor;

impl<'de> Visitor<'de> for NetworksVisitor {
    type Value = Vec<Network>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of networks, such as `[10.2.0.0/16]`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Network>, A::Error> {
        let mut networks = Vec::new();
        while let Some(network) = list.next_element()? {
            networks.push(network);
        }
        Ok(networks)
    }
}
