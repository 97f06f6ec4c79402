//! What the plan says of the servers, in the words of `probes`.

use probes::{Address, Endpoint, Login, Secret, Tls, TlsMode};

pub(crate) fn endpoint(upstream: &config::Upstream) -> Endpoint {
    let mode = match upstream.tls {
        config::UpstreamTls::Disabled => TlsMode::Disabled,
        config::UpstreamTls::Preferred => TlsMode::Preferred,
        config::UpstreamTls::Required => TlsMode::Required,
        config::UpstreamTls::VerifyCa => TlsMode::VerifyCa,
        config::UpstreamTls::VerifyIdentity => TlsMode::VerifyIdentity,
    };
    let tls = Tls { mode, ca: upstream.ca.clone(), server_name: upstream.server_name.clone() };
    Endpoint { address: address(&upstream.address), tls }
}

pub(crate) fn address(address: &config::UpstreamAddress) -> Address {
    match address {
        config::UpstreamAddress::Tcp { host, port } => Address::Tcp { host: host.clone(), port: *port },
        config::UpstreamAddress::Socket(path) => Address::Socket(path.clone()),
    }
}

pub(crate) fn login(probe: &config::Probe) -> Login {
    Login { user: probe.user.clone(), password: Secret::new(probe.password.expose()) }
}
