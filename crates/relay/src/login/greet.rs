//! The part of a login that concerns the client alone: PROXY header, greeting, TLS, login request.

use std::io;
use std::sync::Arc;

use rand::RngExt;
use wire::{Capabilities, LoginPacket, LoginRequest};

use super::{ClientRequest, LoginEnd, Place, client_read_failed, over, own_greeting};
use crate::counters::Counter;
use crate::error::ClientError;
use crate::leg::Leg;
use crate::limits::UnauthenticatedPlaces;
use crate::listener::{ClientLegTls, ListenerSettings};
use crate::proxy_protocol;
use crate::registry::SessionHandle;
use crate::shared::Shared;
use crate::tls;
use crate::transport::Transport;

pub(crate) async fn greet(
    shared: &Arc<Shared>,
    client: &mut Leg,
    place: &mut Place,
    unauthenticated: &mut Option<UnauthenticatedPlaces>,
    listener: &ListenerSettings,
    handle: &SessionHandle,
) -> Result<ClientRequest, LoginEnd> {
    let must_send_header = place.peer.is_some_and(|peer| listener.proxy_protocol_from.contains(peer.ip()));
    if must_send_header {
        read_proxy_header(client, place).await?;
        let taken = place.peer.map(|peer| shared.limits.unauthenticated_share(peer.ip())).transpose();
        let of_address = taken.map_err(|limit| over(limit, b""))?;
        if let Some(places) = unauthenticated {
            places.of_address = of_address;
        }
    }
    let address_slot = match place.peer {
        Some(peer) => Some(shared.limits.address(peer.ip()).map_err(|limit| over(limit, b""))?),
        None => None,
    };
    let seen = shared.upstream.greeting().await.map_err(LoginEnd::Upstream)?;
    let offers_tls = listener.tls != ClientLegTls::Disabled;
    let greeting = own_greeting(&seen, handle.id, scramble(), offers_tls);
    client.write_packet(&greeting.encode()).await.map_err(|_| LoginEnd::Left(Counter::LeftBeforeLogin))?;

    let limit = shared.settings.login_size;
    let mut payload = client.read_packet(limit).await.map_err(|error| client_read_failed(error, true))?;
    let mut certificate = None;
    let wants_tls = matches!(LoginPacket::decode(&payload), Ok(LoginPacket::SslRequest(_)));
    if wants_tls {
        if !offers_tls {
            let error = ClientError::bad_handshake("TLS was not offered");
            return Err(LoginEnd::Refuse(error, Counter::LoginMalformed));
        }
        certificate = start_tls(shared, client).await.map_err(|_| LoginEnd::Left(Counter::TlsFailed))?;
        payload = client.read_packet(limit).await.map_err(|error| client_read_failed(error, true))?;
    }
    if !wants_tls && asks_for_tls_too_late(&payload) {
        let error = ClientError::bad_handshake("a login that asks for TLS must not follow in plain text");
        return Err(LoginEnd::Refuse(error, Counter::LoginMalformed));
    }
    if listener.tls == ClientLegTls::Required && !client.security.is_secure() {
        return Err(LoginEnd::Refuse(ClientError::secure_transport_required(), Counter::PlainRefused));
    }
    Ok(ClientRequest { payload, certificate, tls: wants_tls, offered: greeting.capabilities, address_slot })
}

/// The login request in a packet that was read.
pub(crate) fn read_login(payload: &[u8]) -> Result<LoginRequest<'_>, LoginEnd> {
    let malformed = |detail: &str| LoginEnd::Refuse(ClientError::bad_handshake(detail), Counter::LoginMalformed);
    match LoginPacket::decode(payload) {
        Ok(LoginPacket::Login(login)) => Ok(login),
        Ok(LoginPacket::SslRequest(_)) => Err(malformed("TLS was asked for twice")),
        Err(error) => Err(malformed(error.0)),
    }
}

/// A server would take what comes next for a TLS hello, whatever the rest of this packet says; and a client that sent its
/// login in plain text although it wants TLS has told somebody more than it meant to.
fn asks_for_tls_too_late(payload: &[u8]) -> bool {
    matches!(LoginPacket::decode(payload), Ok(LoginPacket::Login(login)) if login.capabilities.contains(Capabilities::SSL))
}

async fn read_proxy_header(client: &mut Leg, place: &mut Place) -> Result<(), LoginEnd> {
    let bad = |detail: String| LoginEnd::Refuse(ClientError::bad_handshake(&detail), Counter::ProxyHeaderBad);
    loop {
        match proxy_protocol::decode(client.input.unread()) {
            Ok(Some((header, length))) => {
                client.input.consume(length);
                place.peer = header.source.or(place.peer);
                place.local = header.destination.or(place.local);
                return Ok(());
            }
            Ok(None) => {}
            Err(error) => return Err(bad(error.to_string())),
        }
        match client.input.fill(&mut client.transport).await {
            Ok(0) | Err(_) => return Err(LoginEnd::Left(Counter::ProxyHeaderBad)),
            Ok(_) => {}
        }
    }
}

async fn start_tls(shared: &Shared, client: &mut Leg) -> io::Result<Option<tls::ClientCertificate>> {
    let acceptor = shared.client_tls.acceptor();
    let stream = acceptor.accept(client.unwrap_stream()).await?;
    let certificate = tls::verified_subject(stream.get_ref().1);
    client.wrap(Transport::Boxed(Box::new(stream)));
    Ok(certificate)
}

/// Twenty random bytes as servers make them: no NUL, which would end it, and no `$`, which separates in stored hashes.
fn scramble() -> [u8; 20] {
    let mut rng = rand::rng();
    std::array::from_fn(|_| match rng.random_range(1..=127u8) {
        b'$' => b'%',
        byte => byte,
    })
}

/// What every login through this proxy tells a server that does not fit: see [`super::upstream_request`].
pub(crate) const ALWAYS_UPSTREAM: Capabilities = Capabilities::PLUGIN_AUTH
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PROTOCOL_41);
