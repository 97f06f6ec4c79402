//! What the observer saw, moment by moment, and figures of it. Pure.

use serde::{Deserialize, Serialize};

/// One look at the replica. Counts are since the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Seconds since the writers began.
    pub at: f64,
    /// Seconds since the newest heartbeat that the replica has applied was written.
    pub lag: f64,
    /// Answered with OK, over the proxy and around it.
    pub commits: u64,
    pub rows: u64,
    /// Rows that were committed when that heartbeat was written, and so have been applied.
    pub applied: u64,
}

/// Median, 99th percentile and largest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// Lag between two times, each look counting for as long as it was the newest: on a busy machine looks come late, and
/// it is then that lag is worst.
pub fn lag_between(looks: &[Look], from: f64, to: f64) -> Option<Spread> {
    let mut weighed: Vec<(f64, f64)> = Vec::new();
    for (index, look) in looks.iter().enumerate() {
        let until = looks.get(index + 1).map_or(look.at, |next| next.at).min(to);
        let weight = until - look.at.max(from);
        if weight > 0.0 {
            weighed.push((look.lag, weight));
        }
    }
    weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let max = weighed.last()?.0;
    Some(Spread { p50: weighed_quantile(&weighed, 0.5), p99: weighed_quantile(&weighed, 0.99), max })
}

/// `sorted` by value, and not empty.
fn weighed_quantile(sorted: &[(f64, f64)], share: f64) -> f64 {
    let wanted: f64 = share * sorted.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut seen = 0.0;
    for (value, weight) in sorted {
        seen += weight;
        if seen >= wanted {
            return *value;
        }
    }
    sorted.last().map_or(0.0, |(value, _)| *value)
}

/// The share of the time in which lag was over a threshold.
pub fn share_over(looks: &[Look], from: f64, to: f64, threshold: f64) -> f64 {
    let mut over = 0.0;
    for pair in looks.windows(2) {
        let time = (pair[1].at.min(to) - pair[0].at.max(from)).max(0.0);
        over += if pair[0].lag > threshold { time } else { 0.0 };
    }
    over / (to - from)
}

/// How much a count grew a second between two times.
pub fn rate_between(looks: &[Look], from: f64, to: f64, count: impl Fn(&Look) -> u64) -> Option<f64> {
    let first = looks.iter().find(|look| look.at >= from)?;
    let last = looks.iter().rev().find(|look| look.at <= to)?;
    let time = last.at - first.at;
    (time > 0.0).then(|| count(last).saturating_sub(count(first)) as f64 / time)
}

/// Rates of windows of equal length, at their middles.
pub fn rates(looks: &[Look], window: f64, to: f64, count: impl Fn(&Look) -> u64 + Copy) -> Vec<(f64, f64)> {
    let windows = (to / window).floor() as u32;
    let spans = (0..windows).map(|index| (f64::from(index) * window, f64::from(index + 1) * window));
    spans.filter_map(|(from, to)| Some(((from + to) / 2.0, rate_between(looks, from, to, count)?))).collect()
}

/// For a plot: the largest lag of each short window, so that no peak is lost.
pub fn peaks(looks: &[Look], window: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut current = None;
    for look in looks {
        let index = (look.at / window).floor();
        match points.last_mut() {
            Some(last) if current == Some(index) => last.1 = last.1.max(look.lag),
            Some(_) | None => points.push(((index + 0.5) * window, look.lag)),
        }
        current = Some(index);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(values: &[(f64, f64)]) -> Vec<Look> {
        values.iter().map(|(at, lag)| Look { at: *at, lag: *lag, commits: 0, rows: 0, applied: 0 }).collect()
    }

    #[test]
    fn lag_counts_for_as_long_as_it_lasts() {
        let even: Vec<(f64, f64)> = (0..=100).map(|i| (f64::from(i), f64::from(i))).collect();
        let spread = lag_between(&looks(&even), 0.0, 100.0).unwrap();
        assert_eq!(spread, Spread { p50: 49.0, p99: 98.0, max: 99.0 });
        let late = looks(&[(0.0, 1.0), (1.0, 5.0), (9.0, 1.0), (10.0, 1.0)]);
        assert_eq!(lag_between(&late, 0.0, 10.0), Some(Spread { p50: 5.0, p99: 5.0, max: 5.0 }));
        assert_eq!(share_over(&late, 0.0, 10.0, 2.0), 0.8);
        assert_eq!(lag_between(&late, 9.0, 10.0), Some(Spread { p50: 1.0, p99: 1.0, max: 1.0 }));
        assert_eq!(lag_between(&[], 0.0, 10.0), None);
    }

    #[test]
    fn the_look_before_the_window_counts_into_it() {
        let spread = lag_between(&looks(&[(0.0, 7.0), (6.0, 1.0), (10.0, 1.0)]), 2.0, 10.0).unwrap();
        assert_eq!((spread.p50, spread.max), (1.0, 7.0));
    }

    #[test]
    fn rates_are_of_windows() {
        let mut looks = looks(&[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]);
        for (look, rows) in looks.iter_mut().zip([0, 10, 40, 40]) {
            look.rows = rows;
        }
        assert_eq!(rate_between(&looks, 0.0, 2.0, |look| look.rows), Some(20.0));
        assert_eq!(rates(&looks, 1.0, 3.0, |look| look.rows), [(0.5, 10.0), (1.5, 30.0), (2.5, 0.0)]);
        assert_eq!(rate_between(&looks, 5.0, 6.0, |look| look.rows), None);
    }

    #[test]
    fn a_plot_keeps_the_peaks() {
        let seen = peaks(&looks(&[(0.1, 1.0), (0.2, 9.0), (0.3, 2.0), (1.1, 3.0)]), 1.0);
        assert_eq!(seen, [(0.5, 9.0), (1.5, 3.0)]);
    }
}
