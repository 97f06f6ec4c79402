//! From an accepted connection to two legs that are logged in.
//!
//! The proxy greets first and dials only when the login request has arrived. It logs in upstream with the client's
//! words but an auth plugin that no server has, so that the server answers with its own scramble, which the client is
//! asked to answer in turn. The proxy sees no password that the server would not have seen in clear, and stores none.

pub(crate) mod exchange;
pub(crate) mod finish;
pub(crate) mod greet;
pub(crate) mod open_upstream;
pub(crate) mod our_uid;
pub(crate) mod upstream_request;

use std::sync::Arc;
use std::time::Duration;

use admission::port::{Gate, Refusal};
use tokio::time::{Instant, timeout_at};
use tracing::{debug, info, warn};
use wire::{Capabilities, ErrPacket, Greeting, LoginRequest, OkPacket, StatusFlags};

use crate::counters::Counter;
use crate::error::ClientError;
use crate::facts::SessionFacts;
use crate::leg::{Leg, ReadError};
use crate::limits::{Limit, Slot, UnauthenticatedPlaces};
use crate::listener::Accepted;
use crate::registry::SessionHandle;
use crate::shared::Shared;
use crate::upstream::UpstreamError;

use exchange::{Exchange, ExchangeEnd};
use our_uid::Unproven;

/// Two legs that have agreed on who is there.
#[derive(Debug)]
pub(crate) struct LoggedIn {
    pub(crate) client: Leg,
    pub(crate) upstream: Leg,
    pub(crate) facts: SessionFacts,
    pub(crate) gate: Box<dyn Gate>,
    pub(crate) status: StatusFlags,
    /// Places under the limits per address and per user.
    pub(crate) slots: (Option<Slot>, Slot),
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum LoginEnd {
    /// An ERR of our own.
    Refuse(ClientError, Counter),
    /// The upstream's ERR, or ours about it.
    Upstream(UpstreamError),
    /// The client has been told by the upstream.
    Denied,
    /// Nobody is left to be told.
    Left(Counter),
}

/// What a client sent, and what it had been offered.
pub(crate) struct ClientRequest {
    pub(crate) payload: Vec<u8>,
    pub(crate) certificate: Option<crate::tls::ClientCertificate>,
    pub(crate) tls: bool,
    pub(crate) offered: Capabilities,
    pub(crate) address_slot: Option<Slot>,
}

/// Logs a client in. `None`: it has been told, counted and logged.
pub(crate) async fn login(
    shared: &Arc<Shared>,
    accepted: Accepted,
    unauthenticated: UnauthenticatedPlaces,
    handle: &SessionHandle,
) -> Option<LoggedIn> {
    let Accepted { mut leg, peer, local, listener, .. } = accepted;
    let mut place = Place { peer, local, listener: listener.name.clone() };
    let mut unauthenticated = Some(unauthenticated);
    let end = match try_login(shared, &mut leg, &mut place, &mut unauthenticated, &listener, handle).await {
        Ok((upstream, (facts, gate), status, slots)) => {
            shared.counters.add(Counter::LoggedIn);
            return Some(LoggedIn { client: leg, upstream, facts, gate, status, slots });
        }
        Err(end) => end,
    };
    let payload = match &end {
        LoginEnd::Refuse(error, counter) => {
            shared.counters.add(*counter);
            info!(connection = handle.id, peer = place.peer.map(tracing::field::display), error = %error.message, "login refused");
            Some(error.payload(Capabilities::PROTOCOL_41))
        }
        LoginEnd::Upstream(error) => {
            warn!(connection = handle.id, peer = place.peer.map(tracing::field::display), %error, "no upstream connection for a client");
            Some(error.payload())
        }
        LoginEnd::Denied => {
            shared.counters.add(Counter::LoginDenied);
            debug!(connection = handle.id, peer = ?place.peer, "login denied by the upstream");
            None
        }
        LoginEnd::Left(counter) => {
            shared.counters.add(*counter);
            debug!(connection = handle.id, peer = ?place.peer, "client left before it was logged in");
            None
        }
    };
    if let Some(payload) = payload {
        say_goodbye(leg, payload).await;
    }
    None
}

/// Sends a last packet and lets it arrive: closing a socket that has unread input would reset it, and the client might
/// never see why. Bounded in time and bytes.
pub(crate) async fn say_goodbye(mut leg: Leg, payload: Vec<u8>) {
    let goodbye = async {
        let payload = as_due(payload, leg.sequence > 0);
        if leg.write_packet(&payload).await.is_err() {
            return;
        }
        crate::session::linger(&mut leg).await;
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
}

/// An ERR as servers send it: without a state in place of a greeting (checked: MySQL 9.7, 1040), and with one after
/// it. What an upstream sent in place of its greeting is a login's answer here.
fn as_due(payload: Vec<u8>, greeted: bool) -> Vec<u8> {
    let Ok(err) = ErrPacket::decode(&payload) else { return payload };
    if err.sqlstate.is_some() == greeted {
        return payload;
    }
    let state = if err.code == 1040 { b"08004" } else { b"HY000" };
    let capabilities = if greeted { Capabilities::PROTOCOL_41 } else { Capabilities::empty() };
    ErrPacket::encode(err.code, state, &String::from_utf8_lossy(err.message), capabilities)
}

/// Where a client is, for logs and for those it is presented to.
pub(crate) struct Place {
    pub(crate) peer: Option<std::net::SocketAddr>,
    pub(crate) local: Option<std::net::SocketAddr>,
    pub(crate) listener: String,
}

async fn try_login(
    shared: &Arc<Shared>,
    client: &mut Leg,
    place: &mut Place,
    unauthenticated: &mut Option<UnauthenticatedPlaces>,
    listener: &crate::listener::ListenerSettings,
    handle: &SessionHandle,
) -> Result<(Leg, (SessionFacts, Box<dyn Gate>), StatusFlags, (Option<Slot>, Slot)), LoginEnd> {
    let deadline = Instant::now() + shared.settings.login_time;
    let request = tokio::select! {
        greeted = timeout_at(deadline, greet::greet(shared, client, place, unauthenticated, listener, handle)) => {
            greeted.unwrap_or_else(|_| Err(timed_out()))?
        }
        () = handle.drained() => return Err(LoginEnd::Refuse(ClientError::shutdown(), Counter::Drained)),
    };
    let login = greet::read_login(&request.payload)?;

    let user_slot = shared.limits.user(login.user).map_err(|limit| over(limit, login.user))?;
    // Before the upstream is dialled; what it negotiates concerns no rule.
    let claimed = facts(place, handle.id, &login, &request, login.capabilities);
    shared.admission.may_connect(&claimed.client()).map_err(by_rule)?;
    let place_among_logins = timeout_at(deadline, Arc::clone(&shared.upstream.logins).acquire_owned()).await;
    let Ok(Ok(login_place)) = place_among_logins else {
        let error = ClientError::too_many_of("clients that log in at once");
        return Err(LoginEnd::Refuse(error, Counter::LimitUpstreamLogins));
    };

    let own = upstream_request::own_attributes(place, handle.id);
    let request_of_client = open_upstream::UpstreamLogin { login: &login, offered: request.offered, own: &own };
    let ends = place.peer.zip(place.local);
    let opened = open_upstream::open(shared, &request_of_client, ends, handle, login_place).await?;
    let open_upstream::Opened { leg: mut upstream, greeting, capabilities, login_place } = opened;

    let answers_switch = login.capabilities.contains(Capabilities::PLUGIN_AUTH);
    let mut exchange = Exchange::new(answers_switch, login.auth_response.is_empty());
    let exchanged = timeout_at(deadline, exchange.run(shared, client, &mut upstream)).await;
    let ok = match exchanged.unwrap_or(Err(ExchangeEnd::Timeout)) {
        Ok(ok) => ok,
        Err(ExchangeEnd::WithoutProof) => {
            let why = our_uid::why_not_asked(shared, &mut upstream, capabilities).await;
            return Err(refuse_unproven(login.user, why, upstream).await);
        }
        Err(end) => {
            if let ExchangeEnd::Upstream(error) = &end {
                shared.counters.add(error.counter());
            }
            if end.leaves_upstream_waiting() {
                shared.counters.add(Counter::LoginsFinished);
                finish::in_background(upstream, exchange, login_place);
            }
            return Err(end.into_login_end(login.user));
        }
    };
    if let Err(why) = our_uid::check(shared, &mut upstream, &greeting, capabilities).await {
        return Err(refuse_unproven(login.user, why, upstream).await);
    }
    drop(login_place);

    let mut facts = facts(place, handle.id, &login, &request, capabilities);
    // The server that has been dialled, whatever was last seen of it before.
    facts.charset = statement::Charset::of_collation_on(crate::session::server(shared), login.charset.into());
    let gate = match shared.admission.enter(&facts.client()) {
        Ok(gate) => gate,
        Err(refusal) => {
            finish::quit(&mut upstream).await;
            return Err(by_rule(refusal));
        }
    };
    let status = OkPacket::decode(&ok, capabilities).map(|ok| ok.status).unwrap_or(greeting.status);
    let ok = shared.without_redirect(ok, capabilities);
    // Before the client knows: its next connection finds the place free.
    *unauthenticated = None;
    client.write_packet(&ok).await.map_err(|_| LoginEnd::Left(Counter::LeftDuringLogin))?;
    Ok((upstream, (facts, gate), status, (request.address_slot, user_slot)))
}

async fn refuse_unproven(user: &[u8], why: Unproven, mut upstream: Leg) -> LoginEnd {
    finish::quit(&mut upstream).await;
    LoginEnd::Refuse(ClientError::unproven(user, why), Counter::OkWithoutProof)
}

/// A rule's `max_connections`.
fn by_rule(refusal: Refusal) -> LoginEnd {
    let Refusal { code, sqlstate, message } = refusal;
    LoginEnd::Refuse(ClientError { code, sqlstate, message }, Counter::LimitMaxConnections)
}

fn timed_out() -> LoginEnd {
    LoginEnd::Refuse(ClientError::login_timeout(), Counter::LoginTimeout)
}

pub(crate) fn over(limit: Limit, user: &[u8]) -> LoginEnd {
    match limit {
        Limit::Connections => LoginEnd::Refuse(ClientError::too_many_connections(), Counter::LimitConnections),
        Limit::Unauthenticated => {
            LoginEnd::Refuse(ClientError::too_many_of("clients not logged in"), Counter::LimitUnauthenticated)
        }
        Limit::UnauthenticatedPerAddress => LoginEnd::Refuse(
            ClientError::too_many_of("clients not logged in from this address"),
            Counter::LimitUnauthenticatedPerAddress,
        ),
        Limit::PerAddress => {
            LoginEnd::Refuse(ClientError::too_many_of("this client address"), Counter::LimitPerAddress)
        }
        Limit::PerUser => {
            let user = String::from_utf8_lossy(user);
            LoginEnd::Refuse(ClientError::too_many_of(&format!("user '{user}'")), Counter::LimitPerUser)
        }
    }
}

/// What a failed read from the client means before the upstream is concerned.
pub(crate) fn client_read_failed(error: ReadError, before_request: bool) -> LoginEnd {
    match error {
        ReadError::Closed | ReadError::Io(_) if before_request => LoginEnd::Left(Counter::LeftBeforeLogin),
        ReadError::Closed | ReadError::Io(_) => LoginEnd::Left(Counter::LeftDuringLogin),
        ReadError::TooLarge(_) => {
            LoginEnd::Refuse(ClientError::bad_handshake("the packet is too large"), Counter::LoginTooLarge)
        }
        ReadError::OutOfOrder { .. } => {
            LoginEnd::Refuse(ClientError::bad_handshake("packets out of order"), Counter::LoginMalformed)
        }
        ReadError::TlsHello => LoginEnd::Refuse(
            ClientError::bad_handshake("TLS begins inside the MySQL protocol, after the greeting"),
            Counter::TlsHelloOnPlain,
        ),
    }
}

fn facts(
    place: &Place,
    connection_id: u32,
    login: &LoginRequest<'_>,
    request: &ClientRequest,
    capabilities: Capabilities,
) -> SessionFacts {
    SessionFacts {
        connection_id,
        listener: place.listener.clone(),
        address: place.peer,
        user: login.user.to_vec(),
        database: login.database.filter(|name| !name.is_empty()).map(<[u8]>::to_vec),
        attributes: crate::facts::attributes(login.attributes.unwrap_or_default()),
        certificate: request.certificate.clone(),
        tls: request.tls,
        capabilities,
        charset: statement::Charset::of_collation(login.charset.into()),
    }
}

/// The greeting a client gets: the upstream's, with our scramble and id, and without what we do not do.
pub(crate) fn own_greeting(seen: &Greeting, connection_id: u32, scramble: [u8; 20], tls: bool) -> Greeting {
    // A bit without a name might change replies in a way that nobody here could follow.
    let known = seen.capabilities & Capabilities::all();
    let mut capabilities = known - Capabilities::COMPRESS - Capabilities::ZSTD_COMPRESSION;
    capabilities.set(Capabilities::SSL, tls);
    capabilities |= Capabilities::PLUGIN_AUTH | Capabilities::SECURE_CONNECTION | Capabilities::PROTOCOL_41;
    Greeting { connection_id, scramble, capabilities, ..seen.clone() }
}

#[cfg(test)]
mod tests {
    use super::as_due;

    #[test]
    fn an_err_has_a_state_only_after_the_greeting() {
        let (with, without) = (b"\xFF\x10\x04#08004Too many connections", b"\xFF\x10\x04Too many connections");
        for given in [&with[..], &without[..]] {
            assert_eq!(as_due(given.to_vec(), true), with);
            assert_eq!(as_due(given.to_vec(), false), without);
        }
    }
}
