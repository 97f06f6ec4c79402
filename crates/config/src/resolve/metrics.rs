//! Metrics that are not built in.

use std::time::Duration;

use health::BuiltIn;

use super::{Resolver, Surrounding};
use crate::gate::{Metric, MetricQuestion, On};
use crate::raw::RawMetric;
use crate::tree::{At, KeyPath, Node, read_at};
use crate::value::Id;

const INTERVAL: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(1);

impl Resolver<'_> {
    pub(super) fn metrics(&mut self, node: Option<&Node>, around: &Surrounding) -> Vec<Metric> {
        let place = KeyPath::of("metrics");
        let remedy = "write names and the keys of each, such as `purge_lag: { sql: \"SELECT …\" }`";
        let mut metrics = Vec::new();
        for (name, node) in self.entries(node, &place, "metrics", remedy) {
            let place = place.key(name);
            if let Err(complaint) = Id::parse(name) {
                self.refuse_at(place.clone(), At::Key, complaint.what, complaint.remedy);
            }
            if BuiltIn::named(name).is_some() {
                let what = format!("`{name}` is measured by the proxy itself");
                self.refuse_at(
                    place.clone(),
                    At::Key,
                    what,
                    "choose another name, or take it out and write a gate on it",
                );
            }
            let mut found = Vec::new();
            let raw: Option<RawMetric> = read_at(node, &place, &mut found);
            let whole = found.is_empty();
            self.troubles.extend(found);
            if let Some(raw) = raw.filter(|_| whole) {
                metrics.extend(self.metric(name, raw, &place, around));
            }
        }
        metrics
    }

    fn metric(&mut self, name: &str, raw: RawMetric, place: &KeyPath, around: &Surrounding) -> Option<Metric> {
        let on = raw.on.map(|word| word.0);
        let ask = match (raw.sql, raw.http) {
            (Some(sql), None) => MetricQuestion::Sql { sql: sql.0, on: on.unwrap_or_default() },
            (None, Some(url)) => {
                if on.is_some() {
                    let what = "an address is asked as it is, on no server of the database";
                    self.refuse_at(place.key("on"), At::Key, what, "take it out");
                }
                MetricQuestion::Http { url: url.0 }
            }
            (Some(_), Some(_)) => {
                self.refuse_at(place.key("http"), At::Key, "`sql` and `http` both say what to ask", "keep one of them");
                return None;
            }
            (None, None) => {
                let remedy = "add `sql: \"SELECT …\"` or `http: \"http://host:port/path\"`";
                self.refuse_at(place.clone(), At::Key, "it does not say what to ask", remedy);
                return None;
            }
        };
        if let MetricQuestion::Sql { on, .. } = &ask {
            self.refuse_without_probe(place, around);
            if *on == On::Replicas {
                self.refuse_without_replicas(&place.key("on"), around);
            }
        }
        Some(Metric {
            name: name.into(),
            unit: raw.unit.map(|word| word.0).unwrap_or_default(),
            ask,
            interval: raw.interval.map_or(INTERVAL, |span| span.0),
            timeout: raw.timeout.map_or(TIMEOUT, |span| span.0),
        })
    }
}
