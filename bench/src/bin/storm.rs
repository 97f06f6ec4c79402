//! `cargo run --release -p bench --bin storm`: see README.md.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use bench::interrupt::Interrupt;
use bench::storm::options::Options;
use bench::storm::plan::Scenario;
use bench::storm::record::Record;
use bench::storm::run::{Ground, run};
use bench::storm::{plot, proxy, report};
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match storm() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("storm: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn storm() -> Result<()> {
    let options = Options::parse();
    std::fs::create_dir_all(&options.out).with_context(|| format!("cannot make {}", options.out.display()))?;
    if options.replot {
        for scenario in &options.scenarios {
            let records = Record::read_all(&options.out, *scenario)?;
            ensure!(!records.is_empty(), "there are no figures of {} in {}", scenario.name(), options.out.display());
            show(&records, *scenario, &options.out)?;
        }
        return Ok(());
    }
    if cfg!(debug_assertions) {
        eprintln!("storm: this is a debug build; its latencies say little");
    }
    let interrupt = Interrupt::listen()?;
    let folder = tempfile::tempdir()?;
    let tollgate = proxy::program(options.tollgate.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ground = Ground { tollgate: &tollgate, folder: folder.path(), interrupt: &interrupt };
    let mut failed = 0;
    for scenario in &options.scenarios {
        let mut records = Vec::new();
        for control in options.chosen_runs() {
            let plan = options.plan(*scenario, control)?;
            // On this thread, with which the proxy ends.
            match runtime.block_on(run(&plan, ground)) {
                Ok(record) => {
                    record.write(&options.out)?;
                    records.push(record);
                }
                Err(error) => {
                    eprintln!("storm: {} FAILED: {error:#}", plan.name());
                    failed += 1;
                }
            }
            if interrupt.asked() {
                break;
            }
        }
        show(&records, *scenario, &options.out)?;
        ensure!(!interrupt.asked(), "interrupted");
    }
    ensure!(failed == 0, "{failed} runs failed");
    Ok(())
}

fn show(records: &[Record], scenario: Scenario, out: &Path) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    print!("{}", report::render(records));
    let file = |ending: &str| out.join(format!("{}.{ending}", scenario.name()));
    std::fs::write(file("json"), format!("{:#}\n", report::json(records)))?;
    std::fs::write(file("svg"), plot::render(records))?;
    println!("  plot: {}", file("svg").display());
    Ok(())
}
