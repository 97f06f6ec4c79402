//! From values to places, and where the ticks are. Pure.

/// An axis: which values it has and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linear,
    Logarithmic,
}

impl Scale {
    /// From `low` to exactly `high`.
    pub fn linear(low: f64, high: f64) -> Self {
        Self { kind: Kind::Linear, low, high: if high > low { high } else { low + 1.0 }, from: 0.0, to: 1.0 }
    }

    /// From 0 to a round number at or over `high`.
    pub fn round(high: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        let step = round_step(high, 4);
        Self::linear(0.0, (high / step).ceil() * step)
    }

    /// From one power of ten to another; what is lower lies at the lower end.
    pub fn logarithmic(low: f64, high: f64) -> Self {
        let (low, high) = (10_f64.powf(low.log10().floor()), 10_f64.powf(high.max(low * 1.01).log10().ceil()));
        Self { kind: Kind::Logarithmic, low, high, from: 0.0, to: 1.0 }
    }

    /// Lies between these places; `to` may be less than `from`, as on an axis that goes up.
    #[must_use]
    pub fn between(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    pub fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Logarithmic => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        self.from + share * (self.to - self.from)
    }

    /// Round values, about so many (on a logarithmic scale the powers of ten).
    pub fn ticks(&self, about: u32) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                let step = round_step(self.high - self.low, about);
                let first = (self.low / step).ceil();
                let count = ((self.high / step + 1e-9).floor() - first).max(0.0) as u32;
                (0..=count).map(|index| (first + f64::from(index)) * step).collect()
            }
            Kind::Logarithmic => {
                let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
                (low..=high).map(|power| 10_f64.powi(power)).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that about so many fit.
fn round_step(range: f64, about: u32) -> f64 {
    let rough = (range / f64::from(about)).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| rough <= step * power * 1.0001);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let up = Scale::linear(0.0, 10.0).between(200.0, 100.0);
        for (value, place) in [(0.0, 200.0), (5.0, 150.0), (10.0, 100.0), (-3.0, 200.0), (99.0, 100.0)] {
            assert_eq!(up.place(value), place);
        }
        let log = Scale::logarithmic(0.01, 100.0).between(0.0, 4.0);
        for (value, place) in [(0.01, 0.0), (0.1, 1.0), (10.0, 3.0), (100.0, 4.0), (0.0, 0.0)] {
            assert!((log.place(value) - place).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn ticks_are_round() {
        let check = |scale: Scale, about, expected: &[f64]| {
            let ticks = scale.ticks(about);
            assert_eq!(ticks.len(), expected.len(), "{ticks:?} {expected:?}");
            assert!(ticks.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{ticks:?} {expected:?}");
        };
        check(Scale::linear(0.0, 90.0), 9, &[0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
        check(Scale::round(1.3), 4, &[0.0, 0.5, 1.0, 1.5]);
        check(Scale::round(437.0), 4, &[0.0, 200.0, 400.0, 600.0]);
        check(Scale::round(0.0), 4, &[0.0, 0.5, 1.0]);
        check(Scale::logarithmic(0.02, 54.0), 4, &[0.01, 0.1, 1.0, 10.0, 100.0]);
    }
}
