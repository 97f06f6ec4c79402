//! The upstream half of a login up to its first answer: dial, greeting, TLS, login request.

use std::net::SocketAddr;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::warn;
use wire::{Capabilities, Greeting, LoginRequest};

use super::upstream_request::{self, OwnAttributes};
use super::{LoginEnd, finish};
use crate::counters::Counter;
use crate::error::ClientError;
use crate::leg::Leg;
use crate::registry::SessionHandle;
use crate::shared::Shared;
use crate::tls::UpstreamTlsMode;
use crate::upstream::UpstreamError;

/// What is to be sent to the upstream for a client.
pub(crate) struct UpstreamLogin<'a> {
    pub(crate) login: &'a LoginRequest<'a>,
    /// The capabilities of the greeting that the client got.
    pub(crate) offered: Capabilities,
    pub(crate) own: &'a OwnAttributes,
}

/// An upstream connection that has got the login request. From here on its login is finished whatever the client does.
pub(crate) struct Opened {
    pub(crate) leg: Leg,
    pub(crate) greeting: Greeting,
    pub(crate) capabilities: Capabilities,
    pub(crate) login_place: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TlsChoice {
    AsConfigured,
    /// The handshake has just failed.
    Without,
}

/// Why one attempt has ended.
enum AttemptEnd {
    /// No connection; counted.
    NotConnected(UpstreamError),
    /// Nothing was sent yet, so the login must still be finished.
    Greeted(Box<Leg>, Greeting, LoginEnd),
    /// TLS failed, or the connection broke.
    Broken(UpstreamError),
}

/// Dials and sends the login request; with `upstream.tls: preferred` a second time without TLS if the handshake fails for
/// good. `ends`: the client's address and the one it came to, for a PROXY header.
pub(crate) async fn open(
    shared: &Shared,
    request: &UpstreamLogin<'_>,
    ends: Option<(SocketAddr, SocketAddr)>,
    handle: &SessionHandle,
    login_place: OwnedSemaphorePermit,
) -> Result<Opened, LoginEnd> {
    let mut attempted = attempt(shared, request, ends, handle, TlsChoice::AsConfigured).await;
    if let Err(AttemptEnd::Broken(error @ UpstreamError::TlsIncompatible(_))) = &attempted
        && shared.upstream.tls.mode() == UpstreamTlsMode::Preferred
    {
        warn!(%error, "logging in to the upstream without TLS, since upstream.tls is preferred");
        shared.upstream.tls_fallback.handshake_failed(Instant::now());
        attempted = attempt(shared, request, ends, handle, TlsChoice::Without).await;
    }
    match attempted {
        Ok((leg, greeting, capabilities)) => Ok(Opened { leg, greeting, capabilities, login_place }),
        Err(AttemptEnd::NotConnected(error)) => Err(LoginEnd::Upstream(error)),
        Err(AttemptEnd::Greeted(leg, greeting, end)) => {
            finish::greeted_in_background(*leg, greeting, login_place);
            Err(end)
        }
        Err(AttemptEnd::Broken(error)) => {
            shared.counters.add(error.counter());
            Err(LoginEnd::Upstream(error))
        }
    }
}

async fn attempt(
    shared: &Shared,
    request: &UpstreamLogin<'_>,
    ends: Option<(SocketAddr, SocketAddr)>,
    handle: &SessionHandle,
    tls: TlsChoice,
) -> Result<(Leg, Greeting, Capabilities), AttemptEnd> {
    let (mut leg, greeting) = shared.upstream.connect(ends).await.map_err(|error| {
        shared.upstream.doubt();
        AttemptEnd::NotConnected(error)
    })?;
    handle.set_upstream(greeting.connection_id, leg.peer);
    let capabilities = match upstream_request::negotiated(request.login, request.offered, &greeting) {
        Ok(capabilities) => capabilities,
        Err(missing) => {
            let error = ClientError::upstream_lacks(&missing);
            let end = LoginEnd::Refuse(error, Counter::UpstreamLacksCapability);
            return Err(AttemptEnd::Greeted(Box::new(leg), greeting, end));
        }
    };
    let tls_host = match upstream_request::tls_host(shared, &greeting) {
        Ok(_) if tls == TlsChoice::Without => None,
        Ok(tls_host) => tls_host,
        Err(error) => return Err(AttemptEnd::Greeted(Box::new(leg), greeting, LoginEnd::Upstream(error))),
    };
    let sent = upstream_request::send(shared, &mut leg, tls_host, request.login, capabilities, request.own);
    let late = || UpstreamError::Tls("no answer in time".to_owned());
    let sent = tokio::time::timeout(shared.upstream.settings.dial_timeout, sent).await;
    let dropped = sent.unwrap_or_else(|_| Err(late())).map_err(AttemptEnd::Broken)?;
    shared.counters.add_many(Counter::AttributesDropped, dropped as u64);
    Ok((leg, greeting, capabilities))
}
