//! Whether a rule is in its hours. What the wall clock of its time zone shows decides, so a window that falls into the
//! hour that a change of the clocks leaves out is shorter that night, and one in the hour that comes twice is active twice.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::tz::Offset;

use crate::rule::Active;
use crate::timestamp::Timestamp;

const MINUTE: i64 = 60_000;
const DAY_MINUTES: i64 = 24 * 60;
/// Bits of a minute in what is remembered: enough until the year 6053.
const BITS: u32 = 31;
const MASK: u64 = (1 << BITS) - 1;

impl Active {
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.state(now).active
    }

    /// The next moment at which it begins or ends. `None` if it never does.
    pub fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        let first = self.state(now);
        let mut until = first.until?;
        // A week has at most three boundaries a day, and changes of the clocks.
        for _ in 0..32 {
            let state = self.state(until);
            if state.active != first.active {
                return Some(until);
            }
            until = state.until?;
        }
        None
    }

    fn state(&self, now: Timestamp) -> State {
        let Ok(moment) = jiff::Timestamp::from_millisecond(now.0) else {
            return State { active: false, from: now, until: None };
        };
        let offset = self.tz.to_offset(moment);
        let (day, minute) = local(now, offset);
        let active = self.covers(day, minute);
        // Within one offset nothing changes but at `from`, at `to` and at midnight.
        let boundaries = [0, i64::from(self.from), i64::from(self.to), DAY_MINUTES];
        let before = boundaries.into_iter().filter(|boundary| *boundary <= minute).max().unwrap_or(0);
        let after = boundaries.into_iter().filter(|boundary| *boundary > minute).min().unwrap_or(DAY_MINUTES);
        let at = |minute: i64| utc(day, minute, offset);
        // A change at this very moment is before it: what held a millisecond ago is not remembered.
        let just_after = jiff::Timestamp::from_millisecond(now.0.saturating_add(1)).unwrap_or(moment);
        let from = transition(self.tz.preceding(just_after).next()).map_or(at(before), |change| change.max(at(before)));
        let until = transition(self.tz.following(moment).next()).map_or(at(after), |change| change.min(at(after)));
        State { active, from: from.min(now), until: Some(until) }
    }

    /// The day is counted from 1970-01-01, a Thursday.
    fn covers(&self, day: i64, minute: i64) -> bool {
        let (from, to) = (i64::from(self.from), i64::from(self.to));
        let on = |day: i64| self.days.0 & (1 << (day + 3).rem_euclid(7)) != 0;
        if from < to {
            return on(day) && (from..to).contains(&minute);
        }
        (on(day) && minute >= from) || (on(day - 1) && minute < to)
    }
}

fn transition(change: Option<jiff::tz::TimeZoneTransition<'_>>) -> Option<Timestamp> {
    change.map(|change| Timestamp(change.timestamp().as_millisecond()))
}

/// The day since 1970-01-01 and the minute of the day that a clock shows.
fn local(now: Timestamp, offset: Offset) -> (i64, i64) {
    let minutes = now.0.saturating_add(i64::from(offset.seconds()) * 1000).div_euclid(MINUTE);
    (minutes.div_euclid(DAY_MINUTES), minutes.rem_euclid(DAY_MINUTES))
}

fn utc(day: i64, minute: i64, offset: Offset) -> Timestamp {
    Timestamp((day * DAY_MINUTES + minute) * MINUTE - i64::from(offset.seconds()) * 1000)
}

/// What holds in `from..until`.
struct State {
    active: bool,
    from: Timestamp,
    until: Option<Timestamp>,
}

/// Remembers the answer and the whole minutes between which it holds, so that a decision asks no time zone. One word, so
/// that nobody reads half of it.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// From and until in minutes since 1970, and whether it is active. 0 holds never.
    remembered: AtomicU64,
}

impl Activity {
    pub(crate) fn is_active(&self, active: &Active, now: Timestamp) -> bool {
        let remembered = self.remembered.load(Ordering::Relaxed);
        let minute = now.0.div_euclid(MINUTE);
        let (from, until) = (remembered >> (BITS + 1), (remembered >> 1) & MASK);
        if u64::try_from(minute).is_ok_and(|minute| from <= minute && minute < until) {
            return remembered & 1 != 0;
        }
        let state = active.state(now);
        if let Some(packed) = pack(&state) {
            self.remembered.store(packed, Ordering::Relaxed);
        }
        state.active
    }
}

/// Minutes that begin and end within what holds.
fn pack(state: &State) -> Option<u64> {
    let fits = |minute: i64| u64::try_from(minute).ok().filter(|minute| *minute <= MASK);
    let from = fits(state.from.0.div_euclid(MINUTE) + i64::from(state.from.0.rem_euclid(MINUTE) != 0))?;
    let until = fits(state.until?.0.div_euclid(MINUTE))?;
    Some((from << (BITS + 1)) | (until << 1) | u64::from(state.active))
}

#[cfg(test)]
mod tests;
