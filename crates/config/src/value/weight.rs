//! How much a client's turn counts beside another's.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::tree::Complaint;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight(pub(crate) f64);

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WeightVisitor)
    }
}

const EXPECTED: &str = "a number from 0.01 to 100, such as `2` for twice the turns of others";

struct WeightVisitor;

impl Visitor<'_> for WeightVisitor {
    type Value = Weight;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_f64<E: Error>(self, weight: f64) -> Result<Weight, E> {
        if (0.01..=100.0).contains(&weight) {
            return Ok(Weight(weight));
        }
        Err(E::custom(Complaint::new("this weight is out of range", format!("write {EXPECTED}"))))
    }

    #[expect(clippy::cast_precision_loss, reason = "what is too large to be exact is out of range anyway")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<Weight, E> {
        self.visit_f64(number as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "it is out of range anyway")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Weight, E> {
        self.visit_f64(number as f64)
    }
}
