//! What happens, from the first server to the last word.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use crate::clients::Clients;
use crate::figures::Span;
use crate::observer::Observer;
use crate::servers::Servers;
use crate::stage::Stage;
use crate::table::Table;
use crate::verdict::Verdict;
use crate::welcome;

/// What shells give for a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;
/// Without `--seconds`.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Between two looks at the clients and the servers; the chart has its own.
const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn run(limit: Option<Duration>) -> Result<ExitCode> {
    let mut stop = Stop::listen()?;
    let mut servers = tokio::select! {
        started = Servers::start() => started?,
        () = stop.asked() => {
            eprintln!("demo: stopped before the servers were there");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    welcome::print(&servers);

    let mut verdict = Verdict::default();
    let clients = Clients::start(servers.proxy.address);
    let mut observer = Observer::new(&servers);
    let mut stage = Stage::open(&servers, limit);
    let mut table = Table::new();
    let begin = Instant::now();
    let end = begin + limit.unwrap_or(FOREVER);
    let column = Stage::column(limit);
    let mut tick = interval_at(begin + column, column);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next_second = begin + SECOND;
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = sleep_until(end) => break,
            () = stop.asked() => break,
        }
        // Before the clients' errors: it would be their cause.
        if let Some(death) = servers.proxy.death() {
            verdict.failure(death);
            break;
        }
        stage.look(&clients);
        if Instant::now() >= next_second {
            next_second = Instant::now() + SECOND - column / 2;
            table.second(begin.elapsed(), clients.read(Span::Second), observer.look().await, &stage);
        }
        table.draw(begin.elapsed(), &stage);
        if let Err(error) = stage.turn(&clients, &mut servers).await {
            verdict.failure(format!("{error:#}"));
            break;
        }
    }
    table.leave();

    let worked = begin.elapsed();
    let seen = stage.close(&clients, &servers).await;
    let totals = tokio::select! {
        totals = clients.finish() => totals,
        // Asked twice: whoever asks does not want to wait.
        () = stop.asked() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    verdict.judge_clients(&totals);
    match seen {
        Ok(seen) if verdict.is_good() => verdict.judge_gate(&seen),
        Ok(_) => {}
        Err(error) => verdict.failure(format!("{error:#}")),
    }
    if verdict.is_good() {
        verdict.judge_rules(&totals);
    }
    if verdict.is_good() {
        verdict.judge_replication(&totals, &mut observer).await;
    }
    if let Err(error) = servers.end() {
        verdict.failure(format!("{error:#}"));
    }
    Table::print_totals(worked, &totals);
    Ok(verdict.print())
}

/// Ctrl-C, or SIGTERM from a supervisor.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn listen() -> Result<Stop> {
        Ok(Stop {
            interrupt: signal(SignalKind::interrupt()).context("listening for Ctrl-C")?,
            terminate: signal(SignalKind::terminate()).context("listening for SIGTERM")?,
        })
    }

    /// Cancel safe.
    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
