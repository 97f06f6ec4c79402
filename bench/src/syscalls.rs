//! System calls a query, by name, from `strace -c`. Under strace everything is many times slower, and what is
//! batched under load may come one at a time; so nothing is timed here.

use crate::child::{Child, Output};
use crate::contestant::Contestant;
use crate::rig::Rig;
use crate::sysbench::{Mix, Watch, on_path};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Calls of one kind.
#[derive(Clone, Debug, PartialEq)]
struct Calls {
    name: String,
    count: u64,
    errors: u64,
}

pub fn count(rig: &Rig, contestants: &[Contestant]) -> Result<()> {
    let strace = on_path("strace").context("no strace here; get it with: apt-get install strace")?;
    for connections in [1, 8, 64] {
        println!("\nSystem calls a query, text point selects, {connections} at once (under strace)");
        for contestant in contestants {
            let Some(pid) = contestant.pid else { continue };
            let mut trace = Trace { strace: strace.clone(), rig, pid, running: None, calls: Vec::new() };
            let outcome =
                rig.sysbench.run(Mix::PointSelectText, connections, rig.seconds, contestant.address, &mut trace)?;
            println!("  {:<16} {}", contestant.entry.name, describe(&trace.calls, outcome.queries));
        }
    }
    Ok(())
}

/// Attached between the moment when all connections are open and the end of the run.
struct Trace<'a> {
    strace: PathBuf,
    rig: &'a Rig,
    pid: u32,
    running: Option<Child>,
    calls: Vec<Calls>,
}

impl Watch for Trace<'_> {
    fn started(&mut self) -> Result<()> {
        let arguments =
            ["-c", "-f", "-p"].map(str::to_owned).into_iter().chain([self.pid.to_string()]).collect::<Vec<_>>();
        self.running = Some(Child::start("strace", &self.strace, &arguments, &self.rig.folder, Output::Log)?);
        Ok(())
    }

    fn ended(&mut self) -> Result<()> {
        let Some(mut strace) = self.running.take() else { return Ok(()) };
        // strace prints its table when it is interrupted.
        let pid = i32::try_from(strace.pid()).ok().and_then(Pid::from_raw).context("no process id")?;
        kill_process(pid, Signal::INT)?;
        let deadline = Instant::now() + Duration::from_secs(5);
        while strace.still_runs().is_ok() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.calls = parse(&std::fs::read_to_string(strace.log())?);
        Ok(())
    }
}

/// Lines such as ` 50.00    0.000273           9        29         1 recvfrom`; errors may be blank.
fn parse(table: &str) -> Vec<Calls> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [share, seconds, _, count, rest @ ..] = words.as_slice() else { return None };
        let (_, _): (f64, f64) = (share.parse().ok()?, seconds.parse().ok()?);
        let (errors, name) = match rest {
            [name] => (0, name),
            [errors, name] => (errors.parse().ok()?, name),
            _ => return None,
        };
        (*name != "total").then_some(Calls { name: (*name).to_owned(), count: count.parse().ok()?, errors })
    };
    table.lines().filter_map(line).collect()
}

/// The total and the names that matter, most frequent first.
fn describe(calls: &[Calls], queries: u64) -> String {
    let each = |count: u64| count as f64 / queries as f64;
    let mut sorted = calls.to_vec();
    sorted.sort_by_key(|calls| std::cmp::Reverse(calls.count));
    let names: Vec<String> = sorted
        .iter()
        .filter(|calls| each(calls.count) >= 0.01)
        .map(|calls| match calls.errors {
            0 => format!("{} {:.2}", calls.name, each(calls.count)),
            errors => format!("{} {:.2} ({:.2} in vain)", calls.name, each(calls.count), each(errors)),
        })
        .collect();
    format!("{:>6.2}   {}", each(calls.iter().map(|calls| calls.count).sum()), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_strace() {
        let table = "strace: Process 42 attached with 2 threads
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000273           9       200       100 recvfrom
 40.00    0.000100           9       100           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    0.000373           9       300       100 total
";
        let calls = parse(table);
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0], Calls { name: "recvfrom".to_owned(), count: 200, errors: 100 });
        assert_eq!(describe(&calls, 100).trim(), "3.00   recvfrom 2.00 (1.00 in vain), sendto 1.00");
    }
}
