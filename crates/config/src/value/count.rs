//! Whole numbers.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::plan::Workers;
use crate::tree::Complaint;

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count<const MIN: usize, const MAX: usize>(pub(crate) usize);

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Count<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(CountVisitor::<MIN, MAX>)
    }
}

struct CountVisitor<const MIN: usize, const MAX: usize>;

impl<const MIN: usize, const MAX: usize> Visitor<'_> for CountVisitor<MIN, MAX> {
    type Value = Count<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}, without quotes")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        usize::try_from(number).ok().filter(|number| (MIN..=MAX).contains(number)).map(Count).ok_or_else(|| {
            let what = if number == 0 { "0 shuts everyone out" } else { "this number is out of range" };
            E::custom(Complaint::new(what, format!("write a whole number from {MIN} to {MAX}")))
        })
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        let remedy = format!("write a whole number from {MIN} to {MAX}");
        Err(E::custom(Complaint::new("this number is out of range", remedy)))
    }
}

/// `auto`, or how many threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerCount(pub(crate) Workers);

impl<'de> Deserialize<'de> for WorkerCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WorkersVisitor)
    }
}

const WORKERS: &str = "`auto` (one thread a core), or a whole number from 1 to 1024";

struct WorkersVisitor;

impl Visitor<'_> for WorkersVisitor {
    type Value = WorkerCount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WORKERS)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        match usize::try_from(number) {
            Ok(count @ 1..=1024) => Ok(WorkerCount(Workers::Exactly(count))),
            _ => Err(E::custom(Complaint::new("this number is out of range", format!("write {WORKERS}")))),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "auto" => Ok(WorkerCount(Workers::Auto)),
            _ => Err(E::custom(Complaint::new(
                format!("`{text}` is not a number of threads"),
                format!("write {WORKERS}"),
            ))),
        }
    }
}
