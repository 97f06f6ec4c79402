//! What was written of a rule, key by key.

use std::fmt;

use rules::{Action, InTransaction, Mode, UnknownTables};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::active::{Clock, DaysOfWeek, Zone};
use super::matching::RawMatch;
use crate::raw::{A_YEAR, AN_HOUR};
use crate::tree::Complaint;
use crate::value::{Count, Id, Line, List, Measure, Moment, Ratio, Span, Weight, Word, Yes};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "the keys of a rule, such as `id: batch-yields`")]
pub(crate) struct RawRule {
    pub(crate) id: Option<Id>,
    #[serde(rename = "match")]
    pub(crate) matching: Option<RawMatch>,
    #[serde(rename = "do")]
    pub(crate) effect: Option<RawDo>,
    pub(crate) action: Option<Word<Action>>,
    pub(crate) max_delay: Option<Span<0, AN_HOUR>>,
    pub(crate) mode: Option<Word<Mode>>,
    pub(crate) priority: Option<Priority>,
    #[serde(rename = "override")]
    pub(crate) overrides: Option<Yes>,
    pub(crate) in_transaction: Option<Word<InTransaction>>,
    pub(crate) unknown_tables: Option<Word<UnknownTables>>,
    pub(crate) active: Option<RawActive>,
    pub(crate) expires: Option<Moment>,
    #[serde(rename = "for")]
    pub(crate) lifetime: Option<Span<1000, A_YEAR>>,
    pub(crate) permanent: Option<Yes>,
    pub(crate) created: Option<Moment>,
    pub(crate) created_by: Option<Line<200>>,
    pub(crate) reason: Option<Line<500>>,
    pub(crate) incident: Option<Id>,
    pub(crate) playbook: Option<Id>,
}

const MOST: usize = 1_000_000;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `rejection_ratio: 0.9`")]
pub(crate) struct RawDo {
    pub(crate) rejection_ratio: Option<Ratio>,
    pub(crate) exempt: Option<Yes>,
    pub(crate) hold: Option<Yes>,
    pub(crate) max_concurrency: Option<Count<0, MOST>>,
    pub(crate) max_connections: Option<Count<0, MOST>>,
    pub(crate) thresholds: Option<Thresholds>,
    pub(crate) skip_gates: Option<List<Id>>,
    pub(crate) weight: Option<Weight>,
}

/// By gate. What each is of is known only when the gates are.
pub(crate) struct Thresholds(pub(crate) Vec<(String, Measure)>);

impl<'de> Deserialize<'de> for Thresholds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ThresholdsVisitor)
    }
}

struct ThresholdsVisitor;

impl<'de> Visitor<'de> for ThresholdsVisitor {
    type Value = Thresholds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("gates and values, such as `{ replication_lag: 2s }`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Thresholds, A::Error> {
        let mut thresholds = Vec::new();
        while let Some(entry) = map.next_entry()? {
            thresholds.push(entry);
        }
        Ok(Thresholds(thresholds))
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "its keys below it, such as `days: mon-fri`")]
pub(crate) struct RawActive {
    pub(crate) days: Option<DaysOfWeek>,
    pub(crate) from: Option<Clock>,
    pub(crate) to: Option<Clock>,
    pub(crate) tz: Option<Zone>,
}

/// A whole number, also below zero.
#[derive(Clone, Copy)]
pub(crate) struct Priority(pub(crate) i32);

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(PriorityVisitor)
    }
}

const PRIORITIES: &str = "a whole number from -1000000 to 1000000; the higher owns";

struct PriorityVisitor;

impl Visitor<'_> for PriorityVisitor {
    type Value = Priority;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PRIORITIES)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Priority, E> {
        let fits = i32::try_from(number).ok().filter(|number| (-1_000_000..=1_000_000).contains(number));
        let out_of_range = || E::custom(Complaint::new("this number is out of range", format!("write {PRIORITIES}")));
        fits.map(Priority).ok_or_else(out_of_range)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Priority, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
