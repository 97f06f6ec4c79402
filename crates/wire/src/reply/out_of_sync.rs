//! Packets where they do not belong.

use super::*;
use crate::packet::put_packet;

const COLUMN: &[u8] = b"\x03def\0\0\0\x01x\0\x0C\x3F\0\x01\0\0\0\x08\x81\0\0\0\0";

fn follow(payloads: &[&[u8]], capabilities: Capabilities) -> Result<Stop, OutOfSync> {
    let mut tracker = ReplyTracker::new(capabilities, StatusFlags::AUTOCOMMIT);
    tracker.begin(ReplyShape::Results);
    let mut stream = Vec::new();
    payloads.iter().fold(1, |sequence, payload| put_packet(&mut stream, sequence, payload));
    tracker.advance(&stream).map(|step| step.stop)
}

#[test]
fn the_end_of_a_result_is_no_column() {
    let (ok, eof): (&[u8], &[u8]) = (&[0, 0, 0, 2, 0, 0, 0], &[0xFE, 0, 0, 2, 0]);
    let ok_for_eof: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];
    for capabilities in [Capabilities::empty(), Capabilities::DEPRECATE_EOF] {
        for end in [ok, eof, ok_for_eof] {
            assert!(follow(&[&[2], COLUMN, end], capabilities).is_err(), "{end:?}");
            assert!(follow(&[&[1], end], capabilities).is_err(), "{end:?}");
        }
        assert_eq!(follow(&[&[2], COLUMN, COLUMN], capabilities), Ok(Stop::NeedMore));
    }
    assert_eq!(follow(&[&[1], COLUMN, eof, eof], Capabilities::empty()), Ok(Stop::End));
}

/// A server that names no catalog is not known, but it would not be out of sync.
#[test]
fn a_column_of_an_empty_catalog_is_one() {
    let column = &[&[0][..], &COLUMN[4..]].concat();
    assert_eq!(follow(&[&[1], column], Capabilities::empty()), Ok(Stop::NeedMore));
}

/// Found by a fuzzer: the byte behind an empty packet was taken for its first.
#[test]
fn what_stands_behind_a_packet_is_not_its_own() {
    let empty_packet_and_an_err = [0, 0, 0, 3, 0xFF, 0x15, 0x04];
    for upto in HEADER_LENGTH..=empty_packet_and_an_err.len() {
        let mut tracker = ReplyTracker::new(Capabilities::empty(), StatusFlags::AUTOCOMMIT);
        tracker.begin(ReplyShape::Results);
        tracker.expect_behind(0);
        let followed = tracker.advance(&empty_packet_and_an_err[..upto]);
        assert_eq!(followed, Err(OutOfSync("not the reply to this command")), "{upto} bytes");
    }
}
