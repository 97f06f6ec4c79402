use tokio::io::AsyncWriteExt;
use wire::packet::put_packet;

use super::*;
use crate::transport::Transport;

/// A leg to a server that gives these answers. Also the server's end, which must live as long.
async fn answering(answers: &[&[&[u8]]]) -> (Leg, tokio::io::DuplexStream) {
    let (mut far, near) = tokio::io::duplex(1 << 16);
    let mut bytes = Vec::new();
    for answer in answers {
        for (packet, sequence) in answer.iter().zip(1..) {
            put_packet(&mut bytes, sequence, packet);
        }
    }
    far.write_all(&bytes).await.unwrap();
    far.shutdown().await.unwrap();
    (Leg::new(Transport::Boxed(Box::new(near))), far)
}

const COUNT: &[u8] = b"\x01";
const COUNT_3: &[u8] = b"\x03";
const COLUMN: &[u8] = b"\x03def\x00\x00\x00\x11CREATE USER for u@%";
const EOF: &[u8] = b"\xFE\0\0\x02\0";
const END: &[u8] = b"\xFE\0\0\x02\0\0\0";
const OWN: &[&[u8]] = &[COUNT_3, COLUMN, COLUMN, COLUMN, b"\xFB\xFB\x03u@%", END];
const NATIVE: &[u8] = b"\x50CREATE USER `u`@`%` IDENTIFIED VIA mysql_native_password USING '*94BD'";

#[tokio::test]
async fn account_without_certain_proof_is_refused() {
    let both: &[u8] = b"\x60CREATE USER `u`@`%` IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket";
    let mapped: &[u8] = b"\x60CREATE USER `u`@`%` IDENTIFIED VIA ed25519 USING 'x' OR Unix_Socket USING 'other'";
    let second: &[u8] = b"\x60CREATE USER `u`@`%` IDENTIFIED WITH 'x' AS 'x' AND IDENTIFIED WITH 'auth_socket' AS 'o'";
    let (old, new) = (Capabilities::empty(), Capabilities::DEPRECATE_EOF);
    let own_old: &[&[u8]] = &[COUNT_3, COLUMN, COLUMN, COLUMN, EOF, b"\xFB\xFB\x03u@%", EOF];
    let own_external: &[&[u8]] = &[COUNT_3, COLUMN, COLUMN, COLUMN, b"\xFB\x04ldap\x03u@%", END];
    let (proven, by_uid, unknown) = (Ok(()), Err(Unproven::PeerUid), Err(Unproven::Unknown));
    for (names, methods, capabilities, expected) in [
        (own_old, &[COUNT, COLUMN, EOF, NATIVE, EOF][..], old, proven),
        (OWN, &[COUNT, COLUMN, NATIVE, END], new, proven),
        (own_external, &[COUNT, COLUMN, NATIVE, END], new, proven),
        (own_old, &[COUNT, COLUMN, EOF, both, EOF], old, by_uid),
        (OWN, &[COUNT, COLUMN, both, END], new, by_uid),
        (OWN, &[COUNT, COLUMN, mapped, END], new, by_uid),
        (OWN, &[COUNT, COLUMN, second, END], new, by_uid),
        (&[COUNT_3, COLUMN, COLUMN, COLUMN, END], &[COUNT, COLUMN, NATIVE, END], new, unknown),
        (OWN, &[b"\xFF\x1C\x07#HY000You must reset your password"], new, unknown),
        (OWN, &[b"\0\0\0\x02\0\0\0"], new, unknown),
        (OWN, &[COUNT, COLUMN, NATIVE], new, unknown),
        (OWN, &[], new, unknown),
        (&[], &[], new, unknown),
    ] {
        let (mut leg, _far) = answering(&[names, methods]).await;
        let found = check_account(&mut leg, true, capabilities).await;
        assert_eq!(found, expected, "{names:?} {methods:?}");
    }
}

#[tokio::test]
async fn proxied_account_is_proven_by_null_external_user_on_mysql() {
    let (proven, unknown) = (Ok(()), Err(Unproven::Unknown));
    for (row, is_mariadb, expected) in [
        (&b"\x0B'other'@'%'\xFB\x03u@%"[..], false, proven),
        (b"\x0B'other'@'%'\xFB\x03u@%", true, unknown),
        (b"\x0B'other'@'%'\x08tollgate\x03u@%", false, unknown),
        (b"\x0B'other'@'%'\x00\x03u@%", false, unknown),
        (b"\x0B'other'@'%'\xFB\x03u@%\xFB", false, unknown),
        (b"\x0B'other'@'%'\xFB", false, unknown),
        (b"\x0B'oth", false, unknown),
        (b"\xFB\xFB\x21skip-grants user@skip-grants host", false, Err(Unproven::GrantTablesSkipped)),
    ] {
        let names: &[&[u8]] = &[COUNT_3, COLUMN, COLUMN, COLUMN, row, END];
        // The methods shown would be the other account's.
        let (mut leg, _far) = answering(&[names, &[COUNT, COLUMN, NATIVE, END]]).await;
        let found = check_account(&mut leg, is_mariadb, Capabilities::DEPRECATE_EOF).await;
        assert_eq!(found, expected, "{row:02x?} {is_mariadb}");
    }
}

#[tokio::test]
async fn account_of_one_method_is_refused_without_grant_tables_only() {
    let cases = [
        (OWN, Ok(())),
        (&[b"\xFF\x1C\x07#HY000You must reset your password"], Ok(())),
        (
            &[COUNT_3, COLUMN, COLUMN, COLUMN, b"\xFB\xFB\x21skip-grants user@skip-grants host", END],
            Err(Unproven::GrantTablesSkipped),
        ),
        (&[], Err(Unproven::Unknown)),
    ];
    for (answer, expected) in cases {
        let (mut leg, _far) = answering(&[answer]).await;
        assert_eq!(check_grant_tables(&mut leg, Capabilities::DEPRECATE_EOF).await, expected, "{answer:?}");
    }
}

#[test]
fn skipped_grant_tables_are_recognized_by_the_error() {
    for (message, code, expected) in [
        ("The MariaDB server is running with the --skip-grant-tables option", 1290, true),
        ("Operation SHOW CREATE USER failed for 'skip-grants user'@'skip-grants host' (…)", 1396, true),
        ("Operation SHOW CREATE USER failed for 'u'@'%'", 1396, false),
        ("You must reset your password", 1820, false),
    ] {
        let payload = ErrPacket::encode(code, b"HY000", message, Capabilities::PROTOCOL_41);
        assert_eq!(says_grant_tables_skipped(&payload), expected, "{message}");
    }
    assert!(!says_grant_tables_skipped(b"\xFF"));
}
