//! How often: fast while there is traffic, slow when there is none.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Between two questions, each by itself: a gate that looks finely at one metric is no reason to ask for all of them so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Of the primary's status.
    pub status: Duration,
    /// Of its `history_list_length`, which costs it as much as all else.
    pub history: Duration,
    /// Of beats, and of what replicas show.
    pub lag: Duration,
    /// Of metrics of the configuration, whose own interval counts if it is longer.
    pub custom: Duration,
    /// Another number wakes everybody: somebody waits for an answer, also where it is asked for as often as before.
    pub wakes: u64,
}

impl Pace {
    /// The same for all.
    pub const fn of_all(interval: Duration) -> Pace {
        Pace { status: interval, history: interval, lag: interval, custom: interval, wakes: 0 }
    }
}

/// Why it is time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tick {
    Due,
    /// The pace has quickened: somebody is waiting for an answer.
    Woken,
}

/// Says when the next sample is due. The first is due at once.
#[derive(Debug)]
pub(crate) struct Ticker {
    pace: watch::Receiver<Pace>,
    of: fn(&Pace) -> Duration,
    known: Duration,
    wakes: u64,
    last: Option<Instant>,
}

impl Ticker {
    pub(crate) fn new(pace: watch::Receiver<Pace>, of: fn(&Pace) -> Duration) -> Ticker {
        let (known, wakes) = (of(&pace.borrow()), pace.borrow().wakes);
        Ticker { pace, of, known, wakes, last: None }
    }

    /// Between this tick and the next, as far as is known.
    pub(crate) fn interval(&self) -> Duration {
        self.known
    }

    /// Waits. Cancel safe: a tick that was not taken comes again.
    pub(crate) async fn tick(&mut self) -> Tick {
        let tick = loop {
            let pace = *self.pace.borrow_and_update();
            let interval = (self.of)(&pace);
            let woken = std::mem::replace(&mut self.wakes, pace.wakes) != pace.wakes;
            // Also where it quickened while the last sample was being taken.
            if std::mem::replace(&mut self.known, interval) > interval || woken {
                break Tick::Woken;
            }
            let Some(last) = self.last else { break Tick::Due };
            let due = last + interval;
            tokio::select! {
                () = sleep_until(due) => break Tick::Due,
                changed = self.pace.changed() => if changed.is_err() {
                    // Nobody changes it any more.
                    sleep_until(due).await;
                    break Tick::Due;
                }
            }
        };
        self.last = Some(Instant::now());
        tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_secs(5);
    const FAST: Duration = Duration::from_millis(250);

    #[tokio::test(start_paused = true)]
    async fn the_first_is_due_at_once_and_the_others_by_the_interval() {
        let (_sender, pace) = watch::channel(Pace::of_all(FAST));
        let mut ticker = Ticker::new(pace, |pace| pace.status);
        let start = Instant::now();
        for ms in [0, 250, 500] {
            assert_eq!(ticker.tick().await, Tick::Due);
            assert_eq!(start.elapsed().as_millis(), ms);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_quicker_pace_wakes_at_once_and_a_slower_one_does_not() {
        let (sender, pace) = watch::channel(Pace::of_all(SLOW));
        let mut ticker = Ticker::new(pace, |pace| pace.lag);
        ticker.tick().await;
        let start = Instant::now();
        // Nobody wants to know more of this one.
        sender.send(Pace { lag: SLOW, ..Pace::of_all(FAST) }).unwrap();
        let still = tokio::time::timeout(SLOW / 5, ticker.tick()).await;
        assert!(still.is_err(), "{still:?}");
        sender.send(Pace::of_all(FAST)).unwrap();
        assert_eq!((ticker.tick().await, start.elapsed()), (Tick::Woken, SLOW / 5));
        sender.send(Pace::of_all(SLOW)).unwrap();
        assert_eq!((ticker.tick().await, start.elapsed()), (Tick::Due, SLOW / 5 + SLOW));
        sender.send(Pace { wakes: 1, ..Pace::of_all(SLOW) }).unwrap();
        assert_eq!((ticker.tick().await, start.elapsed()), (Tick::Woken, SLOW / 5 + SLOW), "somebody waits");
        drop(sender);
        assert_eq!((ticker.tick().await, start.elapsed()), (Tick::Due, SLOW / 5 + 2 * SLOW));
    }
}
