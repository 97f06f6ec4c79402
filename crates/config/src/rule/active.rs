//! `active`: days of the week, hours of the day, and whose time.

use std::fmt;

use jiff::tz::TimeZone;
use rules::Days;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::closest::closest;
use crate::tree::Complaint;
use crate::value::read_text;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// `mon-fri`, `sat`, or a list of such.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DaysOfWeek(pub(crate) Days);

impl<'de> Deserialize<'de> for DaysOfWeek {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DaysVisitor)
    }
}

struct DaysVisitor;

impl<'de> Visitor<'de> for DaysVisitor {
    type Value = DaysOfWeek;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("days, such as `mon-fri` or `[mon, wed]`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<DaysOfWeek, E> {
        days(text).map(DaysOfWeek).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<DaysOfWeek, A::Error> {
        let mut all = Days(0);
        while let Some(DaysOfWeek(Days(more))) = list.next_element()? {
            all.0 |= more;
        }
        Ok(DaysOfWeek(all))
    }
}

fn days(text: &str) -> Result<Days, Complaint> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (day(first.trim())?, day(last.trim())?);
    let mut all = 0;
    let mut next = first;
    loop {
        all |= 1 << next;
        if next == last {
            return Ok(Days(all));
        }
        next = (next + 1) % DAYS.len();
    }
}

fn day(text: &str) -> Result<usize, Complaint> {
    DAYS.iter().position(|day| *day == text).ok_or_else(|| {
        let short: String = text.chars().take(3).collect::<String>().to_lowercase();
        let near = DAYS.iter().find(|day| **day == short).copied().or_else(|| closest(text, &DAYS));
        let remedy = match near {
            Some(near) => format!("write `{near}`"),
            None => {
                "write `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`, or from one to another: `mon-fri`".to_owned()
            }
        };
        Complaint::new(format!("`{text}` is no day of the week"), remedy)
    })
}

/// As a user would write it: a range where the days follow each other, else all of them.
pub(super) fn days_shown(days: Days) -> Vec<String> {
    let has = |day: usize| days.0 & (1 << (day % DAYS.len())) != 0;
    let count = days.0.count_ones() as usize;
    let start = (0..DAYS.len()).find(|day| has(*day) && !has(day + DAYS.len() - 1));
    let run = |start: usize| (0..count).all(|step| has(start + step));
    match start {
        Some(start) if count > 2 && run(start) => {
            let name = |day: usize| DAYS.get(day % DAYS.len()).copied().unwrap_or_default();
            vec![format!("{}-{}", name(start), name(start + count - 1))]
        }
        _ => DAYS.iter().enumerate().filter(|(day, _)| has(*day)).map(|(_, name)| (*name).to_owned()).collect(),
    }
}

/// Minutes since midnight, to 24:00.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(pub(crate) u16);

impl Clock {
    fn parse(text: &str) -> Result<Self, Complaint> {
        let parsed = text.split_once(':').and_then(|(hours, minutes)| {
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let whole = (1..=2).contains(&hours.len()) && minutes.len() == 2 && digits(hours) && digits(minutes);
            let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
            let time = hours * 60 + minutes;
            (whole && minutes < 60 && time <= 24 * 60).then_some(Clock(time))
        });
        let remedy = "write hours and minutes, from `00:00` to `24:00`";
        parsed.ok_or_else(|| Complaint::new(format!("`{text}` is no time of the day"), remedy))
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a time of the day in quotes, such as `\"08:00\"`", Self::parse)
    }
}

/// By its name in the IANA database.
#[derive(Debug, Clone)]
pub(crate) struct Zone(pub(crate) TimeZone);

impl Zone {
    fn parse(text: &str) -> Result<Self, Complaint> {
        // Only names: what has no name could not be written down again.
        let known = jiff::tz::db().get(text).ok().filter(|zone| zone.iana_name().is_some());
        known.map(Zone).ok_or_else(|| {
            let all: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
            let names: Vec<&str> = all.iter().map(String::as_str).collect();
            let city = |name: &&&str| name.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(text));
            let remedy = match names.iter().find(city).copied().or_else(|| nearest(text, &names)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "write a name of the IANA database, such as `Europe/Berlin` or `UTC`".to_owned(),
            };
            Complaint::new(format!("`{text}` is no time zone"), remedy)
        })
    }
}

/// Their names have capitals, which `closest` does not look at in the word.
fn nearest<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let found = closest(text, &lower.iter().map(String::as_str).collect::<Vec<_>>())?.to_owned();
    lower.iter().position(|name| *name == found).and_then(|position| names.get(position)).copied()
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a time zone, such as `Europe/Berlin`", Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Zone, days, days_shown};

    #[test]
    fn days_are_read_and_printed() {
        for (text, bits, printed) in [
            ("mon-fri", 0b001_1111, "mon-fri"),
            ("sat", 0b010_0000, "sat"),
            ("fri-mon", 0b111_0001, "fri-mon"),
            ("mon-sun", 0b111_1111, "mon,tue,wed,thu,fri,sat,sun"),
            ("sat-sun", 0b110_0000, "sat,sun"),
        ] {
            let read = days(text).unwrap();
            assert_eq!((read.0, days_shown(read).join(",").as_str()), (bits, printed), "{text}");
        }
        for (text, remedy) in
            [("monday", "`mon`"), ("Fri", "`fri`"), ("tues-fri", "`tue`"), ("1-5", "`mon-fri`"), ("", "`mon-fri`")]
        {
            assert!(days(text).unwrap_err().remedy.contains(remedy), "{text}");
        }
    }

    #[test]
    fn times_are_read() {
        for (text, minutes) in [
            ("08:00", Some(480)),
            ("8:05", Some(485)),
            ("24:00", Some(1440)),
            ("00:00", Some(0)),
            ("24:01", None),
            ("12:60", None),
            ("8", None),
            ("08:0", None),
            ("+8:00", None),
            ("008:00", None),
        ] {
            assert_eq!(Clock::parse(text).ok().map(|clock| clock.0), minutes, "{text}");
        }
    }

    #[test]
    fn zones_are_known_by_name() {
        for (text, remedy) in
            [("Berlin", "Europe/Berlin"), ("Europe/Berln", "Europe/Berlin"), ("CET+1", "IANA"), ("", "IANA")]
        {
            assert!(Zone::parse(text).unwrap_err().remedy.contains(remedy), "{text}");
        }
        assert_eq!(Zone::parse("europe/berlin").unwrap().0.iana_name(), Some("Europe/Berlin"));
    }
}
