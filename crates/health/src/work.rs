//! What a replica will have to do for what was committed: transactions, and the rows in them.

use std::ops::{Add, Sub};

/// Counts up for as long as the proxy runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    pub transactions: f64,
    pub rows: f64,
}

impl Work {
    pub const NONE: Work = Work { transactions: 0.0, rows: 0.0 };

    pub fn is_none(self) -> bool {
        self.transactions <= 0.0 && self.rows <= 0.0
    }
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work { transactions: self.transactions + other.transactions, rows: self.rows + other.rows }
    }
}

/// Never less than nothing.
impl Sub for Work {
    type Output = Work;

    fn sub(self, other: Work) -> Work {
        Work {
            transactions: (self.transactions - other.transactions).max(0.0),
            rows: (self.rows - other.rows).max(0.0),
        }
    }
}
