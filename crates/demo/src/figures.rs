//! What one client has seen: how many queries, how long they took, what went wrong.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// The longest latency that is told apart from longer ones.
const LONGEST: Duration = Duration::from_secs(60);

/// Filled by a client's connections, read by the table.
#[derive(Debug)]
pub(crate) struct Figures {
    inner: Mutex<Inner>,
}

/// Over what figures are taken. Each begins anew when it is read, but for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// Of the chart.
    Column,
    Second,
    Part,
    Total,
}

const SPANS: usize = 4;

#[derive(Debug)]
struct Inner {
    spans: [Measured; SPANS],
    errors: u64,
    first_error: Option<String>,
    changes: u64,
}

#[derive(Debug)]
struct Measured {
    took: Histogram<u64>,
    begin: Instant,
}

/// A client's figures over some time. Errors and changes are counted from the beginning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    pub(crate) queries: u64,
    pub(crate) over: Duration,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
    /// Changes whose COMMIT was answered.
    pub(crate) changes: u64,
}

impl Reading {
    pub(crate) fn per_second(&self) -> f64 {
        let seconds = self.over.as_secs_f64();
        #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
        if seconds > 0.0 { self.queries as f64 / seconds } else { 0.0 }
    }
}

impl Figures {
    pub(crate) fn new(now: Instant) -> Figures {
        let spans = std::array::from_fn(|_| Measured { took: histogram(), begin: now });
        Figures { inner: Mutex::new(Inner { spans, errors: 0, first_error: None, changes: 0 }) }
    }

    pub(crate) fn query(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.inner().spans.iter_mut().for_each(|span| span.took.saturating_record(micros));
    }

    pub(crate) fn change(&self) {
        self.inner().changes += 1;
    }

    pub(crate) fn error(&self, what: &str) {
        let mut inner = self.inner();
        inner.errors += 1;
        inner.first_error.get_or_insert_with(|| what.to_owned());
    }

    /// Since it was last read, or since the beginning.
    pub(crate) fn read(&self, span: Span, now: Instant) -> Reading {
        let mut inner = self.inner();
        let reading = inner.reading(span, now);
        if span != Span::Total {
            let measured = &mut inner.spans[span as usize];
            measured.took.reset();
            measured.begin = now;
        }
        reading
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn reading(&self, span: Span, now: Instant) -> Reading {
        let Measured { took, begin } = &self.spans[span as usize];
        let quantile = |share| Duration::from_micros(took.value_at_quantile(share));
        Reading {
            queries: took.len(),
            over: now.saturating_duration_since(*begin),
            p50: quantile(0.5),
            p99: quantile(0.99),
            errors: self.errors,
            first_error: self.first_error.clone(),
            changes: self.changes,
        }
    }
}

/// Microseconds with three digits.
fn histogram() -> Histogram<u64> {
    let highest = u64::try_from(LONGEST.as_micros()).unwrap_or(u64::MAX);
    Histogram::new_with_bounds(1, highest, 3).expect("these bounds are constants and allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn what_was_read_begins_anew_and_the_total_goes_on() {
        let begin = Instant::now();
        let figures = Figures::new(begin);
        for took in 1..=100 {
            figures.query(ms(took));
        }
        figures.error("first");
        figures.error("second");
        figures.change();
        let last = figures.read(Span::Second, begin + ms(500));
        assert_eq!((last.queries, last.errors, last.changes), (100, 2, 1));
        assert_eq!(last.first_error.as_deref(), Some("first"));
        assert!((last.per_second() - 200.0).abs() < 1e-9);
        assert!(last.p50 >= ms(50) && last.p50 < ms(51), "{:?}", last.p50);
        assert!(last.p99 >= ms(99) && last.p99 < ms(100), "{:?}", last.p99);

        figures.query(ms(7));
        assert_eq!(figures.read(Span::Second, begin + ms(1500)).queries, 1);
        let idle = figures.read(Span::Second, begin + ms(2500));
        assert_eq!((idle.queries, idle.p99, idle.errors), (0, Duration::ZERO, 2));
        assert_eq!(figures.read(Span::Part, begin + ms(2500)).queries, 101, "each span for itself");
        for _ in 0..2 {
            let total = figures.read(Span::Total, begin + ms(2500));
            assert_eq!((total.queries, total.over), (101, ms(2500)));
        }
    }

    #[test]
    fn a_latency_beyond_the_scale_counts_as_the_longest() {
        let begin = Instant::now();
        let figures = Figures::new(begin);
        figures.query(Duration::from_secs(3600));
        assert_eq!(figures.read(Span::Total, begin).queries, 1);
    }
}
