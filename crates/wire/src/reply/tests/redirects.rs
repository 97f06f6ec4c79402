//! An OK that sends the client elsewhere is found wherever an OK can stand.

use super::fixtures::fixture;
use super::*;
use crate::packet::put_packet;
use crate::put_lenenc_bytes;

const TRACK: Capabilities = Capabilities::SESSION_TRACK;
const TRACK_OK: Capabilities = TRACK.union(Capabilities::DEPRECATE_EOF);

/// An OK with `redirect_url` among its session state.
fn redirect(header: u8, status: StatusFlags) -> Vec<u8> {
    let (mut variable, mut entry) = (Vec::new(), vec![0]);
    put_lenenc_bytes(&mut variable, b"redirect_url");
    put_lenenc_bytes(&mut variable, b"mysql://elsewhere:3306/");
    put_lenenc_bytes(&mut entry, &variable);
    let status = status | StatusFlags::SESSION_STATE_CHANGED | StatusFlags::AUTOCOMMIT;
    let mut payload = vec![header, 0, 0];
    payload.extend_from_slice(&status.bits().to_le_bytes());
    payload.extend_from_slice(&[0, 0, 0]);
    put_lenenc_bytes(&mut payload, &entry);
    payload
}

fn packet(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    put_packet(&mut packet, 1, payload);
    packet
}

#[test]
fn in_every_place_of_an_ok() {
    let (last, more) = (StatusFlags::empty(), StatusFlags::MORE_RESULTS_EXISTS);
    let result = fixture("mysql-track-ok", "rows_1").bytes;
    let up_to_its_end = &result[..result.len() - 11];
    let ok = fixture("mysql-track-ok", "ok").bytes;
    for (name, shape, capabilities, before, redirect, after) in [
        ("one OK", ReplyShape::Simple, TRACK, &b""[..], redirect(0, last), &b""[..]),
        ("an OK for an EOF", ReplyShape::Simple, TRACK_OK, b"", redirect(0xFE, last), b""),
        ("of a query", ReplyShape::Results, TRACK, b"", redirect(0, last), b""),
        ("before another", ReplyShape::Results, TRACK, b"", redirect(0, more), &ok),
        ("before rows", ReplyShape::Results, TRACK_OK, b"", redirect(0, more), &result),
        ("behind rows", ReplyShape::Results, TRACK_OK, up_to_its_end, redirect(0xFE, last), b""),
        ("between results", ReplyShape::Results, TRACK_OK, up_to_its_end, redirect(0xFE, more), &result),
        ("behind fetched rows", ReplyShape::Rows, TRACK_OK, b"", redirect(0xFE, last), b""),
    ] {
        let packet = packet(&redirect);
        let stream = [before, &packet, after].concat();
        let mut due = vec![(before.len(), Stop::Redirect(packet.len()))];
        due.push((stream.len(), Stop::End));
        for cut in 0..=stream.len() {
            let mut tracker = ReplyTracker::new(capabilities, StatusFlags::empty());
            tracker.begin(shape);
            let events = run(&mut tracker, &[&stream[..cut], &stream[cut..]]);
            assert_eq!(events.as_ref(), Ok(&due), "{name}, cut at {cut}");
            assert!(tracker.is_idle());
            assert!(tracker.status.contains(StatusFlags::AUTOCOMMIT));
        }
    }
}

#[test]
fn without_session_tracking_there_is_none_to_find() {
    let stream = packet(&redirect(0, StatusFlags::empty()));
    let mut tracker = ReplyTracker::new(Capabilities::empty(), StatusFlags::empty());
    tracker.begin(ReplyShape::Results);
    assert_eq!(run(&mut tracker, &[&stream]), Ok(vec![(stream.len(), Stop::End)]));
}
