//! System calls a query, by name, from `strace -c`. Under strace everything is many times slower, and what is
//! batched under load may come one at a time; so nothing is timed here.

use crate::child::{Child, Output};
use crate::client::Client;
use crate::contestant::Contestant;
use crate::rig::Rig;
use crate::sysbench::{ROWS, on_path};
use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// In all, over the connections.
const QUERIES: u32 = 6_400;
const PATIENCE: Duration = Duration::from_secs(10);

/// Calls of one kind.
#[derive(Clone, Debug, PartialEq)]
struct Calls {
    name: String,
    count: u64,
    errors: u64,
}

/// Prints them for each contestant that has a process, at 1, 8 and 64 connections.
pub fn count(rig: &Rig, contestants: &[Contestant]) -> Result<()> {
    let strace = on_path("strace").context("no strace here; get it with: apt-get install strace")?;
    for connections in [1, 8, 64] {
        println!("\nSystem calls a query, text point selects, {connections} at once (under strace, own client)");
        for contestant in contestants {
            let Some(pid) = contestant.pid else { continue };
            ensure!(!rig.interrupt.asked(), "interrupted");
            let calls = trace(rig, &strace, contestant, pid, connections)?;
            println!("  {:<16} {}", contestant.entry.name, describe(&calls, QUERIES.into()));
        }
    }
    Ok(())
}

/// strace is attached when all connections are open and idle, and the queries are counted by us: a query that ran
/// before it was attached would count as one without system calls.
fn trace(rig: &Rig, strace: &Path, contestant: &Contestant, pid: u32, connections: u32) -> Result<Vec<Calls>> {
    let connect = |_| Client::connect(contestant.address, &rig.server.account, 1024);
    let mut clients = (0..connections).map(connect).collect::<Result<Vec<_>>>()?;
    let arguments = ["-c".to_owned(), "-f".to_owned(), "-p".to_owned(), pid.to_string()];
    let mut tracer = Child::start("strace", strace, &arguments, &rig.folder, Output::Log)?;
    wait_for(|| tracer.still_runs().map(|()| log(&tracer).contains("attached"))).context("strace does not attach")?;
    thread::scope(|scope| {
        let ask = |client| scope.spawn(move || ask(client, QUERIES / connections));
        let all: Vec<_> = clients.iter_mut().map(ask).collect();
        all.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a client panicked"))?)
    })?;
    // strace prints its table when it is interrupted.
    let tracer_pid = i32::try_from(tracer.pid()).ok().and_then(Pid::from_raw).context("no process id")?;
    kill_process(tracer_pid, Signal::INT)?;
    wait_for(|| Ok(tracer.still_runs().is_err())).context("strace does not end")?;
    Ok(parse(&log(&tracer)))
}

fn ask(client: &mut Client, queries: u32) -> Result<()> {
    for number in 0..queries {
        client.query(&format!("SELECT c FROM sbtest1 WHERE id={}", number % ROWS + 1))?;
    }
    Ok(())
}

fn log(child: &Child) -> String {
    std::fs::read_to_string(child.log()).unwrap_or_default()
}

fn wait_for(mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !condition()? {
        ensure!(Instant::now() < deadline, "not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
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
