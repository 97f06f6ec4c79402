//! Memory a connection: the resident memory of a process that was started for this, with 1,000 connections that
//! have logged in and asked once, less what it was before them. A process that has served other rounds would
//! reuse what its allocator kept, and show nothing.

use crate::client::Client;
use crate::contestant::Contestant;
use crate::figure::{Figure, Sample};
use crate::process::resident_kib;
use crate::rig::Rig;
use anyhow::{Context, Result, ensure};
use std::net::SocketAddr;
use std::time::Duration;

pub(super) const CONNECTIONS: u32 = 1_000;
/// First connections pay for what all share: threads' stacks, pools, code pages.
const WARM_UP: u32 = 20;
const SETTLE: Duration = Duration::from_millis(300);

pub(super) fn measure(rig: &Rig, contestant: &Contestant) -> Result<Sample> {
    let fresh = contestant.entry.start(rig.ground())?;
    let pid = fresh.pid.context("a process of its own")?;
    drop(open(rig, fresh.address, WARM_UP)?);
    std::thread::sleep(SETTLE);
    let before = resident_kib(pid)?;
    let clients = open(rig, fresh.address, CONNECTIONS)?;
    std::thread::sleep(SETTLE);
    let after = resident_kib(pid)?;
    for client in clients {
        client.quit()?;
    }
    let grown = after.saturating_sub(before) as f64;
    Ok(Sample::default().with(Figure::Memory, grown / f64::from(CONNECTIONS)))
}

fn open(rig: &Rig, address: SocketAddr, count: u32) -> Result<Vec<Client>> {
    let mut clients = Vec::new();
    for _ in 0..count {
        ensure!(!rig.interrupt.asked(), "interrupted");
        let mut client = Client::connect(address, &rig.server.account, 1024)?;
        client.query("SELECT 1")?;
        clients.push(client);
    }
    Ok(clients)
}
