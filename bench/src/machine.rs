//! What it was measured on, and how busy that was.

use crate::process::{TICK, cpu, cpu_of_ended_children};
use std::fs;
use std::time::{Duration, Instant};

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

/// How much of the machine was not ours during a run: the noise to reckon with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disturbance {
    /// Shares of all CPU time, from 0 to 1.
    pub others: f64,
    pub stolen: f64,
}

/// A moment of the whole machine and of what is ours on it.
#[derive(Clone, Debug)]
pub struct Moment {
    at: Instant,
    all: Busy,
    ours: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Busy {
    working: Duration,
    /// What the hypervisor gave to other guests.
    stolen: Duration,
}

impl Moment {
    /// Now, with these processes being ours beside this one and its children that have ended.
    pub fn now(ours: &[u32]) -> Option<Self> {
        let here = std::process::id();
        let running: Duration = ours.iter().chain([&here]).filter_map(|pid| cpu(*pid).ok()).sum();
        let ended = cpu_of_ended_children(here).ok()?;
        let all = busy(&fs::read_to_string("/proc/stat").ok()?)?;
        Some(Self { at: Instant::now(), all, ours: running + ended })
    }

    pub fn until(&self, later: &Self, cores: usize) -> Disturbance {
        let capacity = later.at.duration_since(self.at).as_secs_f64() * cores as f64;
        let working = later.all.working.saturating_sub(self.all.working);
        let others = working.saturating_sub(later.ours.saturating_sub(self.ours));
        let stolen = later.all.stolen.saturating_sub(self.all.stolen);
        Disturbance { others: others.as_secs_f64() / capacity, stolen: stolen.as_secs_f64() / capacity }
    }
}

/// The first line of /proc/stat: user nice system idle iowait irq softirq steal …, in ticks over all cores.
fn busy(stat: &str) -> Option<Busy> {
    let ticks: Vec<u32> =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map_while(|n| n.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks.as_slice() else { return None };
    Some(Busy { working: TICK * (user + nice + system + irq + softirq), stolen: TICK * *steal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_s_time() {
        let expected = Busy { working: Duration::from_millis(1500), stolen: Duration::from_millis(80) };
        assert_eq!(busy("cpu  100 20 30 9999 8 0 0 8 0 0\ncpu0 1 2 3\n"), Some(expected));
        assert_eq!(busy("cpu  100 20"), None);
        assert_eq!(busy(""), None);
    }

    #[test]
    fn what_is_not_ours_is_the_others() {
        let at = Instant::now();
        let moment = |seconds, working, stolen, ours| Moment {
            at: at + Duration::from_secs(seconds),
            all: Busy { working: Duration::from_secs(working), stolen: Duration::from_secs(stolen) },
            ours: Duration::from_secs(ours),
        };
        let seen = moment(0, 100, 0, 50).until(&moment(10, 118, 1, 58), 2);
        assert_eq!(seen, Disturbance { others: 0.5, stolen: 0.05 });
    }
}
