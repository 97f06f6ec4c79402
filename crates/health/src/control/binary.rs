//! Open or closed, with room between the two so that it does not flutter.

/// It opens under this part of the threshold.
pub const OPENS_AT: f64 = 0.8;

#[derive(Debug, Default)]
pub struct Binary {
    closed: bool,
}

impl Binary {
    /// Whether it is closed now.
    pub fn observe(&mut self, value: f64, threshold: f64) -> bool {
        self.closed = if self.closed { value > threshold * OPENS_AT } else { value > threshold };
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_closes_over_the_threshold_and_opens_well_under_it() {
        let mut gate = Binary::default();
        for (value, closed) in
            [(5.0, false), (5.1, true), (5.0, true), (4.1, true), (4.0, false), (4.9, false), (5.0, false), (6.0, true)]
        {
            assert_eq!(gate.observe(value, 5.0), closed, "{value}");
        }
    }

    #[test]
    fn a_threshold_of_nothing_can_open_again() {
        let mut gate = Binary::default();
        assert_eq!([1.0, 0.0].map(|value| gate.observe(value, 0.0)), [true, false]);
    }
}
