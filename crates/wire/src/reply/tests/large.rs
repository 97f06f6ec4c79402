//! Rows of one packet and more, made from a recorded result: their first bytes are those of an EOF, and their second
//! packets have no head of their own.

use super::fixtures::fixture;
use super::*;
use crate::packet::{MAX_PAYLOAD, put_packet};
use crate::put_lenenc_bytes;

#[test]
fn a_row_is_a_row_whatever_it_begins_with() {
    let value = |length: usize| {
        let mut row = Vec::new();
        put_lenenc_bytes(&mut row, &vec![b'x'; length]);
        row
    };
    let payload = |length: usize| value(length - 4);
    let mut rows = vec![
        ("an empty value", vec![0x00]),
        ("NULL", vec![0xFB]),
        ("0xFC", value(251)),
        ("0xFD", value(65_536)),
        // A binary row.
        ("0x00", vec![0, 0, 1, 0, 0, 0]),
    ];
    for (name, length) in [
        ("one byte less than a full packet", MAX_PAYLOAD - 1),
        ("a full packet and an empty one", MAX_PAYLOAD),
        ("a full packet and one byte", MAX_PAYLOAD + 1),
    ] {
        rows.push((name, payload(length)));
        assert_eq!(rows.last().map(|(_, row)| row.len()), Some(length));
    }
    rows.push(("0xFE, a value of 16 MiB", value(1 << 24)));
    rows.push(("0xFE, three packets", value(2 * MAX_PAYLOAD + 5)));
    for mode in ["mysql", "mysql-ok"] {
        for (name, row) in &rows {
            row_between(mode, name, row);
        }
    }
}

/// Puts the row before the end of a recorded result with one row.
fn row_between(mode: &str, name: &str, row: &[u8]) {
    let fixture = fixture(mode, "rows_1");
    let end = if mode == "mysql" { 4 + 5 } else { 4 + 7 };
    let (start, end) = fixture.bytes.split_at(fixture.bytes.len() - end);
    let mut stream = start.to_vec();
    put_packet(&mut stream, 7, row);
    let row_at = start.len();
    stream.extend_from_slice(end);
    let whole = stream.len();
    stream.extend_from_slice(NEXT);

    // Cut at the headers, around each, and in pieces of a read.
    let mut cuts: Vec<usize> = (row_at.saturating_sub(2)..row_at + 12).collect();
    cuts.extend((1..4).flat_map(|n| {
        let boundary = row_at + n * (MAX_PAYLOAD + 4);
        boundary - 2..boundary + 12
    }));
    cuts.retain(|&cut| cut < whole);
    cuts.extend(whole.saturating_sub(20)..=whole);
    for cut in cuts {
        let mut tracker = begun(&fixture);
        // Fed from a slice that moves on, so that no bytes are copied.
        let (mut at, mut stop) = (0, Stop::NeedMore);
        for upto in [cut, stream.len()] {
            let step = tracker.advance(&stream[at..upto]).unwrap_or_else(|error| panic!("{mode} {name}: {error}"));
            at += step.consumed;
            stop = step.stop;
            if stop == Stop::End {
                break;
            }
        }
        assert_eq!((at, stop), (whole, Stop::End), "{mode} {name} cut at {cut}");
        assert_eq!(tracker.rows, 2, "{mode} {name} cut at {cut}");
    }
}

#[test]
fn an_event_of_the_binlog_may_be_as_large() {
    let mut stream = Vec::new();
    put_packet(&mut stream, 1, &vec![0; MAX_PAYLOAD]);
    // A full event whose continuation looks like an EOF.
    put_packet(&mut stream, 3, &[&vec![0; MAX_PAYLOAD][..], &[0xFE, 0, 0, 2, 0]].concat());
    put_packet(&mut stream, 5, &[0xFE, 0, 0, 2, 0]);
    let mut tracker = ReplyTracker::new(Capabilities::empty(), StatusFlags::empty());
    tracker.begin(ReplyShape::BinlogEvents);
    assert_eq!(run(&mut tracker, &[&stream]), Ok(vec![(stream.len(), Stop::End)]));
}
