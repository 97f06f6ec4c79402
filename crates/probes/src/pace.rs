//! How often: fast while there is traffic, slow when there is none.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The interval of samples and of beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub interval: Duration,
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
    known: Pace,
    last: Option<Instant>,
}

impl Ticker {
    pub(crate) fn new(pace: watch::Receiver<Pace>) -> Ticker {
        let known = *pace.borrow();
        Ticker { pace, known, last: None }
    }

    /// Waits. Cancel safe: a tick that was not taken comes again.
    pub(crate) async fn tick(&mut self) -> Tick {
        let tick = loop {
            let pace = *self.pace.borrow_and_update();
            // Also where it quickened while the last sample was being taken.
            if std::mem::replace(&mut self.known, pace).interval > pace.interval {
                break Tick::Woken;
            }
            let Some(last) = self.last else { break Tick::Due };
            let due = last + pace.interval;
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

    const SLOW: Pace = Pace { interval: Duration::from_secs(5) };
    const FAST: Pace = Pace { interval: Duration::from_millis(250) };

    #[tokio::test(start_paused = true)]
    async fn the_first_is_due_at_once_and_the_others_by_the_interval() {
        let (_sender, pace) = watch::channel(FAST);
        let mut ticker = Ticker::new(pace);
        let start = Instant::now();
        for ms in [0, 250, 500] {
            assert_eq!(ticker.tick().await, Tick::Due);
            assert_eq!(start.elapsed().as_millis(), ms);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_quicker_pace_wakes_at_once_and_a_slower_one_does_not() {
        let (sender, pace) = watch::channel(SLOW);
        let mut ticker = Ticker::new(pace);
        ticker.tick().await;
        let start = Instant::now();
        sender.send(FAST).unwrap();
        assert_eq!((ticker.tick().await, start.elapsed()), (Tick::Woken, Duration::ZERO));
        sender.send(SLOW).unwrap();
        assert_eq!((ticker.tick().await, start.elapsed()), (Tick::Due, SLOW.interval));
        drop(sender);
        assert_eq!((ticker.tick().await, start.elapsed()), (Tick::Due, 2 * SLOW.interval));
    }
}
