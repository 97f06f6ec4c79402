//! Replies cut anywhere: never a panic, never a standstill, and what the tracker finds does not depend on the cuts.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use wire::packet::{HEADER_LENGTH, Header, MAX_PAYLOAD};
use wire::{Capabilities, OutOfSync, PrepareOk, ReplyShape, ReplyTracker, StatusFlags, Stop, without_redirect};

fuzz_target!(|script: Script| {
    let whole = follow(&script, &[script.stream.len()]);
    let cut = follow(&script, &script.cuts);
    let ones = follow(&script, &[1]);
    for other in [cut, ones] {
        assert_eq!(other.end, whole.end, "{script:?}");
        match whole.end {
            // Before an error less has been passed on where the bytes came at once; nothing else than otherwise.
            End::OutOfSync(_) => assert!(other.passed.starts_with(&whole.passed)),
            End::Short | End::AllAnswered => assert_eq!(other, whole, "{script:?}"),
        }
    }
});

#[derive(Debug)]
struct Script {
    capabilities: Capabilities,
    commands: Vec<Sent>,
    stream: Vec<u8>,
    cuts: Vec<usize>,
}

/// A command, as far as its reply depends on it.
#[derive(Debug, Clone, Copy)]
struct Sent {
    shape: ReplyShape,
    asks_for_cursor: bool,
    /// The number of its last packet.
    behind: Option<u8>,
}

#[derive(Debug, PartialEq, Eq)]
struct Followed {
    end: End,
    passed: Vec<u8>,
    status: StatusFlags,
    /// Of each reply: its error, its rows, what it prepared, its last sequence number, whether it was out of step.
    replies: Vec<(Option<u16>, u64, Option<PrepareOk>, u8, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    AllAnswered,
    /// The stream ended within a reply.
    Short,
    OutOfSync(OutOfSync),
}

/// As the session does it, with a growing window over the stream.
fn follow(script: &Script, cuts: &[usize]) -> Followed {
    let mut tracker = ReplyTracker::new(script.capabilities, StatusFlags::AUTOCOMMIT);
    let (mut from, mut to) = (0, 0);
    let mut cuts = cuts.iter().copied().cycle();
    let mut passed = Vec::new();
    let mut replies = Vec::new();
    let mut end = End::AllAnswered;
    'replies: for &Sent { shape, asks_for_cursor, behind } in &script.commands {
        tracker.begin(shape);
        if asks_for_cursor {
            tracker.expect_cursor();
        }
        if let Some(sequence) = behind {
            tracker.expect_behind(sequence);
        }
        if shape == ReplyShape::None {
            continue;
        }
        loop {
            let input = &script.stream[from..to];
            let step = match tracker.advance(input) {
                Ok(step) => step,
                Err(error) => {
                    end = End::OutOfSync(error);
                    break 'replies;
                }
            };
            assert!(step.consumed <= input.len());
            passed.extend_from_slice(&input[..step.consumed]);
            from += step.consumed;
            let rest = &script.stream[from..to];
            let mut stop = step.stop;
            match stop {
                // A longer rest that cannot be judged would wait for ever in a full buffer.
                Stop::NeedMore => assert!(rest.len() < HEADER_LENGTH + 23, "{script:?}"),
                Stop::NeedWhole(length) => assert!(rest.len() < length && length <= HEADER_LENGTH + MAX_PAYLOAD),
                Stop::Redirect(length) => {
                    let packet = &rest[..length];
                    let payload = without_redirect(&packet[HEADER_LENGTH..], script.capabilities);
                    passed.extend_from_slice(&payload.expect("something to take out"));
                    match tracker.pass_packet(packet) {
                        Ok(then) => stop = then,
                        Err(error) => {
                            end = End::OutOfSync(error);
                            break 'replies;
                        }
                    }
                    from += length;
                }
                Stop::LocalInfile | Stop::End => {}
            }
            if stop == Stop::End {
                assert!(tracker.is_idle());
                break;
            }
            if matches!(stop, Stop::LocalInfile) || step.stop != stop && stop == Stop::NeedMore {
                continue;
            }
            if to == script.stream.len() {
                end = End::Short;
                break 'replies;
            }
            to = (to + cuts.next().unwrap_or(1).max(1)).min(script.stream.len());
        }
        replies.push((tracker.error, tracker.rows, tracker.prepared, tracker.sequence, tracker.out_of_step));
    }
    Followed { end, passed, status: tracker.status, replies }
}

/// The bits of an input's first byte. Those of MariaDB stand above MySQL's 32.
const CAPABILITIES: [Capabilities; 6] = [
    Capabilities::DEPRECATE_EOF,
    Capabilities::SESSION_TRACK,
    Capabilities::OPTIONAL_RESULTSET_METADATA,
    Capabilities::MARIADB_PROGRESS,
    Capabilities::MARIADB_CACHE_METADATA,
    Capabilities::MARIADB_EXTENDED_METADATA.union(Capabilities::MARIADB_STMT_BULK_OPERATIONS),
];

const SHAPES: [ReplyShape; 9] = [
    ReplyShape::None,
    ReplyShape::Simple,
    ReplyShape::Text,
    ReplyShape::Results,
    ReplyShape::Prepare,
    ReplyShape::Fields,
    ReplyShape::Rows,
    ReplyShape::BinlogEvents,
    // Not followed by the tracker: nothing may come while it lasts.
    ReplyShape::Login,
];

/// A byte each for the capabilities and what the stream is made of (`seeds.rs` writes packets as they were recorded),
/// then the commands, the cuts, and the stream.
impl<'a> Arbitrary<'a> for Script {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Script> {
        let flags: u8 = input.arbitrary()?;
        let mut capabilities = Capabilities::PROTOCOL_41;
        for (bit, capability) in CAPABILITIES.into_iter().enumerate() {
            capabilities.set(capability, flags >> bit & 1 != 0);
        }
        let is_recorded = u8::arbitrary(input)? == 1;
        let count = u8::arbitrary(input)? % 4 + 1;
        let commands = (0..count).map(|_| sent(input)).collect::<Result<_>>()?;
        let count = u8::arbitrary(input)? % 4 + 1;
        let cuts = (0..count).map(|_| Ok(usize::from(u8::arbitrary(input)? % 40) + 1)).collect::<Result<_>>()?;
        let stream = if is_recorded { input.bytes(input.len())?.to_vec() } else { stream(input)? };
        Ok(Script { capabilities, commands, stream, cuts })
    }
}

fn sent(input: &mut Unstructured<'_>) -> Result<Sent> {
    let [shape, flags]: [u8; 2] = input.arbitrary()?;
    Ok(Sent {
        // Most replies in the field are results.
        shape: *SHAPES.get(usize::from(shape % 16)).unwrap_or(&ReplyShape::Results),
        asks_for_cursor: flags & 1 != 0,
        behind: (flags & 2 != 0).then_some(flags >> 2),
    })
}

fn stream(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let (mut stream, mut sequence) = (Vec::new(), 0);
    while !input.is_empty() && stream.len() < 4096 {
        sequence = if input.ratio(1, 16)? { input.arbitrary()? } else { u8::wrapping_add(sequence, 1) };
        packet(input, sequence, &mut stream)?;
    }
    // Cut somewhere, so that streams end within packets too.
    if input.arbitrary().unwrap_or(false) {
        stream.pop();
    }
    Ok(stream)
}

/// Packets that mean something are likely; any other bytes are possible.
fn packet(input: &mut Unstructured<'_>, sequence: u8, out: &mut Vec<u8>) -> Result<()> {
    const STATUS: [u8; 6] = [0x02, 0x0A, 0x42, 0x82, 0x22, 0x00];
    let mut payload = match input.int_in_range(0..=9)? {
        0 => vec![0x00, 0, 0, *input.choose(&STATUS)?, *input.choose(&[0, 0x40])?, 0, 0],
        1 => vec![0xFE, 0, 0, *input.choose(&STATUS)?, 0],
        2 => vec![0xFE, 0, 0, *input.choose(&STATUS)?, 0x40, 0, 0],
        3 => b"\xFF\x15\x04#28000no".to_vec(),
        4 => b"\xFF\xFF\xFF\x01\x02\x03".to_vec(),
        5 => vec![input.int_in_range(0..=4)?],
        6 => vec![0, 1, 0, 0, 0, input.int_in_range(0..=3)?, 0, input.int_in_range(0..=3)?, 0, 0, 0, 0],
        7 => b"\x00\x00\x00\x02\x40\x00\x00\x00\x15\x00\x13\x0credirect_url\x05mysql".to_vec(),
        8 => Vec::new(),
        _ => b"\x03def\x01x".to_vec(),
    };
    let more = input.int_in_range(0..=24)?;
    if input.ratio(1, 3)? {
        payload.extend_from_slice(input.bytes(more.min(input.len()))?);
    }
    // The length may lie. Packets that are really full would take all the time; tests beside the tracker have them.
    let length = if input.ratio(1, 32)? { *input.choose(&[0, 1, 30, 300, MAX_PAYLOAD])? } else { payload.len() };
    out.extend_from_slice(&Header { length, sequence }.bytes());
    out.extend_from_slice(&payload);
    Ok(())
}
