//! Everything that a run of a workload needs: the server, the load generator, who runs.

use crate::contestant::Ground;
use crate::figure::{Figure, Sample};
use crate::interrupt::Interrupt;
use crate::process::Reading;
use crate::server::Server;
use crate::sysbench::{Sysbench, Watch};
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug)]
pub struct Rig {
    pub server: Server,
    pub sysbench: Sysbench,
    pub folder: PathBuf,
    pub interrupt: Interrupt,
    /// Of a sysbench run, which knows only whole seconds.
    pub seconds: u32,
    /// Of the runs of our own client.
    pub slice: Duration,
}

impl Rig {
    pub fn ground(&self) -> Ground<'_> {
        Ground {
            upstream: self.server.address,
            account: &self.server.account,
            folder: &self.folder,
            interrupt: &self.interrupt,
        }
    }

    pub fn meter(&self, proxy: Option<u32>) -> Meter {
        Meter { proxy: Window::of(proxy), server: Window::of(self.server.pid) }
    }
}

/// Reads what the proxy and the server used during a run.
#[derive(Debug)]
pub struct Meter {
    proxy: Window,
    server: Window,
}

#[derive(Debug)]
struct Window {
    pid: Option<u32>,
    before: Option<Reading>,
    after: Option<Reading>,
}

impl Meter {
    /// Adds the CPU time for each of `count` things, under the given figure.
    pub fn record(&self, sample: &mut Sample, figure: Figure, count: f64) {
        let Some(proxy) = self.proxy.used() else { return };
        let cpu = proxy.cpu.as_secs_f64();
        sample.set(figure, cpu * 1e6 / count);
        if figure == Figure::Cpu {
            sample.set(Figure::Switches, proxy.voluntary_switches as f64 / count);
        }
        if let Some(server) = self.server.used().filter(|server| !server.cpu.is_zero()) {
            sample.set(Figure::CpuToServer, cpu / server.cpu.as_secs_f64());
        }
    }
}

impl Watch for Meter {
    fn started(&mut self) -> Result<()> {
        self.server.before = self.server.read()?;
        self.proxy.before = self.proxy.read()?;
        Ok(())
    }

    fn ended(&mut self) -> Result<()> {
        self.proxy.after = self.proxy.read()?;
        self.server.after = self.server.read()?;
        Ok(())
    }
}

impl Window {
    fn of(pid: Option<u32>) -> Self {
        Self { pid, before: None, after: None }
    }

    fn read(&self) -> Result<Option<Reading>> {
        self.pid.map(Reading::of).transpose()
    }

    fn used(&self) -> Option<crate::process::Used> {
        Some(self.before.as_ref()?.until(self.after.as_ref()?))
    }
}
