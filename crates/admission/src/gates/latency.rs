//! How long statements take upstream, by class, and commits by themselves. Logarithmic buckets: one relaxed addition a
//! statement.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use statement::Class;

use super::in_flight::InFlight;

/// Buckets a doubling, and doublings: from a microsecond to an hour.
const STEPS: usize = 8;
const BUCKETS: usize = 32 * STEPS;

/// A statement's class, or that it committed work.
pub(super) const KINDS: usize = Class::ALL.len() + 1;
const COMMIT: usize = Class::ALL.len();

#[derive(Debug)]
pub(super) struct Latencies {
    counts: Box<[[AtomicU32; BUCKETS]]>,
}

impl Default for Latencies {
    fn default() -> Self {
        let row = || std::array::from_fn(|_| AtomicU32::new(0));
        Latencies { counts: std::iter::repeat_with(row).take(KINDS).collect() }
    }
}

impl Latencies {
    #[inline]
    pub(super) fn add(&self, class: Class, took: Duration, commits: bool) {
        let bucket = bucket(took);
        self.count(class as usize, bucket);
        if commits {
            self.count(COMMIT, bucket);
        }
    }

    fn count(&self, kind: usize, bucket: usize) {
        if let Some(count) = self.counts.get(kind).and_then(|row| row.get(bucket)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[inline]
fn bucket(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
    let octave = micros.ilog2() as usize;
    // The three bits below the highest.
    let step = if octave >= 3 { (micros >> (octave - 3)) & 7 } else { (micros << (3 - octave)) & 7 };
    (octave * STEPS + usize::try_from(step).unwrap_or(0)).min(BUCKETS - 1)
}

/// The middle of a bucket, in seconds.
fn middle(bucket: usize) -> f64 {
    let (octave, step) = ((bucket / STEPS) as i32, (bucket % STEPS) as f64);
    2_f64.powi(octave) * (1.0 + (step + 0.5) / STEPS as f64) / 1e6
}

/// What was counted since the last look, of all sessions.
#[derive(Debug, Default)]
pub struct Look {
    before: Vec<[u32; BUCKETS]>,
}

/// How long what ended between two looks took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Took {
    pub count: u64,
    /// Seconds.
    pub p50: f64,
    pub p99: f64,
}

/// Between two looks.
#[derive(Debug, Clone)]
pub struct Window {
    kinds: Vec<[u32; BUCKETS]>,
}

impl Look {
    pub fn look(&mut self, in_flight: &InFlight) -> Window {
        let mut now = vec![[0_u32; BUCKETS]; KINDS];
        for shard in in_flight.shards() {
            for (sums, counts) in now.iter_mut().zip(shard.latencies.counts.iter()) {
                for (sum, count) in sums.iter_mut().zip(counts) {
                    *sum = sum.wrapping_add(count.load(Ordering::Relaxed));
                }
            }
        }
        let mut kinds = now.clone();
        for (sums, before) in kinds.iter_mut().zip(&self.before) {
            for (sum, before) in sums.iter_mut().zip(before) {
                *sum = sum.wrapping_sub(*before);
            }
        }
        self.before = now;
        Window { kinds }
    }
}

impl Window {
    /// Both together.
    pub fn add(&mut self, other: &Window) {
        for (sums, more) in self.kinds.iter_mut().zip(&other.kinds) {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum = sum.wrapping_add(*more);
            }
        }
    }

    pub fn of(&self, class: Class) -> Option<Took> {
        self.took(class as usize)
    }

    /// COMMITs, and statements that committed by themselves.
    pub fn commits(&self) -> Option<Took> {
        self.took(COMMIT)
    }

    fn took(&self, kind: usize) -> Option<Took> {
        let counts = self.kinds.get(kind)?;
        let count: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        (count > 0).then(|| Took { count, p50: rank(counts, count, 0.5), p99: rank(counts, count, 0.99) })
    }
}

fn rank(counts: &[u32], count: u64, part: f64) -> f64 {
    let wanted = (count as f64 * part).ceil().max(1.0);
    let mut seen = 0.0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += f64::from(*count);
        if seen >= wanted {
            return middle(bucket);
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_as_wide_as_an_eighth_of_its_doubling() {
        for micros in [1, 2, 3, 7, 8, 100, 999, 1000, 50_000, 3_000_000, 2_000_000_000] {
            let found = middle(bucket(Duration::from_micros(micros)));
            let exact = micros as f64 / 1e6;
            assert!((found / exact - 1.0).abs() < 0.13, "{micros} µs is shown as {found}");
        }
        assert_eq!(bucket(Duration::ZERO), 0);
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn each_look_sees_what_came_since_the_last() {
        let in_flight = InFlight::default();
        let mut look = Look::default();
        let add = |ms, commits| {
            let shard = in_flight.of_shard(InFlight::shard(ms)).unwrap();
            shard.latencies.add(Class::Write, Duration::from_millis(ms), commits);
        };
        (1..=100).for_each(|ms| add(ms, ms > 90));
        let window = look.look(&in_flight);
        let took = window.of(Class::Write).unwrap();
        assert_eq!((took.count, window.commits().unwrap().count), (100, 10));
        assert!((took.p50 / 0.050 - 1.0).abs() < 0.13 && (took.p99 / 0.099 - 1.0).abs() < 0.13, "{took:?}");
        assert_eq!(window.of(Class::Read), None);
        assert_eq!(look.look(&in_flight).of(Class::Write), None);
    }
}
