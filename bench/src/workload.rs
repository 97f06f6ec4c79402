//! What is run: one workload is one block of the report.

mod connect;
mod idle;
mod latency;
mod mix;
mod stream;

use crate::contestant::Contestant;
use crate::figure::Sample;
use crate::options::Options;
use crate::rig::Rig;
use crate::sysbench::Mix;
use anyhow::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    Mix { mix: Mix, connections: u32 },
    Latency,
    Stream,
    Connect { workers: u32 },
    Idle,
}

pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    for mix in [Mix::PointSelectText, Mix::PointSelectPrepared, Mix::ReadOnly, Mix::WriteOnly] {
        all.extend([1, 8, 64].map(|connections| Workload::Mix { mix, connections }));
    }
    all.extend([Workload::Latency, Workload::Stream]);
    all.extend([1, 8].map(|workers| Workload::Connect { workers }));
    all.push(Workload::Idle);
    all
}

/// Those that `--only` names, or else all of them, or those of a quick run.
pub fn chosen(mut all: Vec<Workload>, options: &Options) -> Vec<Workload> {
    let names: Vec<String> = all.iter().map(|workload| workload.name()).collect();
    let named = options.names_any(&names);
    all.retain(|workload| options.wants(&workload.name(), &names) && (named || !options.quick || workload.is_quick()));
    all
}

impl Workload {
    /// For `--only` and the JSON file.
    pub fn name(self) -> String {
        match self {
            Self::Mix { mix, connections } => format!("{}-{connections}", mix::name(mix)),
            Self::Latency => "latency".to_owned(),
            Self::Stream => "stream".to_owned(),
            Self::Connect { workers } => format!("connect-{workers}"),
            Self::Idle => "idle".to_owned(),
        }
    }

    pub fn title(self) -> String {
        match self {
            Self::Mix { mix, connections } => format!("{}, {}", mix::title(mix), counted(connections, "connection")),
            Self::Latency => "Latency of a text point select, 1 connection (own client, every query timed)".to_owned(),
            Self::Stream => "A result of 50 MB, 1 connection (own client)".to_owned(),
            Self::Connect { workers } => {
                format!("Connect, SELECT 1, leave, {} (own client)", counted(workers, "worker"))
            }
            Self::Idle => format!("{} idle connections, logged in (own client)", idle::CONNECTIONS),
        }
    }

    /// Memory is measured on fresh processes, takes seconds and varies little: some rounds of it are enough.
    pub fn rounds(self, options: &Options) -> u32 {
        match self {
            Self::Idle if options.quick => 1,
            Self::Idle => options.round_count().min(5),
            Self::Mix { .. } | Self::Latency | Self::Stream | Self::Connect { .. } => options.round_count(),
        }
    }

    pub fn measure(self, rig: &Rig, contestant: &mut Contestant) -> Result<Sample> {
        contestant.still_runs()?;
        match self {
            Self::Mix { mix, connections } => mix::measure(rig, contestant, mix, connections),
            Self::Latency => latency::measure(rig, contestant),
            Self::Stream => stream::measure(rig, contestant),
            Self::Connect { workers } => connect::measure(rig, contestant, workers),
            Self::Idle => idle::measure(rig, contestant),
        }
    }

    /// Whether there is anything to measure: memory a connection is that of a process that we can start afresh.
    pub fn suits(self, contestant: &Contestant) -> bool {
        match self {
            Self::Idle => contestant.entry.can_start_afresh(),
            Self::Mix { .. } | Self::Latency | Self::Stream | Self::Connect { .. } => true,
        }
    }

    fn is_quick(self) -> bool {
        match self {
            Self::Mix { mix, .. } => mix == Mix::PointSelectText,
            Self::Connect { workers } => workers == 8,
            Self::Latency | Self::Stream | Self::Idle => true,
        }
    }
}

fn counted(count: u32, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
