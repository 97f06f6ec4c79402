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

use wire::{Capabilities, Command, Greeting};

use crate::leg::Leg;
use crate::shared::Shared;
use crate::upstream::UpstreamAddress;

/// Every account may ask this about itself.
const METHODS: &[u8] = b"SHOW CREATE USER CURRENT_USER()";
/// The account that was authenticated, where the session goes by another one's name: NULL if it does not.
const PROXY_USER: &[u8] = b"SELECT @@proxy_user";
/// A row of one NULL.
const NULL_ROW: &[u8] = &[0xFB];

/// MariaDB's plugin, and MySQL's of the same kind.
const BY_UID: [&[u8]; 2] = [b"unix_socket", b"auth_socket"];

/// An answer has a handful of packets; one is as long as an account's methods.
const PACKETS: usize = 16;
const PACKET_LIMIT: usize = 64 * 1024;

/// What a server told about the account that is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    ByProofOnly,
    /// The peer's uid is one of its methods.
    ByUid,
    /// No answer, or an error: not known, and so not trusted.
    Nothing,
}

/// Only over a Unix socket does a server see our uid. MySQL goes on to a second factor only with clients that know of
/// such.
pub(crate) fn may_have_let_us_in(shared: &Shared, greeting: &Greeting, capabilities: Capabilities) -> bool {
    matches!(shared.upstream.settings.address, UpstreamAddress::Unix(_))
        && (greeting.is_mariadb() || capabilities.contains(Capabilities::MULTI_FACTOR_AUTHENTICATION))
}

/// Asks, on a leg that has just been logged in. Not cancel safe: the leg is then of no use.
pub(crate) async fn look(upstream: &mut Leg, capabilities: Capabilities) -> Told {
    let Some(methods) = ask(upstream, METHODS, capabilities).await else { return Told::Nothing };
    if methods.iter().any(|packet| names_a_uid_method(packet)) {
        return Told::ByUid;
    }
    // Of an account that stands in for another, what was shown is the other's.
    match ask(upstream, PROXY_USER, capabilities).await {
        Some(packets) if packets.last().is_some_and(|row| row == NULL_ROW) => Told::ByProofOnly,
        Some(_) | None => Told::Nothing,
    }
}

/// The packets of a result, its ends aside; the last is the row.
async fn ask(upstream: &mut Leg, sql: &[u8], capabilities: Capabilities) -> Option<Vec<Vec<u8>>> {
    // No parameters, in one set.
    let attributes: &[u8] = if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) { &[0, 1] } else { &[] };
    upstream.sequence = 0;
    upstream.write_packet(&[&[Command::Query as u8], attributes, sql].concat()).await.ok()?;
    let mut ends = if capabilities.contains(Capabilities::DEPRECATE_EOF) { 1 } else { 2 };
    let mut packets = Vec::new();
    while packets.len() < PACKETS {
        let packet = upstream.read_packet(PACKET_LIMIT).await.ok()?;
        match packet.first()? {
            0xFF => return None,
            // An OK where a result is due.
            0 if packets.is_empty() => return None,
            0xFE => ends -= 1,
            _ => packets.push(packet),
        }
        if ends == 0 {
            return Some(packets);
        }
    }
    None
}

/// Anywhere in the text: an account whose name or password hash reads so is refused as well, which harms nobody else.
fn names_a_uid_method(packet: &[u8]) -> bool {
    BY_UID.iter().any(|method| packet.windows(method.len()).any(|text| text.eq_ignore_ascii_case(method)))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use wire::packet::put_packet;

    use super::*;
    use crate::transport::Transport;

    async fn answered(methods: &[&[u8]], proxy_user: &[&[u8]], capabilities: Capabilities) -> Told {
        let (mut far, near) = tokio::io::duplex(1 << 16);
        let mut bytes = Vec::new();
        for answer in [methods, proxy_user] {
            for (packet, sequence) in answer.iter().zip(1..) {
                put_packet(&mut bytes, sequence, packet);
            }
        }
        far.write_all(&bytes).await.unwrap();
        far.shutdown().await.unwrap();
        look(&mut Leg::new(Transport::Boxed(Box::new(near))), capabilities).await
    }

    #[tokio::test]
    async fn what_is_not_surely_a_proof_is_not_trusted() {
        let column: &[u8] = b"\x03def\x00\x00\x00\x11CREATE USER for u@%";
        let (count, eof, end): (&[u8], &[u8], &[u8]) = (b"\x01", b"\xFE\0\0\x02\0", b"\xFE\0\0\x02\0\0\0");
        let native: &[u8] = b"\x50CREATE USER `u`@`%` IDENTIFIED VIA mysql_native_password USING '*94BD'";
        let both: &[u8] =
            b"\x60CREATE USER `u`@`%` IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket";
        let mapped: &[u8] = b"\x60CREATE USER `u`@`%` IDENTIFIED VIA ed25519 USING 'x' OR Unix_Socket USING 'other'";
        let second: &[u8] =
            b"\x60CREATE USER `u`@`%` IDENTIFIED WITH 'x' AS 'x' AND IDENTIFIED WITH 'auth_socket' AS 'o'";
        let (old, new) = (Capabilities::empty(), Capabilities::DEPRECATE_EOF);
        let (none_old, none): (&[&[u8]], &[&[u8]]) =
            (&[count, column, eof, NULL_ROW, eof], &[count, column, NULL_ROW, end]);
        for (methods, proxy_user, capabilities, expected) in [
            (&[count, column, eof, native, eof][..], none_old, old, Told::ByProofOnly),
            (&[count, column, native, end], none, new, Told::ByProofOnly),
            (&[count, column, eof, both, eof], none_old, old, Told::ByUid),
            (&[count, column, both, end], none, new, Told::ByUid),
            (&[count, column, mapped, end], none, new, Told::ByUid),
            (&[count, column, second, end], none, new, Told::ByUid),
            (&[count, column, native, end], &[count, column, b"\x0A'other'@'%'", end], new, Told::Nothing),
            (&[count, column, native, end], &[count, column, end], new, Told::Nothing),
            (&[count, column, native, end], &[], new, Told::Nothing),
            (&[b"\xFF\x1C\x07#HY000You must reset your password"], none, new, Told::Nothing),
            (&[b"\0\0\0\x02\0\0\0"], none, new, Told::Nothing),
            (&[count, column, native], &[], new, Told::Nothing),
            (&[], &[], new, Told::Nothing),
        ] {
            assert_eq!(answered(methods, proxy_user, capabilities).await, expected, "{methods:?} {proxy_user:?}");
        }
    }
}
