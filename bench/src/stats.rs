//! Medians with their 95 % intervals, and percentiles. Pure.

/// The median of some rounds with an interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// How many rounds it is of. Under six rounds no interval of a median reaches 95 %: it is then all that was seen.
    pub rounds: usize,
}

/// Fewer rounds than this have no interval of 95 %.
const ENOUGH: usize = 6;

impl Median {
    /// Whether `low` to `high` is an interval of 95 %, rather than merely all that was seen.
    pub fn has_interval(&self) -> bool {
        self.rounds >= ENOUGH
    }
}

/// The median and its order-statistics interval: it assumes nothing about how the values are spread, and needs
/// no random numbers. `None` without values.
pub fn median(values: &[f64]) -> Option<Median> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let rounds = sorted.len();
    let skip = ranks_outside(rounds);
    Some(Median {
        value: (sorted.get(rounds.checked_sub(1)? / 2)? + sorted.get(rounds / 2)?) / 2.0,
        low: *sorted.get(skip)?,
        high: *sorted.get(rounds - 1 - skip)?,
        rounds,
    })
}

/// How many of the lowest (and of the highest) of `n` values lie outside the narrowest symmetric interval that
/// covers the true median with at least 95 %. The number of values below the median is binomial(n, 1/2).
fn ranks_outside(n: usize) -> usize {
    let mut probability = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut tail = 0.0;
    for k in 0..n {
        tail += probability;
        if tail > 0.025 {
            return k.saturating_sub(1);
        }
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    0
}

/// Ratios within each round: noise that lasts longer than a round falls on both sides and cancels. Rounds in
/// which either side is missing are left out.
pub fn ratios(numerators: &[Option<f64>], denominators: &[Option<f64>]) -> Vec<f64> {
    let pairs = numerators.iter().zip(denominators);
    pairs.filter_map(|(n, d)| Some((*n)? / (*d)?)).filter(|ratio| ratio.is_finite()).collect()
}

/// The value at or below which `share` of the values lie; `sorted` is in rising order.
pub fn percentile(sorted: &[u64], share: f64) -> Option<u64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], expected: (f64, f64, f64)) {
        let median = median(values).unwrap();
        assert_eq!((median.value, median.low, median.high), expected, "{values:?}");
    }

    #[test]
    fn medians_and_what_surrounds_them() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
        check(&[3.0], (3.0, 3.0, 3.0));
        check(&[4.0, 1.0], (2.5, 1.0, 4.0));
        check(&[5.0, 1.0, 3.0], (3.0, 1.0, 5.0));
        check(&[9.0, 1.0, 3.0, f64::INFINITY], (3.0, 1.0, 9.0));
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // n, and the 1-based rank of the lower end in the published tables of 95 % intervals of a median.
        for (n, rank) in [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10), (50, 18)] {
            assert_eq!(ranks_outside(n) + 1, rank, "n = {n}");
        }
    }

    #[test]
    fn the_interval_of_twenty_rounds() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        check(&values, (10.5, 6.0, 15.0));
    }

    #[test]
    fn ratios_are_taken_within_the_round() {
        let ours = [Some(10.0), Some(40.0), None, Some(1.0)];
        let theirs = [Some(20.0), Some(80.0), Some(7.0), Some(0.0)];
        assert_eq!(ratios(&ours, &theirs), [0.5, 0.5]);
    }

    #[test]
    fn percentiles() {
        let hundred: Vec<u64> = (1..=100).collect();
        for (share, expected) in [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)] {
            assert_eq!(percentile(&hundred, share), Some(expected));
        }
        assert_eq!(percentile(&[7], 0.99), Some(7));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
