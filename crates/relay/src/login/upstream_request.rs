//! The login request that the upstream gets: the client's, with a plugin that no server has.

use tokio::time::Instant;
use wire::{Capabilities, Greeting, LoginRequest, SslRequest, attributes};

use super::Place;
use super::greet::ALWAYS_UPSTREAM;
use crate::counters::Counter;
use crate::leg::Leg;
use crate::shared::Shared;
use crate::tls::{UpstreamTlsMode, is_incompatible};
use crate::transport::Transport;
use crate::upstream::{UpstreamAddress, UpstreamError};

/// A server that does not know this plugin asks the client to switch to the account's own, with a fresh scramble.
pub(crate) const NO_PLUGIN: &[u8] = b"tollgate_forces_a_switch";

/// What a server takes: more is refused by it as a whole.
pub(crate) const ATTRIBUTES_LIMIT: usize = 65_535;

/// Bits that change what the two ends send each other; the others are the client's and the server's business.
const SHAPING: Capabilities = Capabilities::CONNECT_WITH_DB
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::DEPRECATE_EOF)
    .union(Capabilities::OPTIONAL_RESULTSET_METADATA)
    .union(Capabilities::QUERY_ATTRIBUTES)
    .union(Capabilities::MULTI_FACTOR_AUTHENTICATION)
    .union(Capabilities::MARIADB_PROGRESS)
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_EXTENDED_METADATA)
    .union(Capabilities::MARIADB_CACHE_METADATA)
    .union(Capabilities::MARIADB_BULK_UNIT_RESULTS);

/// What the three agree on. As servers do, what was not offered is masked. `Err` names what the upstream lacks of what
/// the client was offered and took.
pub(crate) fn negotiated(
    login: &LoginRequest<'_>,
    offered: Capabilities,
    upstream: &Greeting,
) -> Result<Capabilities, String> {
    let wanted = (login.capabilities & Capabilities::all())
        - (SHAPING - offered)
        - Capabilities::COMPRESS
        - Capabilities::ZSTD_COMPRESSION
        - Capabilities::SSL;
    let missing = (wanted & SHAPING) - upstream.capabilities;
    if missing.is_empty() { Ok(wanted) } else { Err(format!("{missing:?}")) }
}

/// Starts TLS if it has a `tls_host` and sends the request. Returns how many of the client's attributes were dropped.
pub(crate) async fn send(
    shared: &Shared,
    upstream: &mut Leg,
    tls_host: Option<&str>,
    login: &LoginRequest<'_>,
    capabilities: Capabilities,
    own: &OwnAttributes,
) -> Result<usize, UpstreamError> {
    let rewritten = attributes::with_own(login.attributes.unwrap_or_default(), &own.pairs(), ATTRIBUTES_LIMIT);
    let mut request = LoginRequest {
        capabilities: capabilities | ALWAYS_UPSTREAM,
        auth_response: b"",
        auth_plugin: Some(NO_PLUGIN),
        attributes: Some(&rewritten.block),
        compression_level: None,
        ..*login
    };
    if let Some(host) = tls_host {
        start_tls(shared, upstream, host, &mut request).await?;
    }
    let io_error = |error| UpstreamError::Dial { address: shared.upstream.settings.address.clone(), error };
    upstream.write_packet(&request.encode()).await.map_err(io_error)?;
    Ok(rewritten.dropped)
}

/// The name to begin TLS with, `None` for a plain leg. `Err`: TLS is required and not offered; nothing has been sent.
pub(crate) fn tls_host<'a>(shared: &'a Shared, greeting: &Greeting) -> Result<Option<&'a str>, UpstreamError> {
    let mode = shared.upstream.tls.mode();
    let host = match (&shared.upstream.settings.address, mode) {
        (_, UpstreamTlsMode::Disabled) | (UpstreamAddress::Unix(_), UpstreamTlsMode::Preferred) => return Ok(None),
        (UpstreamAddress::Unix(_), _) => "localhost",
        (UpstreamAddress::Tcp { host, .. }, _) => host,
    };
    match (greeting.capabilities.contains(Capabilities::SSL), mode) {
        (true, UpstreamTlsMode::Preferred) if shared.upstream.tls_fallback.is_in_force(Instant::now()) => {
            shared.counters.add(Counter::UpstreamTlsFallback);
            Ok(None)
        }
        (true, _) => Ok(Some(host)),
        (false, UpstreamTlsMode::Preferred) => Ok(None),
        (false, _) => Err(UpstreamError::Tls(format!("the server does not offer TLS, and upstream.tls is {mode}"))),
    }
}

async fn start_tls(
    shared: &Shared,
    upstream: &mut Leg,
    host: &str,
    request: &mut LoginRequest<'_>,
) -> Result<(), UpstreamError> {
    let tls = &shared.upstream.tls;
    request.capabilities |= Capabilities::SSL;
    let ssl_request = SslRequest {
        capabilities: request.capabilities,
        max_packet: request.max_packet,
        charset: request.charset,
        filler: request.filler,
    };
    let failed = |error: std::io::Error| UpstreamError::Tls(error.to_string());
    upstream.write_packet(&ssl_request.encode()).await.map_err(failed)?;
    let handshake = tls.connector().connect(tls.server_name(host), upstream.unwrap_stream()).await;
    let stream = handshake.map_err(|error| match is_incompatible(&error) {
        true => UpstreamError::TlsIncompatible(error.to_string()),
        false => failed(error),
    })?;
    shared.upstream.tls_fallback.handshake_succeeded();
    upstream.wrap(Transport::Boxed(Box::new(stream)));
    Ok(())
}

/// What the server's performance_schema shows of where the client really is.
#[derive(Debug)]
pub(crate) struct OwnAttributes {
    address: String,
    port: String,
    connection: String,
    listener: String,
}

pub(crate) fn own_attributes(place: &Place, connection_id: u32) -> OwnAttributes {
    let (address, port) = match place.peer {
        Some(peer) => (peer.ip().to_canonical().to_string(), peer.port().to_string()),
        None => ("localhost".to_owned(), String::new()),
    };
    OwnAttributes { address, port, connection: connection_id.to_string(), listener: place.listener.clone() }
}

impl OwnAttributes {
    pub(crate) fn pairs(&self) -> [(&[u8], &[u8]); 4] {
        [
            (b"_tollgate_client_address", self.address.as_bytes()),
            (b"_tollgate_client_port", self.port.as_bytes()),
            (b"_tollgate_connection_id", self.connection.as_bytes()),
            (b"_tollgate_listener", self.listener.as_bytes()),
        ]
    }
}
