//! Rules by the network of an address: one look-up for each length of a prefix that some rule has.

use std::net::IpAddr;

use ipnet::IpNet;

use super::Map;

#[derive(Debug, Default)]
pub(crate) struct Networks {
    v4: Vec<(u8, Map<IpNet, Vec<u32>>)>,
    v6: Vec<(u8, Map<IpNet, Vec<u32>>)>,
}

impl Networks {
    pub(crate) fn find(&self, address: IpAddr, found: &mut impl FnMut(&[u32])) {
        let lengths = if address.is_ipv4() { &self.v4 } else { &self.v6 };
        for (length, networks) in lengths {
            let network = IpNet::new(address, *length).ok();
            let rules = network.and_then(|network| networks.get(&network.trunc()));
            rules.into_iter().for_each(|rules| found(rules));
        }
    }

    /// The rules of one network.
    pub(crate) fn entry(&mut self, network: IpNet) -> &mut Vec<u32> {
        let lengths = if network.addr().is_ipv4() { &mut self.v4 } else { &mut self.v6 };
        let place = lengths.binary_search_by_key(&network.prefix_len(), |(length, _)| *length);
        let place = place.unwrap_or_else(|free| {
            lengths.insert(free, (network.prefix_len(), Map::default()));
            free
        });
        lengths[place].1.entry(network.trunc()).or_default()
    }
}
