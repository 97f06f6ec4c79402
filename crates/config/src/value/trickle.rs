//! `1/s`, `10/s`, `1/10s`, `0`: how much passes a closed gate.

use std::time::Duration;

use serde::de::{Deserialize, Deserializer};

use super::{duration, read_measure, shown_duration};
use crate::tree::Complaint;

/// Units a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trickle(pub(crate) f64);

const MOST: f64 = 1000.0;
const REMEDY: &str = "write how many in what time, such as `1/s`, `10/s` or `1/10s`, or `0` for none";

impl Trickle {
    pub(crate) fn parse(text: &str) -> Result<Self, Complaint> {
        if text == "0" {
            return Ok(Trickle(0.0));
        }
        let wrong = || Complaint::new(format!("`{text}` is not a rate"), REMEDY);
        let (count, time) = text.split_once('/').ok_or_else(wrong)?;
        let count: u32 = count.trim_end().parse().map_err(|_| wrong())?;
        let time = time.trim_start();
        let one = format!("1{time}");
        let time = if time.starts_with(|c: char| c.is_ascii_digit()) { time } else { &one };
        let time = duration(time).map_err(|_| wrong())?;
        let rate = f64::from(count) / time.as_secs_f64();
        match rate {
            rate if rate > 0.0 && rate <= MOST => Ok(Trickle(rate)),
            rate if rate > MOST => {
                let what = format!("`{text}` is no trickle any more");
                Err(Complaint::new(what, format!("write at most `{MOST}/s`, or a higher threshold")))
            }
            _ => Err(wrong()),
        }
    }
}

impl<'de> Deserialize<'de> for Trickle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_measure(deserializer, "how many in what time, such as `1/s` or `1/10s`, or `0` for none", Self::parse)
    }
}

/// As a user would write it.
pub(crate) fn shown(rate: f64) -> String {
    if rate <= 0.0 {
        return "0".to_owned();
    }
    if rate >= 1.0 {
        return format!("{rate}/s");
    }
    Duration::try_from_secs_f64(1.0 / rate)
        .map_or_else(|_| "0".to_owned(), |time| format!("1/{}", shown_duration(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_shown() {
        for (text, rate, printed) in [
            ("0", Some(0.0), "0"),
            ("1/s", Some(1.0), "1/s"),
            ("10/s", Some(10.0), "10/s"),
            ("1/10s", Some(0.1), "1/10s"),
            ("1/m", Some(1.0 / 60.0), "1/1m"),
            ("2/100ms", Some(20.0), "20/s"),
            ("1 / 10s", Some(0.1), "1/10s"),
            ("1000/s", Some(1000.0), "1000/s"),
            ("1001/s", None, ""),
            ("0/s", None, ""),
            ("1/0s", None, ""),
            ("1", None, ""),
            ("-1/s", None, ""),
            ("1.5/s", None, ""),
            ("s/1", None, ""),
            ("1/", None, ""),
        ] {
            let read = Trickle::parse(text).ok().map(|trickle| trickle.0);
            assert_eq!(read, rate, "{text}");
            assert_eq!(read.map(shown).unwrap_or_default(), printed, "{text}");
        }
    }
}
