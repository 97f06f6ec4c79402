//! Rows of 16 MiB and more, whose packets continue each other.

use super::*;
use crate::packet::{MAX_PAYLOAD, put_packet};

const COLUMN: &[u8] = b"\x03def\0\0\0\x01x\0\x0C\x3F\0\x01\0\0\0\x08\x81\0\0\0\0";

/// What stands in a continuation may look like anything, an ERR or an EOF too.
#[test]
fn what_continues_a_row_is_not_looked_at() {
    for deprecate_eof in [false, true] {
        for (length, filling) in [(MAX_PAYLOAD - 1, 7), (MAX_PAYLOAD, 0xFE), (MAX_PAYLOAD + 5, 0xFF)] {
            let capabilities = if deprecate_eof { Capabilities::DEPRECATE_EOF } else { Capabilities::empty() };
            let mut row = vec![filling; length];
            // The length of a value of 16 MiB and more begins as an EOF does.
            row[0] = 0xFE;
            if length < MAX_PAYLOAD {
                row[0] = 0xFD;
            }
            let mut stream = Vec::new();
            let mut sequence = put_packet(&mut stream, 1, &[1]);
            sequence = put_packet(&mut stream, sequence, COLUMN);
            if !deprecate_eof {
                sequence = put_packet(&mut stream, sequence, &[0xFE, 0, 0, 2, 0]);
            }
            sequence = put_packet(&mut stream, sequence, &row);
            put_packet(&mut stream, sequence, &[0xFE, 0, 0, 2, 0, 0, 0]);

            for chunk in [65_536, 1 << 20, stream.len()] {
                let mut tracker = ReplyTracker::new(capabilities, StatusFlags::AUTOCOMMIT);
                tracker.begin(ReplyShape::Results);
                let (mut from, mut to) = (0, 0);
                loop {
                    to = (to + chunk).min(stream.len());
                    let step = tracker.advance(&stream[from..to]).expect("in sync");
                    from += step.consumed;
                    if step.stop == Stop::End {
                        break;
                    }
                    assert!(to < stream.len(), "it ends with its stream");
                }
                assert_eq!((from, tracker.rows), (stream.len(), 1), "{length} in chunks of {chunk}");
            }
        }
    }
}
