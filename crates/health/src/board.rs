//! The last word of every server on every metric, and what the servers' words add up to.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::metric::{MetricName, ServerName};
use crate::reading::{Reading, Report, Unknown};
use crate::settings::Scope;
use crate::work::Work;

#[derive(Debug, Default)]
pub struct Board {
    metrics: BTreeMap<MetricName, BTreeMap<ServerName, Standing>>,
}

/// What is known of one metric on one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The last word, whatever it was.
    pub reading: Reading,
    pub at: Instant,
    /// The last value, if nothing that is certain has been said since.
    pub value: Option<Valued>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Valued {
    pub value: f64,
    pub at: Instant,
    pub applied: Option<Work>,
}

/// What several servers say together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregate {
    Known(f64),
    /// There is no traffic to measure it on.
    Idle,
    Unknown(Unknown),
}

/// A replica whose lag is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Replica {
    pub server: ServerName,
    /// Seconds.
    pub lag: f64,
    pub applied: Option<Work>,
    pub at: Instant,
}

/// Which values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fresh {
    pub now: Instant,
    pub stale_after: Duration,
    /// Nothing from before, however young: nobody had been looking.
    pub not_before: Option<Instant>,
}

impl Fresh {
    fn counts(&self, valued: &Valued) -> bool {
        self.now.saturating_duration_since(valued.at) <= self.stale_after
            && self.not_before.is_none_or(|since| valued.at >= since)
    }
}

impl Board {
    /// Reports may overtake each other; the younger stands.
    pub fn report(&mut self, report: Report) {
        let Report { metric, server, reading, at, applied } = report;
        let servers = self.metrics.entry(metric).or_default();
        let known = servers.get(&server);
        if known.is_some_and(|known| known.at > at) {
            return;
        }
        let before = known.and_then(|known| known.value);
        let value = match reading {
            Reading::Value(value) => Some(Valued { value, at, applied }),
            Reading::Idle | Reading::Delayed => None,
            Reading::Unknown(why) => before.filter(|_| !why.is_certain()),
        };
        servers.insert(server, Standing { reading, at, value });
    }

    /// The server is none of ours any more.
    pub fn forget_server(&mut self, server: &str) {
        for servers in self.metrics.values_mut() {
            servers.remove(server);
        }
        self.metrics.retain(|_, servers| !servers.is_empty());
    }

    pub fn forget_metric(&mut self, metric: &str) {
        self.metrics.remove(metric);
    }

    /// Another server is the primary now: what was said before was said of something else.
    pub fn forget_all(&mut self) {
        self.metrics.clear();
    }

    /// Every metric, and what each server said of it.
    pub fn standings(&self) -> impl Iterator<Item = (&MetricName, &ServerName, &Standing)> {
        self.metrics
            .iter()
            .flat_map(|(metric, servers)| servers.iter().map(move |(server, standing)| (metric, server, standing)))
    }

    /// One number, by the servers that are known. A server that is not does not count, as long as another is.
    pub fn aggregate(&self, metric: &str, scope: Scope, fresh: Fresh) -> Aggregate {
        let Some(servers) = self.metrics.get(metric) else { return Aggregate::Unknown(Unknown::NotYet) };
        let mut values: Vec<f64> = servers.values().filter_map(|server| fresh_value(server, fresh)).collect();
        if values.is_empty() {
            return unknown(servers.values(), fresh);
        }
        values.sort_by(f64::total_cmp);
        let left = values.len().saturating_sub(scope.ignore_worst).max(1);
        values.truncate(left);
        let value = scope.over.of(values.into_iter());
        value.map_or(Aggregate::Unknown(Unknown::NotYet), Aggregate::Known)
    }

    /// The replicas whose lag counts, the same ones as for [`Board::aggregate`].
    pub fn replicas(&self, metric: &str, scope: Scope, fresh: Fresh) -> Vec<Replica> {
        let servers = self.metrics.get(metric).into_iter().flatten();
        let known = |(server, standing): (&ServerName, &Standing)| {
            let valued = standing.value.filter(|valued| fresh.counts(valued))?;
            Some(Replica { server: server.clone(), lag: valued.value, applied: valued.applied, at: valued.at })
        };
        let mut replicas: Vec<Replica> = servers.filter_map(known).collect();
        replicas.sort_by(|one, two| one.lag.total_cmp(&two.lag));
        let left = replicas.len().saturating_sub(scope.ignore_worst).max(1);
        replicas.truncate(left);
        replicas
    }
}

fn fresh_value(standing: &Standing, fresh: Fresh) -> Option<f64> {
    standing.value.filter(|valued| fresh.counts(valued)).map(|valued| valued.value)
}

/// The youngest word of those that have no value.
fn unknown<'a>(servers: impl Iterator<Item = &'a Standing>, fresh: Fresh) -> Aggregate {
    let counts = |standing: &&Standing| fresh.not_before.is_none_or(|since| standing.at >= since);
    let last = servers.filter(counts).max_by_key(|standing| standing.at);
    match last.map(|standing| standing.reading) {
        Some(Reading::Idle) => Aggregate::Idle,
        Some(Reading::Delayed) => Aggregate::Unknown(Unknown::NoServer),
        Some(Reading::Unknown(why)) => Aggregate::Unknown(why),
        // A value that is too old: nobody has said anything since.
        Some(Reading::Value(_)) => Aggregate::Unknown(Unknown::TimedOut),
        None => Aggregate::Unknown(Unknown::NotYet),
    }
}

#[cfg(test)]
mod tests;
