//! Accounts that a server on the same machine tells by the user of the process that speaks to it: by *our* user.
//!
//! An OK without a proof is refused anyway. But an account may have several methods, and nothing in the packets tells of
//! those that need no answer:
//! - MariaDB's `mysql_native_password USING 'invalid' OR unix_socket`, which `root@localhost` is from the start: the
//!   server asks for a proof, finds it wrong, and then lets its peer in by the uid. Anybody could be that user.
//! - MySQL's `IDENTIFIED BY '…' AND IDENTIFIED WITH auth_socket`: we would be everybody's second factor.
//!
//! So over a Unix socket the server is asked how the account that it let in is told, before the client hears of it. (The
//! name alone says nothing: `AS 'tollgate'` may stand behind any account.)
//!
//! An account that stands in for another (GRANT PROXY) cannot be shown its own methods: the server shows the other
//! account's. MySQL's `auth_socket` writes the name of its peer's user to `@@external_user`, and the password plugins write
//! nothing there, so NULL excludes it. MariaDB's `unix_socket` leaves no such trace.
//!
//! A MySQL under `--skip-grant-tables` asks for a proof and then accepts any. It listens on its socket only, unless it was
//! told otherwise: a proxy on that socket would open it to the network. (MariaDB asks for no proof then.)

use wire::{Capabilities, Command, ErrPacket, Fields, Greeting};

use crate::leg::Leg;
use crate::shared::Shared;
use crate::upstream::UpstreamAddress;

/// Every account may ask this about itself.
const METHODS: &[u8] = b"SHOW CREATE USER CURRENT_USER()";
/// The account that was authenticated, where the session goes by another one's name (NULL if it does not), the name that
/// its plugin knows the client by, and the account that the session goes by.
const NAMES: &[u8] = b"SELECT @@proxy_user, @@external_user, CURRENT_USER()";
/// Whom MySQL takes everybody for under `--skip-grant-tables`.
const ANYBODY: &[u8] = b"skip-grants user@skip-grants host";
/// NULL in a row of a text result.
const NULL: u8 = 0xFB;

/// MariaDB's plugin, and MySQL's of the same kind.
const BY_UID: [&[u8]; 2] = [b"unix_socket", b"auth_socket"];

/// An answer has a handful of packets; one is as long as an account's methods.
const PACKETS: usize = 16;
const PACKET_LIMIT: usize = 64 * 1024;

/// Why a login that the server accepted is refused. The text completes "Access denied for user '…': ".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unproven {
    #[error(
        "the server accepted this user without asking for a proof; accounts that it identifies by the operating system's \
         user of its peer (auth_socket, unix_socket) cannot log in through a proxy"
    )]
    NotAsked,
    #[error(
        "the server behind this proxy runs with --skip-grant-tables and lets everybody in without a check, so this proxy \
         lets nobody in; connect to the server itself, or restart it without that option"
    )]
    GrantTablesSkipped,
    #[error(
        "the server identifies this account by the operating system's user of its peer (auth_socket, unix_socket), which \
         is the proxy's; use an account with nothing but a password, or TCP from the proxy to the server"
    )]
    PeerUid,
    #[error(
        "the server did not say how it identifies this account (an expired password, or an account that stands in for \
         another?), so this proxy cannot exclude that it did so by the proxy's own user; use TCP from the proxy to the \
         server"
    )]
    Unknown,
}

/// Checks that the account that has just been let in gave a proof. Not cancel safe: the leg is then of no use.
pub(crate) async fn check(
    shared: &Shared,
    upstream: &mut Leg,
    greeting: &Greeting,
    capabilities: Capabilities,
) -> Result<(), Unproven> {
    let several_methods = may_have_several_methods(greeting, capabilities);
    match &shared.upstream.settings.address {
        UpstreamAddress::Tcp { .. } => return Ok(()),
        UpstreamAddress::Unix(_) => {}
    }
    let asked = async {
        if several_methods {
            check_account(upstream, greeting.is_mariadb(), capabilities).await
        } else {
            check_grant_tables(upstream, capabilities).await
        }
    };
    tokio::time::timeout(shared.upstream.settings.dial_timeout, asked).await.unwrap_or(Err(Unproven::Unknown))
}

/// Finds out why the server accepted a login without asking for a proof. Not cancel safe, as [`check`].
pub(crate) async fn why_not_asked(shared: &Shared, upstream: &mut Leg, capabilities: Capabilities) -> Unproven {
    let asked = tokio::time::timeout(shared.upstream.settings.dial_timeout, ask(upstream, METHODS, capabilities));
    match asked.await {
        Ok(Answer::Error(payload)) if says_grant_tables_skipped(&payload) => Unproven::GrantTablesSkipped,
        Ok(Answer::Error(_) | Answer::Result(_) | Answer::Nothing) | Err(_) => Unproven::NotAsked,
    }
}

/// MySQL goes on to a second factor only with clients that know of such.
fn may_have_several_methods(greeting: &Greeting, capabilities: Capabilities) -> bool {
    greeting.is_mariadb() || capabilities.contains(Capabilities::MULTI_FACTOR_AUTHENTICATION)
}

/// See [`check`]: an account of one method, which was asked for its proof. Only a server that says that it accepts anybody
/// is not believed.
async fn check_grant_tables(upstream: &mut Leg, capabilities: Capabilities) -> Result<(), Unproven> {
    match ask_names(upstream, capabilities).await {
        Answer::Result(Names::Anybody) => Err(Unproven::GrantTablesSkipped),
        // An expired password, whose client may change it and do nothing else.
        Answer::Error(_) | Answer::Result(Names::Own | Names::ProxiedByPassword | Names::ProxiedByOther) => Ok(()),
        Answer::Nothing => Err(Unproven::Unknown),
    }
}

/// See [`check`].
pub(crate) async fn check_account(
    upstream: &mut Leg,
    is_mariadb: bool,
    capabilities: Capabilities,
) -> Result<(), Unproven> {
    match ask_names(upstream, capabilities).await {
        Answer::Result(Names::Own) => {}
        Answer::Result(Names::Anybody) => return Err(Unproven::GrantTablesSkipped),
        // What is shown of its methods is the other account's.
        Answer::Result(Names::ProxiedByPassword) if !is_mariadb => return Ok(()),
        Answer::Result(Names::ProxiedByPassword | Names::ProxiedByOther) | Answer::Error(_) | Answer::Nothing => {
            return Err(Unproven::Unknown);
        }
    }
    match ask(upstream, METHODS, capabilities).await {
        Answer::Result(methods) if methods.iter().any(|packet| names_a_uid_method(packet)) => Err(Unproven::PeerUid),
        Answer::Result(_) => Ok(()),
        Answer::Error(_) | Answer::Nothing => Err(Unproven::Unknown),
    }
}

/// The accounts behind a session, by the row that [`NAMES`] gives.
enum Names {
    /// The account that was authenticated is the one that the session goes by.
    Own,
    /// Another one was authenticated, by plugins that set no external user.
    ProxiedByPassword,
    ProxiedByOther,
    /// No account at all.
    Anybody,
}

async fn ask_names(upstream: &mut Leg, capabilities: Capabilities) -> Answer<Names> {
    match ask(upstream, NAMES, capabilities).await {
        Answer::Result(packets) => match packets.last().and_then(|row| read_names(row)) {
            Some(names) => Answer::Result(names),
            None => Answer::Nothing,
        },
        Answer::Error(payload) => Answer::Error(payload),
        Answer::Nothing => Answer::Nothing,
    }
}

fn read_names(row: &[u8]) -> Option<Names> {
    let (proxy_user, rest) = split_value(row)?;
    let (external_user, rest) = split_value(rest)?;
    let (current_user, rest) = split_value(rest)?;
    if !rest.is_empty() {
        return None;
    }
    Some(match (proxy_user, external_user) {
        (None, _) if current_user == Some(ANYBODY) => Names::Anybody,
        (None, _) => Names::Own,
        (Some(_), None) => Names::ProxiedByPassword,
        (Some(_), Some(_)) => Names::ProxiedByOther,
    })
}

/// The first value of a row, `None` for NULL, and what follows.
fn split_value(row: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    if let [NULL, rest @ ..] = row {
        return Some((None, rest));
    }
    let mut fields = Fields::new(row);
    let value = fields.lenenc_bytes().ok()?;
    Some((Some(value), fields.rest()))
}

/// What a server said to a question.
enum Answer<T> {
    Result(T),
    /// The payload of its ERR.
    Error(Vec<u8>),
    /// It closed, or said something that is neither.
    Nothing,
}

/// The packets of a result, its ends aside; the last is the row.
async fn ask(upstream: &mut Leg, sql: &[u8], capabilities: Capabilities) -> Answer<Vec<Vec<u8>>> {
    match try_ask(upstream, sql, capabilities).await {
        Some(answer) => answer,
        None => Answer::Nothing,
    }
}

async fn try_ask(upstream: &mut Leg, sql: &[u8], capabilities: Capabilities) -> Option<Answer<Vec<Vec<u8>>>> {
    // No parameters, in one set.
    let attributes: &[u8] = if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) { &[0, 1] } else { &[] };
    upstream.sequence = 0;
    upstream.write_packet(&[&[Command::Query as u8], attributes, sql].concat()).await.ok()?;
    let mut ends = if capabilities.contains(Capabilities::DEPRECATE_EOF) { 1 } else { 2 };
    let mut packets = Vec::new();
    while packets.len() < PACKETS {
        let packet = upstream.read_packet(PACKET_LIMIT).await.ok()?;
        match packet.first()? {
            0xFF => return Some(Answer::Error(packet)),
            // An OK where a result is due.
            0 if packets.is_empty() => return None,
            0xFE => ends -= 1,
            _ => packets.push(packet),
        }
        if ends == 0 {
            return Some(Answer::Result(packets));
        }
    }
    None
}

/// Anywhere in the text: an account whose name or password hash reads so is refused as well, which harms nobody else.
fn names_a_uid_method(packet: &[u8]) -> bool {
    BY_UID.iter().any(|method| contains(packet, method))
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words))
}

/// Checked: MariaDB 10.11 answers 1290 to [`METHODS`], and MySQL 9.7 answers 1396 with the name that it gives to everybody.
fn says_grant_tables_skipped(payload: &[u8]) -> bool {
    ErrPacket::decode(payload).is_ok_and(|err| match err.code {
        1290 => true,
        1396 => contains(err.message, b"'skip-grants user'@'skip-grants host'"),
        _ => false,
    })
}

#[cfg(test)]
mod tests;
