//! A part of a whole, from 0 to 1.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::tree::Complaint;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ratio(pub(crate) f64);

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RatioVisitor)
    }
}

const EXPECTED: &str = "a number from 0 (all pass) to 1 (none does), such as `0.9`";

struct RatioVisitor;

impl Visitor<'_> for RatioVisitor {
    type Value = Ratio;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_f64<E: Error>(self, ratio: f64) -> Result<Ratio, E> {
        if (0.0..=1.0).contains(&ratio) {
            return Ok(Ratio(ratio));
        }
        let what = match ratio {
            _ if ratio.is_nan() => "this is no number".to_owned(),
            _ if ratio > 1.0 => format!("{ratio} is more than 1"),
            _ => format!("{ratio} is less than 0"),
        };
        let remedy = if ratio > 1.0 { of_a_hundred(ratio) } else { None };
        Err(E::custom(Complaint::new(what, remedy.unwrap_or_else(|| format!("write {EXPECTED}")))))
    }

    #[expect(clippy::cast_precision_loss, reason = "what is too large to be exact is out of range anyway")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<Ratio, E> {
        self.visit_f64(number as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "it is out of range anyway")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Ratio, E> {
        self.visit_f64(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
        let number = text.strip_suffix('%').and_then(|percent| percent.trim_end().parse().ok());
        let plain = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        let remedy = number
            .and_then(of_a_hundred)
            .or_else(|| plain.map(|ratio: f64| format!("write `{ratio}` without quotes")))
            .unwrap_or_else(|| format!("write {EXPECTED}"));
        Err(E::custom(Complaint::new(format!("`{text}` is not a ratio"), remedy)))
    }
}

/// Who writes 90 or 90% means 0.9.
fn of_a_hundred(percent: f64) -> Option<String> {
    (0.0..=100.0).contains(&percent).then(|| format!("write `{}`: a ratio is a part of 1", percent / 100.0))
}
