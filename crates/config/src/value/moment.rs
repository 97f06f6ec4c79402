//! `2026-04-21T16:00:00Z`: a moment that means the same on every machine.

use rules::Timestamp;
use serde::de::{Deserialize, Deserializer};

use super::read_text;
use crate::tree::Complaint;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl Moment {
    fn parse(text: &str) -> Result<Self, Complaint> {
        Timestamp::parse(text).map(Moment).ok_or_else(|| {
            let whole = |zone: &str, rest: &str| Timestamp::parse(&format!("{text}{rest}{zone}")).is_some();
            let remedy = match () {
                () if whole("Z", "") => format!("say which zone's time it is: `{text}Z` is UTC, `{text}+02:00` is not"),
                () if whole("Z", "T00:00:00") => format!("add the time of day: `{text}T00:00:00Z`"),
                () => {
                    "write date, time and zone, as in `2026-04-21T16:00:00Z` or `2026-04-21T18:00:00+02:00`".to_owned()
                }
            };
            Complaint::new(format!("`{text}` is not a moment"), remedy)
        })
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a moment, such as `2026-04-21T16:00:00Z`", Self::parse)
    }
}
