//! Connections a second: connect, log in, ask once, leave.

use crate::client::{Account, Client};
use crate::contestant::Contestant;
use crate::figure::{Figure, Sample};
use crate::rig::Rig;
use crate::sysbench::Watch;
use anyhow::{Context, Result, anyhow};
use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

pub(super) fn measure(rig: &Rig, contestant: &Contestant, workers: u32) -> Result<Sample> {
    let mut meter = rig.meter(contestant.pid);
    meter.started()?;
    let begun = Instant::now();
    let (address, account) = (contestant.address, &rig.server.account);
    let count = thread::scope(|scope| {
        let work = || visit_until(address, account, begun + rig.slice);
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter().map(|one| one.join().map_err(|_| anyhow!("a worker panicked"))?).sum::<Result<u32>>()
    })?;
    let elapsed = begun.elapsed();
    meter.ended()?;
    let mut sample = Sample::default().with(Figure::Connections, f64::from(count) / elapsed.as_secs_f64());
    meter.record(&mut sample, Figure::CpuOfConnection, f64::from(count));
    Ok(sample)
}

fn visit_until(address: SocketAddr, account: &Account, end: Instant) -> Result<u32> {
    let mut visits = 0;
    while Instant::now() < end {
        let mut client = Client::connect(address, account, 1024).context("a connection failed")?;
        client.query("SELECT 1")?;
        client.quit()?;
        visits += 1;
    }
    Ok(visits)
}
