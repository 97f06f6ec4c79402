//! Metrics that the configuration makes: an SQL statement or a page that gives one number.

use std::sync::Arc;
use std::time::{Duration, Instant};

use health::MetricName;
use tokio::sync::watch;
use tokio::time::sleep_until;

use crate::pace::Pace;

pub(crate) mod http;
pub(crate) mod number;
pub(crate) mod sql;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomMetric {
    pub name: MetricName,
    pub ask: Ask,
    /// While there is traffic; when there is none, as rarely as everything.
    pub interval: Duration,
    pub timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    Sql {
        sql: String,
        on: On,
    },
    /// `http://` only.
    Http {
        url: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Primary,
    Replicas,
}

/// The metrics of one task, and which is due next.
#[derive(Debug)]
struct Schedule {
    custom: watch::Receiver<Arc<Vec<CustomMetric>>>,
    pace: watch::Receiver<Pace>,
    known: (Duration, u64),
    wanted: fn(&Ask, On) -> bool,
    on: On,
    all: Vec<(CustomMetric, Option<Instant>)>,
}

#[derive(Debug)]
enum Next {
    Ask(CustomMetric),
    /// Another list, which may be empty.
    Replaced,
}

impl Schedule {
    fn new(
        custom: watch::Receiver<Arc<Vec<CustomMetric>>>,
        pace: watch::Receiver<Pace>,
        on: On,
        wanted: fn(&Ask, On) -> bool,
    ) -> Schedule {
        let known = (pace.borrow().custom, pace.borrow().wakes);
        let mut schedule = Schedule { custom, pace, known, wanted, on, all: Vec::new() };
        schedule.replace();
        schedule
    }

    fn replace(&mut self) {
        let wanted: Vec<_> = {
            let all = self.custom.borrow_and_update();
            all.iter().filter(|metric| (self.wanted)(&metric.ask, self.on)).cloned().collect()
        };
        self.all = wanted.into_iter().map(|metric| (metric, None)).collect();
    }

    fn longest_timeout(&self) -> Duration {
        self.all.iter().map(|(metric, _)| metric.timeout).max().unwrap_or_default()
    }

    /// Waits until one is due, or the list is another.
    async fn next(&mut self) -> Next {
        let mut listening = true;
        let mut pacing = true;
        loop {
            let Pace { custom: pace, wakes, .. } = *self.pace.borrow_and_update();
            let (before, wakes_before) = std::mem::replace(&mut self.known, (pace, wakes));
            if before > pace || wakes_before != wakes {
                self.all.iter_mut().for_each(|(_, last)| *last = None);
            }
            let due =
                |(metric, last): &(CustomMetric, Option<Instant>)| last.map(|last| last + metric.interval.max(pace));
            let first = self.all.iter().enumerate().min_by_key(|(_, entry)| due(entry));
            let first = first.map(|(index, entry)| (index, due(entry)));
            let is_empty = first.is_none();
            tokio::select! {
                // The list first: no question is asked that has been taken back.
                biased;
                changed = self.custom.changed(), if listening => match changed {
                    Ok(()) => {
                        self.replace();
                        return Next::Replaced;
                    }
                    Err(_) => listening = false,
                },
                changed = self.pace.changed(), if pacing => pacing = changed.is_ok(),
                () = until(first.and_then(|(_, due)| due)), if !is_empty => {
                    if let Some((metric, last)) = first.and_then(|(index, _)| self.all.get_mut(index)) {
                        *last = Some(Instant::now());
                        return Next::Ask(metric.clone());
                    }
                }
                else => std::future::pending().await,
            }
        }
    }
}

async fn until(time: Option<Instant>) {
    if let Some(time) = time {
        sleep_until(time.into()).await;
    }
}
