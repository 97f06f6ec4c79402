//! What does not fit is out of sync; nothing panics.

use super::fixtures::fixtures;
use super::*;
use crate::recorded::hex;

const SHAPES: [ReplyShape; 9] = [
    ReplyShape::None,
    ReplyShape::Simple,
    ReplyShape::Text,
    ReplyShape::Results,
    ReplyShape::Prepare,
    ReplyShape::Fields,
    ReplyShape::Rows,
    ReplyShape::BinlogEvents,
    ReplyShape::Login,
];

#[test]
fn a_packet_that_does_not_fit_is_out_of_sync() {
    for (name, shape, stream) in [
        ("nobody asked", ReplyShape::None, "07000001 00000002000000"),
        ("nobody asked, an ERR", ReplyShape::None, "03000001 ff2804"),
        ("empty", ReplyShape::Results, "00000001"),
        ("empty, of one packet", ReplyShape::Simple, "00000001"),
        ("empty among rows", ReplyShape::Rows, "00000001"),
        ("an OK that is cut", ReplyShape::Results, "02000001 0000"),
        ("an OK with a number that is none", ReplyShape::Simple, "07000001 00ff0002000000"),
        ("a result where an OK is due", ReplyShape::Simple, "01000001 02"),
        ("an EOF where a result begins", ReplyShape::Results, "05000001 fe00000200"),
        ("an EOF that is cut", ReplyShape::Rows, "02000001 fe00"),
        ("a number of columns that is cut", ReplyShape::Results, "02000001 fc01"),
        ("no EOF behind the columns", ReplyShape::Results, "01000001 01 03000002 646566 02000003 0131"),
        ("a PREPARE's reply that is cut", ReplyShape::Prepare, "05000001 0001000000"),
        ("no PREPARE's reply", ReplyShape::Prepare, "01000001 05"),
        ("a definition where a result begins", ReplyShape::Results, "05000001 0364656600"),
        ("a definition among fetched rows", ReplyShape::Rows, "05000001 0364656600"),
        ("a definition where a text is due", ReplyShape::Text, "05000001 0364656600"),
        (
            "more definitions than a PREPARE announced",
            ReplyShape::Prepare,
            "0c000001 000100000001000000000000 05000002 0364656600 05000003 0364656600",
        ),
        ("fewer of them", ReplyShape::Prepare, "0c000001 000100000001000000000000 05000002 fe00000200"),
        ("an ERR that is cut", ReplyShape::Results, "02000001 ff28"),
        ("an ERR that is cut, among events", ReplyShape::BinlogEvents, "01000001 ff"),
    ] {
        let mut tracker = ReplyTracker::new(Capabilities::empty(), StatusFlags::empty());
        tracker.begin(shape);
        let ran = run(&mut tracker, &[&hex(stream)]);
        assert!(ran.is_err(), "{name}: {ran:?}");
    }
}

#[test]
fn no_changed_byte_makes_it_panic() {
    let bytes = [0x00, 0x01, 0x7F, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
    for fixture in fixtures() {
        for (at, byte) in (0..fixture.bytes.len()).flat_map(|at| bytes.map(|byte| (at, byte))) {
            let mut changed = fixture.bytes.clone();
            changed[at] = byte;
            let _ = run(&mut begun(&fixture), &[&changed]);
        }
    }
}

#[test]
fn garbage_makes_it_stop_or_wait() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        // xorshift: the same bytes each time.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for round in 0..20_000 {
        let mut garbage: Vec<u8> = (0..64).map(|_| random() as u8).collect();
        // Small packets, so that there are several.
        if round % 2 == 0 {
            garbage[1..3].fill(0);
            garbage[0] %= 16;
        }
        let capabilities = if round % 3 == 0 { Capabilities::all() } else { Capabilities::empty() };
        let mut tracker = ReplyTracker::new(capabilities, StatusFlags::empty());
        tracker.begin(SHAPES[round % SHAPES.len()]);
        let _ = run(&mut tracker, &[&garbage[..random() as usize % 64], &garbage]);
    }
}
