//! Throughput and latency under sysbench's own scripts.

use crate::contestant::Contestant;
use crate::figure::{Figure, Sample};
use crate::rig::Rig;
use crate::sysbench::Mix;
use anyhow::Result;

pub(super) fn name(mix: Mix) -> &'static str {
    match mix {
        Mix::PointSelectText => "text",
        Mix::PointSelectPrepared => "prepared",
        Mix::ReadOnly => "read-only",
        Mix::WriteOnly => "write-only",
    }
}

pub(super) fn title(mix: Mix) -> &'static str {
    match mix {
        Mix::PointSelectText => "Point selects, text",
        Mix::PointSelectPrepared => "Point selects, prepared",
        Mix::ReadOnly => "Read-only mix (latency of a transaction)",
        Mix::WriteOnly => "Write-only mix (latency of a transaction)",
    }
}

pub(super) fn measure(rig: &Rig, contestant: &Contestant, mix: Mix, connections: u32) -> Result<Sample> {
    let mut meter = rig.meter(contestant.pid);
    let outcome = rig.sysbench.run(mix, connections, rig.seconds, contestant.address, &mut meter)?;
    let queries = outcome.queries as f64;
    let mut sample = Sample::default()
        .with(Figure::Queries, queries / outcome.time.as_secs_f64())
        .with(Figure::P50, outcome.p50.as_secs_f64() * 1e6)
        .with(Figure::P99, outcome.p99.as_secs_f64() * 1e6);
    meter.record(&mut sample, Figure::Cpu, queries);
    Ok(sample)
}
