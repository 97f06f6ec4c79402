//! What can be measured of one run, and the values that a run gave.

use std::collections::BTreeMap;

/// Declared in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    Queries,
    Connections,
    Bandwidth,
    FirstByte,
    P50,
    P99,
    Cpu,
    CpuOfConnection,
    CpuOfMegabyte,
    CpuToServer,
    Switches,
    Memory,
}

impl Figure {
    pub fn name(self) -> &'static str {
        match self {
            Self::Queries => "queries a second",
            Self::Connections => "connections a second",
            Self::Bandwidth => "MB a second",
            Self::FirstByte => "first byte, µs",
            Self::P50 => "latency p50, µs",
            Self::P99 => "latency p99, µs",
            Self::Cpu => "CPU a query, µs",
            Self::CpuOfConnection => "CPU a connection, µs",
            Self::CpuOfMegabyte => "CPU a MB, µs",
            Self::CpuToServer => "CPU over mysqld's",
            Self::Switches => "vol. switches a query",
            Self::Memory => "KiB a connection",
        }
    }

    /// The name of the figure in the JSON file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Queries => "queries_per_second",
            Self::Connections => "connections_per_second",
            Self::Bandwidth => "megabytes_per_second",
            Self::FirstByte => "first_byte_us",
            Self::P50 => "p50_us",
            Self::P99 => "p99_us",
            Self::Cpu => "cpu_us_per_query",
            Self::CpuOfConnection => "cpu_us_per_connection",
            Self::CpuOfMegabyte => "cpu_us_per_megabyte",
            Self::CpuToServer => "cpu_over_server_cpu",
            Self::Switches => "voluntary_switches_per_query",
            Self::Memory => "kib_per_connection",
        }
    }
}

/// The values of one run of one contestant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample(BTreeMap<Figure, f64>);

impl Sample {
    pub fn with(mut self, figure: Figure, value: f64) -> Self {
        self.set(figure, value);
        self
    }

    pub fn set(&mut self, figure: Figure, value: f64) {
        self.0.insert(figure, value);
    }

    pub fn value(&self, figure: Figure) -> Option<f64> {
        self.0.get(&figure).copied()
    }

    pub fn figures(&self) -> impl Iterator<Item = (Figure, f64)> {
        self.0.iter().map(|(figure, value)| (*figure, *value))
    }
}
