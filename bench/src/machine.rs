//! What it was measured on, and how busy that was.

use std::fs;

#[derive(Clone, Debug)]
pub struct Machine {
    pub cores: usize,
    pub processor: String,
    pub kernel: String,
}

impl Machine {
    pub fn here() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: processor.map_or("unknown processor", |(_, name)| name.trim()).to_owned(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        }
    }
}

/// Over the last minute; before the run it says what others do here.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
