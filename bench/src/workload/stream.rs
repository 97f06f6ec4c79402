//! One query that streams about 50 MB: how soon it begins and how fast it comes.

use crate::client::Client;
use crate::contestant::Contestant;
use crate::figure::{Figure, Sample};
use crate::rig::Rig;
use crate::server::BIG_QUERY;
use crate::sysbench::Watch;
use anyhow::Result;

/// Large enough that the client is not what is measured.
const BUFFER: usize = 256 << 10;

pub(super) fn measure(rig: &Rig, contestant: &Contestant) -> Result<Sample> {
    let mut client = Client::connect(contestant.address, &rig.server.account, BUFFER)?;
    let mut meter = rig.meter(contestant.pid);
    meter.started()?;
    let reply = client.query(BIG_QUERY)?;
    meter.ended()?;
    client.quit()?;
    let megabytes = reply.bytes as f64 / 1e6;
    let mut sample = Sample::default()
        .with(Figure::Bandwidth, megabytes / reply.whole.as_secs_f64())
        .with(Figure::FirstByte, reply.first_byte.as_secs_f64() * 1e6);
    meter.record(&mut sample, Figure::CpuOfMegabyte, megabytes);
    Ok(sample)
}
