//! A moment on the wall clock, for what an operator dates: expiry is absolute and survives a restart.

use std::fmt;
use std::time::Duration;

/// Milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn plus(self, duration: Duration) -> Timestamp {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(millis))
    }

    pub fn minus(self, duration: Duration) -> Timestamp {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(millis))
    }

    /// Zero if `earlier` is not earlier.
    pub fn since(self, earlier: Timestamp) -> Duration {
        u64::try_from(self.0.saturating_sub(earlier.0)).map_or(Duration::ZERO, Duration::from_millis)
    }

    /// `2026-04-21T16:00:00Z`, or with an offset; also with a space in place of the T.
    pub fn parse(text: &str) -> Option<Timestamp> {
        text.parse::<jiff::Timestamp>().ok().map(|moment| Timestamp(moment.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => moment.fmt(f),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_printed() {
        for (text, printed) in [
            ("2026-04-21T16:00:00Z", Some("2026-04-21T16:00:00Z")),
            ("2026-04-21T16:00:00+02:00", Some("2026-04-21T14:00:00Z")),
            ("2026-04-21", None),
            ("soon", None),
        ] {
            assert_eq!(Timestamp::parse(text).map(|moment| moment.to_string()).as_deref(), printed, "{text}");
        }
    }
}
