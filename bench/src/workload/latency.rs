//! The latency of single queries at one connection, from our own client: sysbench's histogram has buckets of
//! 1.8 % and its Lua between the queries, this has the clock around send and receive and nothing else.

use crate::client::Client;
use crate::contestant::Contestant;
use crate::figure::{Figure, Sample};
use crate::rig::Rig;
use crate::stats::percentile;
use crate::sysbench::{ROWS, Watch};
use anyhow::{Context, Result};
use std::time::Instant;

const WARM_UP: u32 = 200;

pub(super) fn measure(rig: &Rig, contestant: &Contestant) -> Result<Sample> {
    let mut client = Client::connect(contestant.address, &rig.server.account, 16 << 10)?;
    let mut ids = Ids(1);
    for _ in 0..WARM_UP {
        client.query(&ids.next_query())?;
    }
    let mut meter = rig.meter(contestant.pid);
    meter.started()?;
    let begun = Instant::now();
    let mut nanoseconds = Vec::with_capacity(32 << 10);
    while begun.elapsed() < rig.slice {
        let whole = client.query(&ids.next_query())?.whole;
        nanoseconds.push(u64::try_from(whole.as_nanos())?);
    }
    let elapsed = begun.elapsed();
    meter.ended()?;
    client.quit()?;
    summarise(nanoseconds, elapsed.as_secs_f64(), |sample, count| meter.record(sample, Figure::Cpu, count))
}

fn summarise(mut nanoseconds: Vec<u64>, seconds: f64, record: impl Fn(&mut Sample, f64)) -> Result<Sample> {
    nanoseconds.sort_unstable();
    let micros = |share| percentile(&nanoseconds, share).map(|value| value as f64 / 1e3).context("no query was run");
    let mut sample = Sample::default()
        .with(Figure::Queries, nanoseconds.len() as f64 / seconds)
        .with(Figure::P50, micros(0.50)?)
        .with(Figure::P99, micros(0.99)?);
    record(&mut sample, nanoseconds.len() as f64);
    Ok(sample)
}

/// Ids all over the table, the same for every contestant: a step that shares no factor with the table's size.
struct Ids(u32);

impl Ids {
    fn next_query(&mut self) -> String {
        self.0 = (self.0 + 7_919) % ROWS;
        format!("SELECT c FROM sbtest1 WHERE id={}", self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_in_microseconds() {
        let sample = summarise((1..=100).rev().map(|n| n * 1_000).collect(), 2.0, |_, _| {}).unwrap();
        let seen = [Figure::Queries, Figure::P50, Figure::P99].map(|figure| sample.value(figure));
        assert_eq!(seen, [Some(50.0), Some(50.0), Some(99.0)]);
        assert!(summarise(Vec::new(), 1.0, |_, _| {}).is_err());
    }
}
