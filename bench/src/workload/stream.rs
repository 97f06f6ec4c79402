//! One query that streams about 50 MB: how soon it begins and how fast it comes.

use crate::client::Client;
use crate::contestant::Contestant;
use crate::figure::{Figure, Sample};
use crate::rig::Rig;
use crate::server::BIG_QUERY;
use crate::stats::median;
use crate::sysbench::Watch;
use anyhow::{Context, Result};
use std::time::Duration;

/// Large enough that the client is not what is measured.
const BUFFER: usize = 256 << 10;

pub(super) fn measure(rig: &Rig, contestant: &Contestant) -> Result<Sample> {
    let mut client = Client::connect(contestant.address, &rig.server.account, BUFFER)?;
    let mut meter = rig.meter(contestant.pid);
    let (mut bytes, mut time, mut first_bytes) = (0, Duration::ZERO, Vec::new());
    meter.started()?;
    // Several results a run: one first byte alone says more about the scheduler than about the proxy.
    while time < rig.slice {
        let reply = client.query(BIG_QUERY)?;
        bytes += reply.bytes;
        time += reply.whole;
        first_bytes.push(reply.first_byte.as_secs_f64() * 1e6);
    }
    meter.ended()?;
    client.quit()?;
    let megabytes = bytes as f64 / 1e6;
    let mut sample = Sample::default()
        .with(Figure::Bandwidth, megabytes / time.as_secs_f64())
        .with(Figure::FirstByte, median(&first_bytes).context("no result came")?.value);
    meter.record(&mut sample, Figure::CpuOfMegabyte, megabytes);
    Ok(sample)
}
