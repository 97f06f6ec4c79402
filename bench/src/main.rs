//! `cargo run --release -p bench -- --quick`: see README.md.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use bench::client::Account;
use bench::contestant::{self, Contestant, Entry};
use bench::interrupt::Interrupt;
use bench::machine::{Machine, Moment, load_average};
use bench::options::Options;
use bench::rig::Rig;
use bench::rounds::Rounds;
use bench::server::Server;
use bench::sysbench::{Sysbench, on_path};
use bench::workload::{self, Workload};
use bench::{report, syscalls};
use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = Options::parse();
    let programs = std::env::current_exe()?;
    let programs = programs.parent().context("this program is in no folder")?;
    let (workloads, entries) = (workload::all(), contestant::all(&options, programs)?);
    let names = workloads.iter().map(|w| w.name()).chain(entries.iter().map(|entry| entry.name.clone()));
    options.refuse_unknown_names(&names.collect::<Vec<_>>())?;
    let (workloads, entries) = (workload::chosen(workloads, &options), contestant::chosen(entries, &options));
    if options.list {
        return list(&workloads, &entries);
    }
    ensure!(!cfg!(debug_assertions), "a debug build measures nothing; use: cargo run --release -p bench");
    allow_descriptors()?;
    let interrupt = Interrupt::listen()?;
    let folder = tempfile::tempdir()?;
    let load = load_average();
    let rig = set_up(&options, folder.path(), interrupt)?;
    let mut contestants = start(&entries, &rig)?;
    let machine = Machine::here();
    introduce(&machine, &rig, &contestants, &load);
    if options.syscalls {
        return syscalls::count(&rig, &contestants);
    }
    let ours: Vec<u32> = contestants.iter().filter_map(|c| c.pid).chain(rig.server.pid).collect();
    let before = Moment::now(&ours);
    let rounds = Rounds::run(&options, &rig, &workloads, &mut contestants);
    let after = Moment::now(&ours);
    let disturbance = before.zip(after).map(|(before, after)| before.until(&after, machine.cores));
    report::print(&rounds, disturbance);
    if let Some(file) = &options.json {
        let described: Vec<String> = contestants.iter().map(|contestant| contestant.entry.describe()).collect();
        let value = report::json::render(&rounds, &machine, &rig.server.version, &described, disturbance);
        std::fs::write(file, format!("{value:#}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    }
    ensure!(contestants.len() == entries.len(), "not everybody could start");
    ensure!(rounds.failures.is_empty(), "{} runs failed", rounds.failures.len());
    ensure!(!rig.interrupt.asked(), "interrupted after {} rounds", rounds.done);
    Ok(())
}

fn list(workloads: &[Workload], entries: &[Entry]) -> Result<()> {
    println!("workloads");
    for workload in workloads {
        println!("  {:<16} {}", workload.name(), workload.title());
    }
    println!("contestants");
    for entry in entries {
        println!("  {:<16} {}", entry.name, entry.describe());
    }
    Ok(())
}

fn set_up(options: &Options, folder: &Path, interrupt: Interrupt) -> Result<Rig> {
    let program = on_path("sysbench").context("no sysbench here; get it with: apt-get install sysbench")?;
    let sysbench = |account: Account| Sysbench {
        program: program.clone(),
        account,
        folder: folder.to_owned(),
        interrupt: interrupt.clone(),
    };
    eprintln!("bench: making the tables");
    let server = Server::prepare(options, sysbench)?;
    Ok(Rig {
        sysbench: sysbench(server.account.clone()),
        server,
        folder: folder.to_owned(),
        interrupt: interrupt.clone(),
        seconds: options.seconds,
        slice: options.slice(),
    })
}

/// One that does not start or serve is left out, loudly: the others can still be compared.
fn start(entries: &[Entry], rig: &Rig) -> Result<Vec<Contestant>> {
    let mut contestants = Vec::new();
    for entry in entries {
        match entry.start(rig.ground()).and_then(|contestant| warm_up(rig, contestant)) {
            Ok(contestant) => contestants.push(contestant),
            Err(error) => eprintln!("bench: {} is left out: {error:#}", entry.name),
        }
        ensure!(!rig.interrupt.asked(), "interrupted");
    }
    Ok(contestants)
}

/// The first large result brings the table into the server's memory; the first queries everything else.
fn warm_up(rig: &Rig, mut contestant: Contestant) -> Result<Contestant> {
    for workload in [Workload::Latency, Workload::Stream] {
        workload.measure(rig, &mut contestant).context("warming up")?;
    }
    Ok(contestant)
}

fn introduce(machine: &Machine, rig: &Rig, contestants: &[Contestant], load: &str) {
    println!(
        "{} cores, {}, Linux {}, load average before the run {load}",
        machine.cores, machine.processor, machine.kernel
    );
    println!("MySQL {} ({}), plain TCP over loopback", rig.server.version, rig.server.origin);
    for contestant in contestants {
        let threads = contestant.thread_count().map_or(String::new(), |count| format!(", {count} threads"));
        println!("  {:<16} {}{threads}", contestant.entry.name, contestant.entry.describe());
    }
}

/// 1,000 connections are 1,000 descriptors here and 2,000 in a proxy, which inherits the limit from us.
fn allow_descriptors() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(())
}
