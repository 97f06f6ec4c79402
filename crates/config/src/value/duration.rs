//! `250ms`, `5s`, `2m`, `1h`, `1h30m`.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer};

use super::read_measure;
use crate::tree::Complaint;

/// A duration from `MIN` to `MAX` milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<const MIN: u64, const MAX: u64>(pub(crate) Duration);

impl<const MIN: u64, const MAX: u64> Span<MIN, MAX> {
    fn parse(text: &str) -> Result<Self, Complaint> {
        let Some(millis) = millis(text) else {
            return Err(Complaint::new(format!("`{text}` is not a duration"), remedy(text)));
        };
        let fits = format!("write a duration from `{}` to `{}`", shown(MIN), shown(MAX));
        match millis {
            short if short < MIN => Err(Complaint::new(format!("`{text}` is too short"), fits)),
            long if long > MAX => Err(Complaint::new(format!("`{text}` is too long"), fits)),
            millis => Ok(Span(Duration::from_millis(millis))),
        }
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Span<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_measure(deserializer, "a duration with its unit, such as `250ms`, `5s` or `1h30m`", Self::parse)
    }
}

const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Whole numbers with units from the largest to the smallest, each at most once.
fn millis(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut larger = UNITS.as_slice();
    while !rest.is_empty() || rest.len() == text.len() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let unit_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let position = larger.iter().position(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(larger[position].1)?)?;
        larger = &larger[position + 1..];
        rest = after;
    }
    Some(total)
}

fn remedy(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
        return format!("add the unit: `{text}ms`, `{text}s`, `{text}m` or `{text}h`");
    }
    "write whole numbers with `h`, `m`, `s` or `ms`, such as `250ms`, `5s` or `1h30m`".to_owned()
}

/// A duration as an operator writes it, such as `2h` or `1h30m`; or what is wrong with it and what to write.
pub fn duration(text: &str) -> Result<Duration, String> {
    millis(text).map(Duration::from_millis).ok_or_else(|| format!("`{text}` is not a duration; {}", remedy(text)))
}

/// As a user would write it.
pub(crate) fn shown_duration(duration: Duration) -> String {
    shown(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// The same from milliseconds.
pub(crate) fn shown(millis: u64) -> String {
    let mut rest = millis;
    let mut text = String::new();
    for (unit, size) in UNITS {
        if rest >= size {
            text.push_str(&format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::{millis, shown};

    #[test]
    fn durations_are_read() {
        for (text, expected) in [
            ("250ms", Some(250)),
            ("5s", Some(5000)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("1h30m", Some(5_400_000)),
            ("1s500ms", Some(1500)),
            ("0s", Some(0)),
            ("90m", Some(5_400_000)),
            ("", None),
            ("5", None),
            ("s", None),
            ("5 s", None),
            ("-5s", None),
            ("1.5s", None),
            ("30m1h", None),
            ("1s1s", None),
            ("5sec", None),
            ("5S", None),
            ("1h30", None),
            ("99999999999999999999s", None),
            ("18446744073709551615h", None),
        ] {
            assert_eq!(millis(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_shown_is_read_back() {
        for value in [0, 1, 999, 1000, 60_000, 5_400_000, 86_400_000, 3_661_001] {
            assert_eq!(millis(&shown(value)), Some(value));
        }
    }
}
