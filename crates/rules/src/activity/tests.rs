use jiff::tz::TimeZone;

use super::*;
use crate::rule::Days;

fn active(days: u8, from: u16, to: u16, zone: &str) -> Active {
    Active { days: Days(days), from, to, tz: TimeZone::get(zone).unwrap() }
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// The moments at which it changes, within a time.
fn changes(active: &Active, from: &str, to: &str) -> Vec<String> {
    let mut changes = Vec::new();
    let mut now = at(from);
    while let Some(change) = active.next_change(now).filter(|change| *change < at(to)) {
        changes.push(format!("{} {change}", if active.is_active(change) { "+" } else { "-" }));
        now = change;
    }
    changes
}

const SUNDAY: u8 = 0b100_0000;
const SATURDAY: u8 = 0b010_0000;
const ALL: u8 = 0b111_1111;

#[test]
fn the_wall_clock_decides_when_the_clocks_change() {
    // Berlin: on 2026-03-29 02:00 becomes 03:00 (01:00 UTC), on 2026-10-25 03:00 becomes 02:00 (01:00 UTC).
    for (what, active, (from, to), expected) in [
        (
            "over the hour that is left out",
            active(SUNDAY, 60, 240, "Europe/Berlin"),
            ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"),
            &["+ 2026-03-29T00:00:00Z", "- 2026-03-29T02:00:00Z"][..],
        ),
        (
            "begins in it: at once when the clock has passed it",
            active(SUNDAY, 150, 240, "Europe/Berlin"),
            ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"),
            &["+ 2026-03-29T01:00:00Z", "- 2026-03-29T02:00:00Z"],
        ),
        (
            "ends in it",
            active(SUNDAY, 60, 150, "Europe/Berlin"),
            ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"),
            &["+ 2026-03-29T00:00:00Z", "- 2026-03-29T01:00:00Z"],
        ),
        (
            "lies in it: not that night",
            active(ALL, 125, 170, "Europe/Berlin"),
            ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"),
            &["+ 2026-03-30T00:05:00Z", "- 2026-03-30T00:50:00Z"],
        ),
        (
            "over the hour that comes twice",
            active(SUNDAY, 60, 240, "Europe/Berlin"),
            ("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z"),
            &["+ 2026-10-24T23:00:00Z", "- 2026-10-25T03:00:00Z"],
        ),
        (
            "ends in it: twice",
            active(SUNDAY, 60, 150, "Europe/Berlin"),
            ("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z"),
            &["+ 2026-10-24T23:00:00Z", "- 2026-10-25T00:30:00Z", "+ 2026-10-25T01:00:00Z", "- 2026-10-25T01:30:00Z"],
        ),
        (
            "over midnight and the change: of Saturday, into Sunday",
            active(SATURDAY, 23 * 60, 4 * 60, "Europe/Berlin"),
            ("2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z"),
            &["+ 2026-03-28T22:00:00Z", "- 2026-03-29T02:00:00Z"],
        ),
        (
            "to midnight, which is no boundary where the next day begins at it",
            active(ALL, 0, 1440, "Europe/Berlin"),
            ("2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z"),
            &[],
        ),
        (
            "a day and a night, from one morning to the next",
            active(SUNDAY, 480, 480, "UTC"),
            ("2026-04-18T12:00:00Z", "2026-04-21T12:00:00Z"),
            &["+ 2026-04-19T08:00:00Z", "- 2026-04-20T08:00:00Z"],
        ),
        (
            "an hour a week",
            active(SUNDAY, 0, 60, "UTC"),
            ("2026-04-12T12:00:00Z", "2026-04-27T12:00:00Z"),
            &["+ 2026-04-19T00:00:00Z", "- 2026-04-19T01:00:00Z", "+ 2026-04-26T00:00:00Z", "- 2026-04-26T01:00:00Z"],
        ),
        (
            "where the offset has half hours",
            active(SUNDAY, 480, 600, "Asia/Kolkata"),
            ("2026-04-18T12:00:00Z", "2026-04-21T12:00:00Z"),
            &["+ 2026-04-19T02:30:00Z", "- 2026-04-19T04:30:00Z"],
        ),
        (
            "where the day of the week is another",
            active(SUNDAY, 60, 120, "Pacific/Auckland"),
            ("2026-04-10T12:00:00Z", "2026-04-14T12:00:00Z"),
            &["+ 2026-04-11T13:00:00Z", "- 2026-04-11T14:00:00Z"],
        ),
        ("on no day", active(0, 60, 120, "UTC"), ("2026-04-10T12:00:00Z", "2026-06-14T12:00:00Z"), &[]),
    ] {
        assert_eq!(changes(&active, from, to), expected, "{what}");
    }
}

#[test]
fn an_answer_is_remembered_until_it_changes() {
    let active = active(ALL, 480, 600, "Europe/Berlin");
    let remembered = Activity::default();
    for (now, expected) in [
        ("2026-04-17T06:00:00Z", true),
        ("2026-04-17T07:59:59.999Z", true),
        ("2026-04-17T08:00:00Z", false),
        ("2026-04-17T07:59:59.999Z", true),
        ("2026-04-17T05:59:59.999Z", false),
        ("1969-12-31T07:30:00Z", true),
        ("9999-12-30T06:30:00Z", false),
    ] {
        for _ in 0..2 {
            assert_eq!(remembered.is_active(&active, at(now)), expected, "{now}");
        }
    }
    let minute = |text: &str| u64::try_from(at(text).0 / MINUTE).unwrap();
    remembered.is_active(&active, at("2026-04-17T06:30:00Z"));
    let (from, until) = (minute("2026-04-17T06:00:00Z"), minute("2026-04-17T08:00:00Z"));
    assert_eq!(remembered.remembered.load(Ordering::Relaxed), from << 32 | until << 1 | 1);
}

#[test]
fn any_moment_has_an_answer() {
    let active = active(ALL, 480, 600, "Europe/Berlin");
    for now in [i64::MIN, i64::MAX, -1, 0, 253_402_300_799_999, -377_705_116_800_000] {
        active.is_active(Timestamp(now));
        active.next_change(Timestamp(now));
        Activity::default().is_active(&active, Timestamp(now));
    }
}
