//! `cargo run --release -p oracle -- --packets 1000000 --server mysql`

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use oracle::campaign::{Plan, run, run_proxy, start_server};
use oracle::corpus;
use oracle::verdict::Catalogue;
use sandbox::Flavor;

/// Compares our reading of generated packets with what a real server does with them.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 100_000)]
    packets: u64,
    /// The number that the packets are made from; printed, and chosen by the clock if it is not given.
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, value_enum, default_value_t = Which::Mysql)]
    server: Which,
    #[arg(long, default_value_t = 3)]
    workers: usize,
    /// The reading must know what views, routines and triggers touch.
    #[arg(long)]
    catalogue: bool,
    /// Send the packets through the proxy with certain rules, and see on the server what passed them.
    #[arg(long)]
    proxy: bool,
    /// Keep new failures in the corpus.
    #[arg(long)]
    keep: bool,
    /// How many failures of one kind are made small.
    #[arg(long, default_value_t = 3)]
    examples: u64,
    /// Say where the time went.
    #[arg(long)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Which {
    Mysql,
    Mariadb,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs());
    let plan = Plan {
        flavor: match arguments.server {
            Which::Mysql => Flavor::Mysql,
            Which::Mariadb => Flavor::Mariadb,
        },
        packets: arguments.packets,
        seed: arguments.seed.unwrap_or_else(clock),
        workers: arguments.workers.clamp(1, 10),
        catalogue: if arguments.catalogue { Catalogue::Known } else { Catalogue::Unknown },
        keep: arguments.keep.then(corpus::folder),
        examples: arguments.examples,
        verbose: arguments.verbose,
    };
    let (seed, flavor) = (plan.seed, plan.flavor);
    println!("seed {seed}");
    let server = start_server(flavor)?;
    println!("{flavor} {}", server.version());
    let report = if arguments.proxy {
        run_proxy(&server, &plan)?.context("no binary of the proxy beside this program: cargo build --release")?
    } else {
        run(&server, plan)?
    };
    println!("{}", report.coverage);
    let rate = report.coverage.packets as f64 / report.elapsed.as_secs_f64();
    println!(
        "seed {seed}, {:.0} s, {rate:.0} packets/s, {} distinct failures",
        report.elapsed.as_secs_f64(),
        report.findings.len()
    );
    Ok(if report.coverage.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
