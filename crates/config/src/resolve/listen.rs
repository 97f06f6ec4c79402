//! The listeners, and the addresses that cannot stand beside each other.

use std::net::{IpAddr, SocketAddr};

use super::{Resolver, number};
use crate::plan::{Admin, ListenAddress, Listener, UpstreamAddress};
use crate::tree::{At, KeyPath};
use crate::value::{RawListen, RawListener};

impl Resolver<'_> {
    pub(super) fn listen(&mut self, raw: Option<RawListen>) -> Vec<Listener> {
        let place = KeyPath::of("listen");
        let listeners: Vec<(KeyPath, Listener)> = match raw {
            None => return vec![Listener::default()],
            Some(RawListen::One(raw)) => {
                self.listener(&place, raw).map(|listener| (place, listener)).into_iter().collect()
            }
            Some(RawListen::Many(raws)) if raws.is_empty() => {
                self.refuse_at(place, At::Value, "the list is empty", "write an address, such as `127.0.0.1:6033`");
                Vec::new()
            }
            Some(RawListen::Many(raws)) => {
                let places = (0..).map(|index| place.item(index));
                places.zip(raws).filter_map(|(place, raw)| Some((place.clone(), self.listener(&place, raw)?))).collect()
            }
        };
        for (position, (place, listener)) in listeners.iter().enumerate() {
            let earlier = listeners.iter().take(position).any(|(_, other)| same(&other.address, &listener.address));
            if earlier {
                let what = format!("{} is listened on already", listener.address);
                self.refuse_at(place.clone(), At::Value, what, "take this one out, or give it another port");
            } else if listeners.iter().take(position).any(|(_, other)| other.name == listener.name) {
                let what = format!("a listener above is called `{}` already", listener.name);
                self.refuse_at(place.key("name"), At::Value, what, "give this one another name");
            }
        }
        listeners.into_iter().map(|(_, listener)| listener).collect()
    }

    fn listener(&mut self, place: &KeyPath, raw: RawListener) -> Option<Listener> {
        let Some(address) = raw.address else {
            let remedy = "add `address: 127.0.0.1:6033`";
            self.refuse_at(place.clone(), At::Value, "the listener's address is missing", remedy);
            return None;
        };
        let networks = raw.proxy_protocol_from.unwrap_or_default();
        let address = match address.0 {
            ListenAddress::Tcp(address) => ListenAddress::Tcp(address),
            ListenAddress::Socket(path) => ListenAddress::Socket(self.folder.join(path)),
        };
        if matches!(address, ListenAddress::Socket(_)) && !networks.is_empty() {
            let what = "the peers of a socket have no address that could be in a network";
            self.refuse_at(place.key("proxy_protocol_from"), At::Key, what, "take it out, or listen on a port");
        }
        let proxy_protocol_from = networks.into_iter().map(|network| network.0).collect();
        let name = raw.name.map_or_else(|| address.to_string(), |name| name.0);
        Some(Listener { address, name, tls: raw.tls.unwrap_or_default(), proxy_protocol_from })
    }

    pub(super) fn refuse_shared_address(&mut self, listen: &[Listener], admin: &Admin, place: &str) {
        let Some(http) = admin.http else { return };
        if let Some(listener) = listen.iter().find(|listener| same(&listener.address, &ListenAddress::Tcp(http))) {
            let what = format!("both clients and `admin.http` would be listened for on {}", listener.address);
            self.refuse(place, At::Value, what, "write another port for one of them, or `admin: { http: off }`");
        }
    }

    /// An upstream that is the proxy itself would take a connection for every connection, until none is left.
    pub(super) fn refuse_loop(&mut self, listen: &[Listener], upstream: &UpstreamAddress) {
        let own = listen.iter().any(|listener| match (&listener.address, upstream) {
            (ListenAddress::Tcp(listening), UpstreamAddress::Tcp { host, port }) => {
                let ip = number(upstream).or_else(|| (host == "localhost").then_some(IpAddr::from([127, 0, 0, 1])));
                ip.is_some_and(|ip| reaches(*listening, SocketAddr::new(ip, *port)))
            }
            (ListenAddress::Socket(listening), UpstreamAddress::Socket(path)) => listening == path,
            (ListenAddress::Tcp(_), UpstreamAddress::Socket(_))
            | (ListenAddress::Socket(_), UpstreamAddress::Tcp { .. }) => false,
        });
        if own {
            let what = format!("{upstream} is where this proxy listens: it would dial itself");
            self.refuse("upstream.address", At::Value, what, "write the address of the MySQL server");
        }
    }
}

/// Two listeners that the system would not open both. Port 0 is a new port each time.
fn same(a: &ListenAddress, b: &ListenAddress) -> bool {
    match (a, b) {
        (ListenAddress::Tcp(a), ListenAddress::Tcp(b)) => a == b && a.port() != 0,
        (ListenAddress::Socket(a), ListenAddress::Socket(b)) => a == b,
        (ListenAddress::Tcp(_), ListenAddress::Socket(_)) | (ListenAddress::Socket(_), ListenAddress::Tcp(_)) => false,
    }
}

fn reaches(listening: SocketAddr, dialed: SocketAddr) -> bool {
    let everywhere_here = listening.ip().is_unspecified() && dialed.ip().is_loopback();
    listening.port() == dialed.port() && (listening.ip() == dialed.ip() || everywhere_here)
}
