//! A threshold: what may be written depends on what its metric is of.

use std::fmt;
use std::time::Duration;

use health::Unit;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::{Value as Json, json};

use super::{duration, shown_duration};
use crate::tree::Complaint;

/// Not yet known of what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Measure {
    Text(String),
    Number(f64),
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MeasureVisitor)
    }
}

struct MeasureVisitor;

impl Visitor<'_> for MeasureVisitor {
    type Value = Measure;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of the metric, such as `5s`, `40` or `90%`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Measure, E> {
        Ok(Measure::Text(text.to_owned()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Measure, E> {
        Ok(Measure::Number(number))
    }

    #[expect(clippy::cast_precision_loss, reason = "no threshold is so large that it matters")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<Measure, E> {
        Ok(Measure::Number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "it is out of range anyway")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Measure, E> {
        Ok(Measure::Number(number as f64))
    }
}

const A_DAY: Duration = Duration::from_secs(24 * 3600);

impl Measure {
    /// In the metric's unit. Never 0: a gate that is closed whatever is measured is no gate.
    pub(crate) fn of(&self, unit: Unit) -> Result<f64, Complaint> {
        match unit {
            Unit::Seconds => self.seconds(),
            Unit::Count => self.count(),
            Unit::Share => self.share(),
        }
    }

    /// As it is kept in `state_dir`, where the gate may be gone by now.
    pub(crate) fn stored(&self) -> Result<f64, Complaint> {
        self.count()
    }

    fn seconds(&self) -> Result<f64, Complaint> {
        let remedy = "write a duration from `1ms` to `24h`, such as `250ms` or `5s`";
        match self {
            Measure::Number(number) => {
                let what = format!("{number} has no unit, and the metric is a time");
                Err(Complaint::new(what, format!("add the unit: `{number}ms` or `{number}s`")))
            }
            Measure::Text(text) => match duration(text) {
                Err(_) => Err(Complaint::new(format!("`{text}` is not a duration, and the metric is a time"), remedy)),
                Ok(time) if time.is_zero() || time > A_DAY => {
                    Err(Complaint::new(format!("`{text}` is out of range"), remedy))
                }
                Ok(time) => Ok(time.as_secs_f64()),
            },
        }
    }

    fn count(&self) -> Result<f64, Complaint> {
        let remedy = "write a number above 0, such as `40`, without a unit and without quotes";
        match self {
            Measure::Number(number) if number.is_finite() && *number > 0.0 => Ok(*number),
            Measure::Number(number) => Err(Complaint::new(format!("{number} is out of range"), remedy)),
            Measure::Text(text) => {
                Err(Complaint::new(format!("`{text}` is not a number, and the metric is one"), remedy))
            }
        }
    }

    fn share(&self) -> Result<f64, Complaint> {
        let remedy = "write a part of the whole, such as `90%` or `0.9`";
        let percent = |text: &str| text.strip_suffix('%').and_then(|percent| percent.trim_end().parse::<f64>().ok());
        let share = match self {
            Measure::Number(number) => *number,
            Measure::Text(text) => match percent(text) {
                Some(percent) => percent / 100.0,
                None => {
                    let what = format!("`{text}` is not a part of a whole, and the metric is one");
                    return Err(Complaint::new(what, remedy));
                }
            },
        };
        match share {
            share if share > 0.0 && share <= 1.0 => Ok(share),
            share if share > 1.0 && share <= 100.0 && matches!(self, Measure::Number(_)) => {
                Err(Complaint::new(format!("{share} is more than the whole"), format!("write `{share}%`")))
            }
            _ => Err(Complaint::new("this is no part of a whole", remedy)),
        }
    }
}

/// What is read back to the same value; without a unit, as it is kept in `state_dir`.
pub(crate) fn to_json(value: f64, unit: Option<Unit>) -> Json {
    let shown = match unit {
        Some(Unit::Seconds) => Duration::try_from_secs_f64(value).ok().map(shown_duration),
        Some(Unit::Share) => Some(format!("{}%", (value * 1e6).round() / 1e4)),
        Some(Unit::Count) | None => None,
    };
    // What the words would round is written as the number that it is.
    let same = |text: &String| unit.is_some_and(|unit| Measure::Text(text.clone()).of(unit).ok() == Some(value));
    shown.filter(same).map_or_else(|| json!(value), Json::String)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_written_in_the_unit_of_its_metric() {
        let text = |text: &str| Measure::Text(text.to_owned());
        for (measure, unit, expected) in [
            (text("5s"), Unit::Seconds, Some(5.0)),
            (text("250ms"), Unit::Seconds, Some(0.25)),
            (text("0s"), Unit::Seconds, None),
            (text("25h"), Unit::Seconds, None),
            (text("90%"), Unit::Seconds, None),
            (Measure::Number(5.0), Unit::Seconds, None),
            (Measure::Number(40.0), Unit::Count, Some(40.0)),
            (Measure::Number(1.5), Unit::Count, Some(1.5)),
            (Measure::Number(0.0), Unit::Count, None),
            (Measure::Number(-1.0), Unit::Count, None),
            (Measure::Number(f64::INFINITY), Unit::Count, None),
            (Measure::Number(f64::NAN), Unit::Count, None),
            (text("40"), Unit::Count, None),
            (text("5s"), Unit::Count, None),
            (text("90%"), Unit::Share, Some(0.9)),
            (text("99.5 %"), Unit::Share, Some(0.995)),
            (Measure::Number(0.9), Unit::Share, Some(0.9)),
            (Measure::Number(1.0), Unit::Share, Some(1.0)),
            (Measure::Number(90.0), Unit::Share, None),
            (text("101%"), Unit::Share, None),
            (text("0%"), Unit::Share, None),
            (text("much"), Unit::Share, None),
        ] {
            assert_eq!(measure.of(unit).ok(), expected, "{measure:?} {unit:?}");
        }
        assert_eq!(Measure::Number(90.0).of(Unit::Share).unwrap_err().remedy, "write `90%`");
        assert!(Measure::Number(5.0).of(Unit::Seconds).unwrap_err().remedy.contains("`5s`"));
    }

    #[test]
    fn a_threshold_is_shown_as_it_is_written() {
        for (value, unit, shown) in [
            (5.0, Some(Unit::Seconds), json!("5s")),
            (0.25, Some(Unit::Seconds), json!("250ms")),
            (0.9, Some(Unit::Share), json!("90%")),
            (40.0, Some(Unit::Count), json!(40.0)),
            (5.0, None, json!(5.0)),
        ] {
            assert_eq!(to_json(value, unit), shown);
        }
        let odd = to_json(0.123_456_789, Some(Unit::Share));
        assert_eq!(odd, json!(0.123_456_789), "what would be rounded is a number");
    }
}
