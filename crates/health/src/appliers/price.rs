//! What a replica's time a transaction and a row cost.

use crate::work::Work;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub transaction: f64,
    pub row: f64,
}

impl Price {
    /// Where nothing is known of a replica's time: a transaction of one row is one.
    pub const UNKNOWN: Price = Price { transaction: 0.5, row: 0.5 };

    pub fn of(self, work: Work) -> f64 {
        self.transaction * work.transactions + self.row * work.rows
    }
}

/// What a row costs in terms of a transaction, tried side by side: the one under which the replica's speed is steadiest is
/// believed.
pub(super) const ROWS: [f64; 7] = [0.0, 1.0 / 64.0, 1.0 / 16.0, 1.0 / 4.0, 1.0, 4.0, 16.0];
const USUAL: usize = 2;
/// Steadier by this much than the usual one, or it is not worth a change.
const CLEARLY: f64 = 0.8;
/// Of what was seen before, how much counts after one more look.
const KEEPS: f64 = 0.95;
/// Looks before anything is believed.
const ENOUGH: u32 = 12;

#[derive(Debug, Clone, Copy)]
pub(super) struct Weighing {
    tried: [Steadiness; ROWS.len()],
    looks: u32,
}

/// A running mean and mean square of the speed in these terms.
#[derive(Debug, Clone, Copy, Default)]
struct Steadiness {
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Steadiness {
    fn add(&mut self, speed: f64) {
        self.weight = self.weight * KEEPS + 1.0;
        self.sum = self.sum * KEEPS + speed;
        self.squares = self.squares * KEEPS + speed * speed;
    }

    /// The variance over the square of the mean.
    fn spread(&self) -> f64 {
        let mean = self.sum / self.weight.max(1.0);
        let variance = (self.squares / self.weight.max(1.0) - mean * mean).max(0.0);
        variance / (mean * mean).max(f64::MIN_POSITIVE)
    }
}

impl Default for Weighing {
    fn default() -> Self {
        Weighing { tried: [Steadiness::default(); ROWS.len()], looks: 0 }
    }
}

impl Weighing {
    /// In so many seconds a replica that was behind did this.
    pub(super) fn look(&mut self, done: Work, seconds: f64) {
        self.looks = self.looks.saturating_add(1);
        for (steadiness, row) in self.tried.iter_mut().zip(ROWS) {
            steadiness.add((done.transactions + row * done.rows) / seconds);
        }
    }

    /// What a row costs, a transaction being 1.
    pub(super) fn row(&self) -> f64 {
        if self.looks < ENOUGH {
            return ROWS[USUAL];
        }
        let best = self.tried.iter().enumerate().min_by(|(_, one), (_, two)| one.spread().total_cmp(&two.spread()));
        match best {
            Some((at, best)) if best.spread() < CLEARLY * self.tried[USUAL].spread() => ROWS[at],
            _ => ROWS[USUAL],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_of_a_row_is_found_by_what_makes_the_speed_steady() {
        for (row, found) in [(0.0, 0.0), (1.0, 1.0), (16.0, 16.0)] {
            let mut weighing = Weighing::default();
            // A replica that does a hundred of these a second, with few and with many rows in turn.
            for n in 0..60 {
                let rows_each = f64::from([1, 50, 5, 200][n % 4]);
                let transactions = 100.0 / (1.0 + row * rows_each);
                weighing.look(Work { transactions, rows: transactions * rows_each }, 1.0);
            }
            assert_eq!(weighing.row(), found);
        }
    }

    #[test]
    fn without_anything_to_tell_them_apart_the_usual_one_stands() {
        let mut weighing = Weighing::default();
        for n in 0..60 {
            let done = 100.0 + f64::from(n % 7);
            weighing.look(Work { transactions: done, rows: done }, 1.0);
        }
        assert_eq!(weighing.row(), ROWS[USUAL]);
    }
}
