//! Replication lag by a number that counts up in a row of ours.
//!
//! The number goes to the servers, the time stays here ([`health::Beats`]). When is a beat: **when the primary confirmed
//! it**. It was committed before that, so a replica's lag is understated by at most the time that the write took, and a
//! write that hung for a minute and then went through does not look like a minute of lag. What had been committed by
//! then is noted **before the write is sent**, so that the work that a replica is said to have applied is never overstated.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use health::{Beats, Reading, Unknown, Work};
use tokio::sync::watch;

pub(crate) mod row;
pub(crate) mod table;
pub(crate) mod writer;

/// What the writer knows and the readers ask.
#[derive(Debug)]
pub(crate) struct Heart {
    state: Mutex<State>,
    confirmed: watch::Sender<Option<Instant>>,
}

#[derive(Debug, Default)]
struct State {
    /// Of this process, once it has looked at the row; higher than all before it.
    run: Option<u64>,
    beats: Beats,
    /// Since when a beat is due that has not been confirmed, and what is in its way.
    due_since: Option<Instant>,
    trouble: Option<Unknown>,
    /// Somebody else writes into our row.
    shared_row: bool,
    /// The last beat that was written as a new row, because the one before had vanished.
    anew: Option<u64>,
}

/// The last beat of this process that a replica has shown, as far as one connection to it knows: another may lead to a server
/// that was made from an old copy.
#[derive(Debug, Default)]
pub(crate) struct Showed(Option<u64>);

impl Heart {
    pub(crate) fn new() -> Heart {
        Heart { state: Mutex::default(), confirmed: watch::Sender::new(None) }
    }

    /// When the last beat was confirmed, if this is what had been committed by then and all is well.
    fn stands_for(&self, work: Work) -> Option<Instant> {
        let state = self.state();
        state.beats.last_with(work).filter(|_| state.trouble.is_none())
    }

    /// A beat is to be written now.
    fn is_due(&self, now: Instant) {
        self.state().due_since.get_or_insert(now);
    }

    fn failed(&self, trouble: Unknown) {
        self.state().trouble = Some(trouble);
    }

    fn wrote(&self, run: u64, number: u64, at: Instant, work: Work) {
        let mut state = self.state();
        state.run = Some(run);
        state.beats.wrote(number, at, work);
        state.due_since = None;
        state.trouble = None;
        drop(state);
        self.confirmed.send_replace(Some(at));
    }

    /// The row was gone, and this beat is about to be known as the first of a new one.
    fn wrote_anew(&self, number: u64) {
        self.state().anew = Some(number);
    }

    fn row_is_shared(&self, shared: bool) {
        self.state().shared_row = shared;
    }

    /// Another primary: what was written on the old one says nothing any more.
    fn forget(&self) {
        self.state().beats.forget();
    }

    /// Waits for a beat that was confirmed after `since`; not for longer than until `deadline`.
    pub(crate) async fn beat_since(&self, since: Instant, deadline: Instant) -> bool {
        let mut confirmed = self.confirmed.subscribe();
        let fresh = confirmed.wait_for(|at| at.is_some_and(|at| at >= since));
        tokio::time::timeout_at(deadline.into(), fresh).await.is_ok()
    }

    /// What it means that a replica, asked at `sent`, shows this row of ours, and what it `showed` before. `patience`: how long a
    /// beat may be overdue before nobody can know the lag of a replica that shows all there is.
    pub(crate) fn read(
        &self,
        row: Option<Row>,
        showed: &mut Showed,
        sent: Instant,
        patience: Duration,
    ) -> (Reading, Option<Work>) {
        let state = self.state();
        let Some(run) = state.run else {
            return (Reading::Unknown(state.trouble.unwrap_or(Unknown::NotYet)), None);
        };
        let overdue = state.due_since.is_some_and(|since| sent.saturating_duration_since(since) > patience);
        let number = match row {
            Some(row) if row.run == run => {
                showed.0 = Some(row.beat);
                row.beat
            }
            Some(row) if row.run > run => return (Reading::Unknown(Unknown::Foreign), None),
            // From a former life of this proxy, or nothing.
            Some(_) | None => match (showed.0, state.anew) {
                // None of this life's beats has come yet.
                (None, _) => 0,
                // They had, so the row has vanished. That was before the one that was written anew, and after all others.
                (Some(before), Some(anew)) if anew > before => anew - 1,
                // Or somebody else's, older than ours, is in its place.
                (Some(_), _) if state.shared_row => return (Reading::Unknown(Unknown::Foreign), None),
                (Some(_), _) => {
                    let why = state.trouble.filter(|_| overdue).unwrap_or(Unknown::NoRow);
                    return (Reading::Unknown(why), None);
                }
            },
        };
        if state.shared_row {
            return (Reading::Unknown(Unknown::Foreign), None);
        }
        let Some(shown) = state.beats.shown(number, sent) else {
            let why =
                if state.beats.last().is_some() { Unknown::Foreign } else { state.trouble.unwrap_or(Unknown::NotYet) };
            return (Reading::Unknown(why), None);
        };
        // One that shows no row at all where none can be written says nothing either: the table may have been dropped.
        if overdue && (shown.lag.is_zero() || row.is_none()) {
            return (Reading::Unknown(state.trouble.unwrap_or(Unknown::TimedOut)), None);
        }
        (Reading::of(shown.lag.as_secs_f64()), Some(shown.applied))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What stands in our row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) run: u64,
    pub(crate) beat: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn row(run: u64, beat: u64) -> Option<Row> {
        Some(Row { run, beat })
    }

    #[test]
    fn what_a_replica_shows_is_read_in_our_terms() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let work = |transactions| Work { transactions, rows: 0.0 };
        let heart = Heart::new();
        let not_yet = (Reading::Unknown(Unknown::NotYet), None);
        assert_eq!(
            heart.read(row(70, 5), &mut Showed::default(), at(0), PATIENCE),
            not_yet,
            "nothing has been written"
        );

        for (number, ms) in [(1, 1000), (2, 1250), (3, 1500)] {
            heart.is_due(at(ms));
            heart.wrote(80, number, at(ms), work(f64::from(u32::try_from(number).unwrap())));
        }
        for (shown, reading, applied) in [
            (row(80, 3), Reading::Value(0.0), Some(3.0)),
            (row(80, 2), Reading::Value(0.25), Some(2.0)),
            (row(80, 1), Reading::Value(0.5), Some(1.0)),
            (row(70, 999), Reading::Value(0.75), Some(1.0)),
            (None, Reading::Value(0.75), Some(1.0)),
            (row(81, 1), Reading::Unknown(Unknown::Foreign), None),
            (row(80, 99), Reading::Unknown(Unknown::Foreign), None),
        ] {
            assert_eq!(
                heart.read(shown, &mut Showed::default(), at(1750), PATIENCE),
                (reading, applied.map(work)),
                "{shown:?}"
            );
        }
    }

    #[test]
    fn without_a_new_beat_nobody_knows_unless_an_old_one_is_missing() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let heart = Heart::new();
        heart.wrote(80, 1, at(0), Work::NONE);
        heart.wrote(80, 2, at(250), Work::NONE);
        // Asleep: nothing is due, so nothing is missing.
        assert_eq!(heart.read(row(80, 2), &mut Showed::default(), at(4000), PATIENCE).0, Reading::Value(0.0));
        heart.is_due(at(5000));
        assert_eq!(heart.read(row(80, 2), &mut Showed::default(), at(5900), PATIENCE).0, Reading::Value(0.0));
        assert_eq!(
            heart.read(row(80, 2), &mut Showed::default(), at(6100), PATIENCE).0,
            Reading::Unknown(Unknown::TimedOut)
        );
        assert_eq!(heart.read(row(80, 1), &mut Showed::default(), at(6250), PATIENCE).0, Reading::Value(6.0));
        assert_eq!(heart.read(None, &mut Showed::default(), at(6250), PATIENCE).0, Reading::Unknown(Unknown::TimedOut));
        heart.failed(Unknown::Denied);
        assert_eq!(
            heart.read(row(80, 2), &mut Showed::default(), at(6100), PATIENCE).0,
            Reading::Unknown(Unknown::Denied)
        );
        heart.wrote(80, 3, at(6200), Work::NONE);
        assert_eq!(heart.read(row(80, 3), &mut Showed::default(), at(9000), PATIENCE).0, Reading::Value(0.0));
    }

    /// Somebody has emptied the table. Before, this was a lag as long as beats are remembered.
    #[test]
    fn a_row_that_has_vanished_is_no_lag() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let heart = Heart::new();
        for number in 1..=1000 {
            heart.wrote(80, number, at(number * 100), Work::NONE);
        }
        let mut showed = Showed::default();
        let mut read = |row, ms| heart.read(row, &mut showed, at(ms), PATIENCE).0;
        let gone = Reading::Unknown(Unknown::NoRow);
        assert_eq!(read(None, 100_100), Reading::Value(100.0), "it has not shown any");
        assert_eq!(read(row(70, 5), 100_100), Reading::Value(100.0), "nor this life's");
        assert_eq!(read(row(80, 999), 100_100), Reading::Value(0.1));
        assert_eq!(read(None, 100_150), gone);
        assert_eq!(read(row(70, 5), 100_150), gone, "the same for a row of a former life");
        assert_eq!(read(row(81, 1), 100_150), Reading::Unknown(Unknown::Foreign));
        heart.row_is_shared(true);
        assert_eq!(read(row(70, 5), 100_150), Reading::Unknown(Unknown::Foreign), "it is of somebody who lives");
        heart.row_is_shared(false);
        // From the beat on that was written anew, its lag is known again, also without the row.
        heart.wrote_anew(1001);
        heart.wrote(80, 1001, at(100_200), Work::NONE);
        heart.wrote(80, 1002, at(100_300), Work::NONE);
        assert_eq!(read(None, 103_200), Reading::Value(3.0));
        assert_eq!(read(row(80, 1001), 103_200), Reading::Value(2.9));
        assert_eq!(read(None, 103_200), gone, "and if it vanishes another time");
        heart.is_due(at(103_200));
        heart.failed(Unknown::Denied);
        assert_eq!(read(None, 103_300), gone);
        assert_eq!(read(None, 104_300), Reading::Unknown(Unknown::Denied), "it cannot be written anew");
    }

    #[test]
    fn a_new_primary_starts_anew() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let heart = Heart::new();
        heart.wrote(80, 7, at(0), Work::NONE);
        heart.forget();
        assert_eq!(
            heart.read(row(80, 7), &mut Showed::default(), at(100), PATIENCE).0,
            Reading::Unknown(Unknown::NotYet)
        );
        heart.wrote(80, 8, at(200), Work::NONE);
        assert_eq!(heart.read(row(80, 7), &mut Showed::default(), at(300), PATIENCE).0, Reading::Value(0.1));
    }

    #[test]
    fn a_row_that_two_proxies_write_says_nothing() {
        let now = Instant::now();
        let heart = Heart::new();
        heart.wrote(80, 1, now, Work::NONE);
        heart.row_is_shared(true);
        assert_eq!(
            heart.read(row(70, 44), &mut Showed::default(), now, PATIENCE).0,
            Reading::Unknown(Unknown::Foreign)
        );
        heart.row_is_shared(false);
        assert_eq!(heart.read(row(80, 1), &mut Showed::default(), now, PATIENCE).0, Reading::Value(0.0));
    }
}
