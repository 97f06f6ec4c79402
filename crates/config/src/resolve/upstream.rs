//! The upstream: which of its TLS keys go together.

use super::{Resolver, Surrounding, number};
use crate::plan::{Replicas, Upstream, UpstreamAddress, UpstreamTls};
use crate::raw::{RawReplicas, RawUpstream};
use crate::tree::At;

impl Resolver<'_> {
    pub(super) fn upstream(&mut self, raw: RawUpstream, around: &Surrounding) -> Option<Upstream> {
        self.check_tls_keys(&raw);
        self.check_asking(&raw, around);
        let ca = self.file("upstream.ca", raw.ca);
        let certificate = self.certificate("upstream", raw.certificate, raw.key);
        let replicas = match raw.replicas {
            None => Replicas::default(),
            Some(RawReplicas::Listed(listed)) => {
                Replicas::Listed(listed.into_iter().map(|replica| self.dial(replica.0)).collect())
            }
            Some(RawReplicas::Discover) => Replicas::Discover,
        };
        let Some(address) = raw.address else {
            let remedy = "write `upstream:` and below it `  address: 127.0.0.1:3306`";
            self.refuse("upstream.address", At::Key, "the address of the MySQL server is missing", remedy);
            return None;
        };
        let upstream = Upstream {
            address: self.dial(address.0),
            tls: raw.tls.unwrap_or_default(),
            ca,
            certificate,
            server_name: raw.server_name.map(|name| name.0),
            proxy_protocol: raw.proxy_protocol.unwrap_or_default(),
            source_address: raw.source_address.map(|address| address.0),
            dial_timeout: raw.dial_timeout.map_or(Upstream::DIAL_TIMEOUT, |span| span.0),
            replicas,
            on_demotion: raw.on_demotion.unwrap_or_default(),
        };
        self.check_source(&upstream);
        self.check_name(&upstream);
        Some(upstream)
    }

    /// What only the probe user finds out.
    fn check_asking(&mut self, raw: &RawUpstream, around: &Surrounding) {
        if around.probe || self.is_read_in_part("probe") {
            return;
        }
        let remedy = "add `probe: { user: tollgate, password: \"env:TOLLGATE_PROBE_PASSWORD\" }`";
        if matches!(raw.replicas, Some(RawReplicas::Discover)) {
            let what = "to discover them the primary must be asked, and there is no user for that";
            self.refuse("upstream.replicas", At::Value, what, format!("{remedy}, or list them"));
        }
        if raw.on_demotion.is_some() {
            let what = "whether the server is still the primary must be asked, and there is no user for that";
            self.refuse("upstream.on_demotion", At::Key, what, format!("{remedy}, or take it out"));
        }
    }

    fn dial(&self, address: UpstreamAddress) -> UpstreamAddress {
        match address {
            UpstreamAddress::Tcp { host, port } => UpstreamAddress::Tcp { host, port },
            UpstreamAddress::Socket(path) => UpstreamAddress::Socket(self.folder.join(path)),
        }
    }

    /// A key that the chosen mode never looks at is refused: who writes `ca` believes that it is checked.
    fn check_tls_keys(&mut self, raw: &RawUpstream) {
        let tls = raw.tls.unwrap_or_default();
        let verifies = matches!(tls, UpstreamTls::VerifyCa | UpstreamTls::VerifyIdentity);
        if verifies && raw.ca.is_none() {
            let remedy = "add `ca:` with the path of the certificate authority's PEM file (MySQL's own is `ca.pem` in its data folder)";
            self.refuse(
                "upstream.tls",
                At::Value,
                "verifying needs to know whom to trust, and `upstream.ca` is missing",
                remedy,
            );
        }
        if !verifies && raw.ca.is_some() {
            let what = "`ca` is used only where the server's certificate is verified";
            self.refuse(
                "upstream.ca",
                At::Key,
                what,
                "write `tls: verify_ca` or `tls: verify_identity`, or take `ca` out",
            );
        }
        if tls != UpstreamTls::Disabled {
            return;
        }
        let unused = [
            ("upstream.certificate", raw.certificate.is_some()),
            ("upstream.key", raw.key.is_some()),
            ("upstream.server_name", raw.server_name.is_some()),
        ];
        for (key, _) in unused.into_iter().filter(|(_, written)| *written) {
            let remedy = "take it out, or write `tls: required` or stricter";
            self.refuse(key, At::Key, "this key does nothing with `tls: disabled`", remedy);
        }
    }

    fn check_source(&mut self, upstream: &Upstream) {
        let Some(source) = upstream.source_address else { return };
        if matches!(upstream.address, UpstreamAddress::Socket(_)) {
            let what = "a socket is not dialed from an address";
            self.refuse("upstream.source_address", At::Key, what, "take it out, or dial `host:port`");
        }
        if let Some(target) = number(&upstream.address).filter(|target| target.is_ipv4() != source.is_ipv4()) {
            let family = if target.is_ipv4() { "IPv4" } else { "IPv6" };
            let what = format!("{target} cannot be dialed from {source}");
            self.refuse(
                "upstream.source_address",
                At::Value,
                what,
                format!("write an {family} address of this machine"),
            );
        }
    }

    fn check_name(&mut self, upstream: &Upstream) {
        let socket = matches!(upstream.address, UpstreamAddress::Socket(_));
        if socket && upstream.tls == UpstreamTls::VerifyIdentity && upstream.server_name.is_none() {
            let what = "a socket has no name that the certificate could be compared with";
            self.refuse("upstream.tls", At::Value, what, "add `server_name:`, or write `tls: verify_ca`");
        }
    }
}
