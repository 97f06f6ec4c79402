//! `redirect_url` is taken out wherever an OK can stand, and the reply goes on behind it.

use wire::{Capabilities, put_lenenc_bytes};

use super::pair::{Bench, packet};
use crate::counters::Counter;

const TRACK: Capabilities = Capabilities::SESSION_TRACK;
const TRACK_OK: Capabilities = TRACK.union(Capabilities::DEPRECATE_EOF);
const MORE: u8 = 8;
const CHANGED: u8 = 0x40;

fn variable(name: &[u8], value: &[u8]) -> Vec<u8> {
    let (mut pair, mut entry) = (Vec::new(), vec![0]);
    put_lenenc_bytes(&mut pair, name);
    put_lenenc_bytes(&mut pair, value);
    put_lenenc_bytes(&mut entry, &pair);
    entry
}

/// An OK as the server sends it, and as the client must get it.
fn redirect(header: u8, status: u8, also: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let ok = |state: &[u8]| {
        let changed = if state.is_empty() { 0 } else { CHANGED };
        let mut payload = vec![header, 0, 0, 2 | status, changed, 0, 0, 0];
        if !state.is_empty() {
            put_lenenc_bytes(&mut payload, state);
        }
        payload
    };
    let elsewhere = variable(b"redirect_url", b"mysql://elsewhere:3306/");
    (ok(&[also, &elsewhere].concat()), ok(also))
}

#[tokio::test(start_paused = true)]
async fn is_stripped_in_every_place_of_an_ok() {
    let bench = Bench::new();
    let columns = [packet(1, &[1]), packet(2, b"\x03def")].concat();
    let row = packet(3, b"\x011");
    let also = variable(b"autocommit", b"ON");
    let ok = packet(9, &[0, 0, 0, 2, 0, 0, 0, 0]);
    let result_after = [columns.clone(), row.clone(), packet(4, &[0xFE, 0, 0, 2, 0, 0, 0])].concat();
    let rows = [columns, row].concat();
    for (name, command, capabilities, before, (sent, due), after) in [
        ("COM_PING", &b"\x0E"[..], TRACK, &b""[..], redirect(0, 0, b""), &b""[..]),
        ("COM_QUERY", b"\x03DO 1", TRACK, b"", redirect(0, 0, &also), b""),
        ("COM_INIT_DB", b"\x02x", TRACK_OK, b"", redirect(0, 0, b""), b""),
        ("COM_SET_OPTION", b"\x1B\0\0", TRACK_OK, b"", redirect(0xFE, 0, b""), b""),
        ("COM_RESET_CONNECTION", b"\x1F", TRACK, b"", redirect(0, 0, b""), b""),
        ("behind rows", b"\x03SELECT 1", TRACK_OK, &rows, redirect(0xFE, 0, &also), b""),
        ("between results", b"\x03SELECT 1; SELECT 1", TRACK_OK, &rows, redirect(0xFE, MORE, b""), &result_after),
        ("before a result", b"\x03DO 1; SELECT 1", TRACK_OK, b"", redirect(0, MORE, b""), &result_after),
        ("before an OK", b"\x03DO 1; DO 2", TRACK, b"", redirect(0, MORE, b""), &ok),
        ("COM_STMT_EXECUTE", b"\x17\x01\0\0\0\0\x01\0\0\0", TRACK_OK, &rows, redirect(0xFE, 0, b""), b""),
        ("COM_STMT_FETCH", b"\x1C\x01\0\0\0\x01\0\0\0", TRACK_OK, b"", redirect(0xFE, 0, b""), b""),
    ] {
        let mut pair = bench.session(capabilities);
        let command = packet(0, command);
        let number = if before.is_empty() { 1 } else { 4 };
        let reply = [before, &packet(number, &sent), after].concat();
        let passed = [before, &packet(number, &due), after].concat();
        // At once, and in two parts.
        for cut in 0..reply.len() {
            pair.name = format!("{name}, cut at {cut}");
            pair.client_sends(&command).await;
            pair.upstream_gets(&command).await;
            pair.upstream_sends(&reply[..cut]).await;
            tokio::task::yield_now().await;
            pair.upstream_sends(&reply[cut..]).await;
            pair.client_gets(&passed).await;
        }
        pair.is_in_sync().await;
        assert!(bench.count(Counter::RedirectsStripped) > 0);
    }
}
