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
    shapes: Vec<ReplyShape>,
    stream: Vec<u8>,
    cuts: Vec<usize>,
}

#[derive(Debug, PartialEq, Eq)]
struct Followed {
    end: End,
    passed: Vec<u8>,
    status: StatusFlags,
    /// Of each reply: its error, its rows, what it prepared, its last sequence number.
    replies: Vec<(Option<u16>, u64, Option<PrepareOk>, u8)>,
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
    'replies: for &shape in &script.shapes {
        tracker.begin(shape);
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
        replies.push((tracker.error, tracker.rows, tracker.prepared, tracker.sequence));
    }
    Followed { end, passed, status: tracker.status, replies }
}

impl<'a> Arbitrary<'a> for Script {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Script> {
        let mut capabilities = Capabilities::PROTOCOL_41;
        for capability in
            [Capabilities::DEPRECATE_EOF, Capabilities::SESSION_TRACK, Capabilities::OPTIONAL_RESULTSET_METADATA]
        {
            capabilities.set(capability, input.arbitrary()?);
        }
        let shapes = (0..input.int_in_range(1..=4)?).map(|_| shape(input)).collect::<Result<_>>()?;
        let cuts = (0..input.int_in_range(1..=4)?).map(|_| input.int_in_range(1..=40)).collect::<Result<_>>()?;
        let mut stream = Vec::new();
        let mut sequence = 0;
        while !input.is_empty() && stream.len() < 4096 {
            sequence = if input.ratio(1, 16)? { input.arbitrary()? } else { u8::wrapping_add(sequence, 1) };
            packet(input, sequence, &mut stream)?;
        }
        // Cut somewhere, so that streams end within packets too.
        if input.arbitrary().unwrap_or(false) {
            stream.pop();
        }
        Ok(Script { capabilities, shapes, stream, cuts })
    }
}

fn shape(input: &mut Unstructured<'_>) -> Result<ReplyShape> {
    Ok(*input.choose(&[
        ReplyShape::None,
        ReplyShape::Simple,
        ReplyShape::Text,
        ReplyShape::Results,
        ReplyShape::Results,
        ReplyShape::Prepare,
        ReplyShape::Rows,
        ReplyShape::BinlogEvents,
    ])?)
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
