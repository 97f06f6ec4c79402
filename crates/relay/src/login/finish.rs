//! Completing an upstream login that nobody waits for any more.
//!
//! A handshake that is broken off counts towards the server's `max_connect_errors`, and all clients share the proxy's
//! address: a hundred clients that vanish at the wrong moment would lock everyone out. So the login is completed with a
//! well-formed wrong answer, which the server takes for a wrong password.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use wire::{AuthPacket, Capabilities, Greeting, LoginRequest};

use super::exchange::{CACHING_SHA2, Exchange, FULL_AUTHENTICATION, SHA256, takes_clear_password};
use super::greet::ALWAYS_UPSTREAM;
use super::upstream_request::NO_PLUGIN;
use crate::leg::{Leg, LegSecurity};

pub(crate) const WRONG_PASSWORD: &[u8] = b"tollgate: the client left before it answered";

/// Whom the proxy's own look at a greeting logs in as, for the server's log. No account may have this name: the login is
/// denied, and that counts towards FAILED_LOGIN_ATTEMPTS. (The probe user is often called `tollgate`.)
pub(crate) const GREETING_CHECK_USER: &[u8] = b"tollgate_greeting_check";

/// More packets than any login takes, and longer than a server thinks about one.
const ROUNDS: usize = 16;
const TIME: Duration = Duration::from_secs(10);
const PACKET_LIMIT: usize = 64 * 1024;

/// Finishes a login whose request was sent. Keeps its place among the logins in progress meanwhile.
pub(crate) fn in_background(mut leg: Leg, exchange: Exchange, login_place: OwnedSemaphorePermit) {
    tokio::spawn(async move {
        in_session(&mut leg, exchange).await;
        drop(login_place);
    });
}

/// Finishes a COM_CHANGE_USER.
pub(crate) async fn in_session(leg: &mut Leg, exchange: Exchange) {
    let _ = timeout(TIME, answer_wrongly(leg, exchange.plugin, exchange.said_last, exchange.upstream_waits)).await;
}

/// Finishes a connection of which only the greeting was read.
pub(crate) fn greeted_in_background(leg: Leg, greeting: Greeting, login_place: OwnedSemaphorePermit) {
    tokio::spawn(async move {
        after_greeting(leg, &greeting).await;
        drop(login_place);
    });
}

/// See [`greeted_in_background`].
pub(crate) async fn after_greeting(mut leg: Leg, greeting: &Greeting) {
    let request = LoginRequest {
        capabilities: ALWAYS_UPSTREAM | (greeting.capabilities & Capabilities::LONG_PASSWORD),
        max_packet: 1 << 24,
        charset: greeting.charset,
        filler: [0; 23],
        user: GREETING_CHECK_USER,
        auth_response: b"",
        database: None,
        auth_plugin: Some(NO_PLUGIN),
        attributes: Some(b""),
        compression_level: None,
    };
    let finished = async {
        if leg.write_packet(&request.encode()).await.is_ok() {
            answer_wrongly(&mut leg, Vec::new(), Vec::new(), false).await;
        }
    };
    let _ = timeout(TIME, finished).await;
}

/// Ends a connection that is logged in, so that the server does not count it as aborted.
pub(crate) async fn quit(leg: &mut Leg) {
    leg.sequence = 0;
    let _ = leg.write_packet(&[wire::Command::Quit as u8]).await;
}

/// `last`: what the server said since it asked for `plugin`.
async fn answer_wrongly(leg: &mut Leg, mut plugin: Vec<u8>, mut last: Vec<u8>, mut waits: bool) {
    for _ in 0..ROUNDS {
        if waits && leg.write_packet(&wrong_answer(&plugin, &last, leg.security)).await.is_err() {
            return;
        }
        let Ok(payload) = leg.read_packet(PACKET_LIMIT).await else { return };
        waits = match AuthPacket::decode(&payload) {
            AuthPacket::Ok => return quit(leg).await,
            AuthPacket::Err => return,
            AuthPacket::Switch { plugin: asked, .. } | AuthPacket::NextFactor { plugin: asked, .. } => {
                plugin = asked.to_vec();
                last.clear();
                true
            }
            AuthPacket::MoreData(data) => {
                last = data.to_vec();
                !(plugin == CACHING_SHA2 && data == [3])
            }
            AuthPacket::OldSwitch | AuthPacket::Unknown => true,
        };
    }
}

/// An answer of the right form to what was said `last`.
fn wrong_answer(plugin: &[u8], last: &[u8], security: LegSecurity) -> Vec<u8> {
    let password = || [WRONG_PASSWORD, b"\0"].concat();
    match plugin {
        CACHING_SHA2 if last.is_empty() => vec![0x5A; 32],
        _ if takes_clear_password(plugin, security) => password(),
        CACHING_SHA2 if last == FULL_AUTHENTICATION => vec![2],
        SHA256 if last.is_empty() => vec![1],
        CACHING_SHA2 | SHA256 => vec![0x5A; 256],
        b"mysql_native_password" => vec![0x5A; 20],
        b"client_ed25519" => vec![0x5A; 64],
        _ => password(),
    }
}
