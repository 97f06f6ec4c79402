//! What the kernel knows of a process: CPU time, voluntary context switches, resident memory, threads.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// USER_HZ: what the kernel shows to programs is in hundredths of a second on every architecture Linux has today.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// A reading of a process; the difference of two is what it used between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// utime + stime, in ticks: coarse, but threads that have ended are in it.
    ticks: Duration,
    threads: BTreeMap<u32, Thread>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Thread {
    on_cpu: Duration,
    voluntary_switches: u64,
}

/// What a process used between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    pub cpu: Duration,
    pub voluntary_switches: u64,
}

impl Reading {
    pub fn of(pid: u32) -> Result<Self> {
        let ticks = cpu(pid)?;
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} is gone"))? {
            let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A thread may end between the listing and the reading: then it is not there at all.
            if let Some(thread) = Thread::read(pid, id) {
                threads.insert(id, thread);
            }
        }
        Ok(Self { ticks, threads })
    }

    /// With the same threads at both ends the scheduler's nanoseconds are exact; else the ticks, which count also
    /// the threads that have ended.
    pub fn until(&self, later: &Self) -> Used {
        let same = self.threads.keys().eq(later.threads.keys());
        let sum =
            |field: fn(&Thread) -> Duration, reading: &Self| reading.threads.values().map(field).sum::<Duration>();
        let switches = |reading: &Self| reading.threads.values().map(|thread| thread.voluntary_switches).sum::<u64>();
        let exact = sum(|thread| thread.on_cpu, later).saturating_sub(sum(|thread| thread.on_cpu, self));
        Used {
            cpu: if same { exact } else { later.ticks.saturating_sub(self.ticks) },
            voluntary_switches: switches(later).saturating_sub(switches(self)),
        }
    }

    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }
}

impl Thread {
    fn read(pid: u32, id: u32) -> Option<Self> {
        let on_cpu = on_cpu_of_schedstat(&read(pid, &format!("task/{id}/schedstat")).ok()?)?;
        let status = read(pid, &format!("task/{id}/status")).ok()?;
        Some(Self { on_cpu, voluntary_switches: field(&status, "voluntary_ctxt_switches")? })
    }
}

/// All CPU time of a process so far.
pub fn cpu(pid: u32) -> Result<Duration> {
    cpu_of_stat(&read(pid, "stat")?).context("unreadable /proc/PID/stat")
}

/// All CPU time of the children of a process that have ended and been waited for.
pub fn cpu_of_ended_children(pid: u32) -> Result<Duration> {
    ticks_at(&read(pid, "stat")?, 13).context("unreadable /proc/PID/stat")
}

/// Resident memory in KiB. `smaps_rollup` counts the pages; the counters of `status` may lag by megabytes on a
/// machine with many cores, so they come second.
pub fn resident_kib(pid: u32) -> Result<u64> {
    let rollup = read(pid, "smaps_rollup").ok().and_then(|text| field(&text, "Rss"));
    match rollup {
        Some(kib) => Ok(kib),
        None => field(&read(pid, "status")?, "VmRSS").context("no VmRSS in /proc/PID/status"),
    }
}

fn read(pid: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}

/// utime + stime, fields 14 and 15.
fn cpu_of_stat(stat: &str) -> Option<Duration> {
    ticks_at(stat, 11)
}

/// The sum of two neighbouring fields in ticks. The name in field 2 may hold spaces and brackets, so they are counted
/// from its last one: `skip` is 0 for field 3.
fn ticks_at(stat: &str, skip: usize) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(skip);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(TICK * user.checked_add(system)?)
}

/// The first field is the time on a CPU in nanoseconds.
fn on_cpu_of_schedstat(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The number behind `name:` in a file of such lines.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_a_hostile_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 900 0 0 0 123 45 7 8 20 0 3 0 100 1000 10";
        assert_eq!(cpu_of_stat(stat), Some(Duration::from_millis(1680)));
        assert_eq!(ticks_at(stat, 13), Some(Duration::from_millis(150)));
        for bad in ["", "42 (x", "42 (x) S 1 2", "42 (x) S 1 42 42 0 -1 0 0 0 0 0 a b"] {
            assert_eq!(cpu_of_stat(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn schedstat_and_status() {
        assert_eq!(on_cpu_of_schedstat("114770 0 1\n"), Some(Duration::from_nanos(114_770)));
        assert_eq!(on_cpu_of_schedstat(""), None);
        let status =
            "Name:\thaproxy\nVmRSS:\t   10240 kB\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(field(status, "VmRSS"), Some(10_240));
        assert_eq!(field(status, "voluntary_ctxt_switches"), Some(17));
        assert_eq!(field(status, "VmSwap"), None);
    }

    fn reading(ticks: u64, threads: &[(u32, u64, u64)]) -> Reading {
        let thread = |&(id, nanos, voluntary_switches): &(u32, u64, u64)| {
            (id, Thread { on_cpu: Duration::from_nanos(nanos), voluntary_switches })
        };
        Reading { ticks: Duration::from_millis(ticks), threads: threads.iter().map(thread).collect() }
    }

    #[test]
    fn exact_with_the_same_threads_and_whole_without() {
        let before = reading(10, &[(1, 1_000, 5), (2, 2_000, 5)]);
        let same = reading(20, &[(1, 1_500, 6), (2, 2_700, 9)]);
        assert_eq!(before.until(&same), Used { cpu: Duration::from_nanos(1_200), voluntary_switches: 5 });
        let one_ended = reading(30, &[(1, 1_500, 6)]);
        assert_eq!(before.until(&one_ended).cpu, Duration::from_millis(20));
    }

    #[test]
    fn this_very_process_can_be_read() {
        let pid = std::process::id();
        let first = Reading::of(pid).unwrap();
        assert!(first.thread_count() >= 1);
        assert!(resident_kib(pid).unwrap() > 0);
        assert!(Reading::of(u32::MAX).is_err());
    }
}
