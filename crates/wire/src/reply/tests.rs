//! Every shape of a reply, as the servers sent it, with and without DEPRECATE_EOF, however its bytes arrive.

mod complete;
mod expected;
mod fixtures;
mod large;
mod redirects;
mod refused;

use super::*;
use crate::Command;
use expected::{EXPECTED, Expected};
use fixtures::{Fixture, replies};

/// The flags that are the same on both servers.
const COMPARED: StatusFlags = StatusFlags::IN_TRANS
    .union(StatusFlags::AUTOCOMMIT)
    .union(StatusFlags::MORE_RESULTS_EXISTS)
    .union(StatusFlags::LAST_ROW_SENT);

/// What stands behind a reply: the start of the next packet, which is not this reply's.
const NEXT: &[u8] = &[0x07, 0, 0, 1, 0, 0];

#[test]
fn a_reply_gives_the_same_events_however_it_is_cut() {
    for fixture in replies() {
        let expected = Expected::of(&fixture.name);
        let stream = [fixture.bytes.as_slice(), NEXT].concat();
        for cut in 0..=stream.len() {
            check(&fixture, expected, &[&stream[..cut], &stream[cut..]]);
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        check(&fixture, expected, &bytes);
    }
}

#[test]
fn every_shape_has_a_fixture_in_both_eof_modes() {
    let fixtures: Vec<Fixture> = replies().collect();
    for expected in EXPECTED {
        for deprecate_eof in [false, true] {
            let found = fixtures.iter().any(|fixture| {
                fixture.name == expected.name
                    && fixture.capabilities.contains(Capabilities::DEPRECATE_EOF) == deprecate_eof
            });
            assert!(found || expected.name == "progress", "{}", expected.name);
        }
    }
}

fn check(fixture: &Fixture, expected: &Expected, parts: &[&[u8]]) {
    let what = format!("{} {} in {} parts, the first of {}", fixture.mode, fixture.name, parts.len(), parts[0].len());
    let mut tracker = begun(fixture);
    let events = run(&mut tracker, parts).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut due: Vec<(usize, Stop)> = fixture.turns.iter().map(|&at| (at, Stop::LocalInfile)).collect();
    due.push((fixture.bytes.len(), Stop::End));
    assert_eq!(events, due, "{what}");

    assert!(tracker.is_idle() && tracker.is_between_packets(), "{what}");
    assert_eq!(tracker.error, expected.error(fixture), "{what}");
    assert_eq!(tracker.prepared.map(|prepared| (prepared.params, prepared.columns)), expected.prepared, "{what}");
    if let Some(rows) = expected.rows(fixture) {
        assert_eq!(tracker.rows, rows, "{what}");
    }
    assert_eq!(tracker.status & COMPARED, expected.status, "{what}");
    assert_eq!(tracker.sequence, fixture.last_sequence, "{what}");
}

fn begun(fixture: &Fixture) -> ReplyTracker {
    let command = Command::from_byte(fixture.command).expect("a command");
    let mut tracker = ReplyTracker::new(fixture.capabilities, StatusFlags::AUTOCOMMIT);
    tracker.begin(command.reply_shape());
    if fixture.asks_for_cursor() {
        tracker.expect_cursor();
    }
    tracker
}

/// Feeds the parts one after the other, as a session does: what was not consumed is there again with the next part.
/// The stops that matter, each with how many bytes had passed.
fn run(tracker: &mut ReplyTracker, parts: &[&[u8]]) -> Result<Vec<(usize, Stop)>, OutOfSync> {
    let (mut events, mut unread, mut passed) = (Vec::new(), Vec::new(), 0);
    for part in parts {
        unread.extend_from_slice(part);
        loop {
            let step = tracker.advance(&unread)?;
            assert!(step.consumed <= unread.len());
            unread.drain(..step.consumed);
            passed += step.consumed;
            match step.stop {
                Stop::NeedMore => break,
                Stop::NeedWhole(length) => {
                    assert!(length > unread.len(), "it is there");
                    break;
                }
                Stop::Redirect(length) => {
                    events.push((passed, Stop::Redirect(length)));
                    let packet: Vec<u8> = unread.drain(..length).collect();
                    passed += length;
                    if tracker.pass_packet(&packet)? == Stop::End {
                        events.push((passed, Stop::End));
                        return Ok(events);
                    }
                }
                Stop::LocalInfile => events.push((passed, Stop::LocalInfile)),
                Stop::End => {
                    events.push((passed, Stop::End));
                    return Ok(events);
                }
            }
        }
    }
    Ok(events)
}
