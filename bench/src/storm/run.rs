//! One run: fresh servers, the replica's rate, the proxy, and then the storm.

use super::calibration;
use super::foreground::{self, Latencies};
use super::load::{self, Tally};
use super::observer::Observer;
use super::plan::Plan;
use super::proxy::Proxy;
use super::record::{Foreground, Record};
use super::servers::{Servers, direct, set_rate};
use crate::interrupt::Interrupt;
use crate::machine::{Machine, Moment};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// All log in, and the foreground and the observer run, before the writers begin.
const LEAD: Duration = Duration::from_secs(3);
const SPOKEN_EVERY: Duration = Duration::from_secs(10);

/// Everything that all runs share.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub tollgate: &'a Path,
    pub folder: &'a Path,
    pub interrupt: &'a Interrupt,
}

/// To be awaited on the main thread: the proxy ends with the thread that starts it.
pub async fn run(plan: &Plan, ground: Ground<'_>) -> Result<Record> {
    say(plan, "starting a primary and a replica");
    let prepared = plan.clone();
    let servers = tokio::task::spawn_blocking(move || Servers::start(&prepared));
    let servers = servers.await.context("the servers' start panicked")??;
    let apply_rate = calibration::apply_rate(&servers, plan)
        .await
        .with_context(|| format!("measuring the replica's rate; {}", servers.replica_errors()))?;
    say(plan, &format!("the replica applies {apply_rate:.1} rows a second"));
    let mut proxy = Proxy::start(ground.tollgate, ground.folder, &servers, plan, ground.interrupt).await?;

    let begin = Instant::now() + LEAD;
    let (tally, latencies) = (Arc::new(Tally::default()), Arc::new(Latencies::new(begin)));
    let mut observer = Observer::start(&servers, begin, &tally).await?;
    let reading = foreground::start(proxy.address, plan.foreground_rate, &latencies).await?;
    let writing = load::start(plan, proxy.address, servers.primary(), apply_rate, begin, &tally);
    let mut slowing = slow_down(plan, &servers, begin).await?;

    let ours: Vec<u32> =
        [servers.cluster.primary.pid()?, servers.cluster.replica.pid()?, proxy.pid()].into_iter().collect();
    let machine = Machine::here();
    let before = Moment::now(&ours);
    watch(plan, begin, &mut proxy, &mut observer, ground.interrupt).await?;
    let after = Moment::now(&ours);
    drop((reading, writing));
    while let Some(done) = slowing.join_next().await {
        done.context("a task panicked")?.context("changing the replica's speed")?;
    }
    Ok(Record {
        plan: plan.clone(),
        config: proxy.config.clone(),
        machine: format!("{} cores, {}, Linux {}", machine.cores, machine.processor, machine.kernel),
        server: format!("MySQL {}", servers.cluster.primary.version()),
        disturbance: before
            .zip(after)
            .map(|(before, after)| before.until(&after, machine.cores))
            .map(|d| d.others + d.stolen),
        apply_rate,
        looks: observer.finish(),
        errors: tally.errors(),
        foreground: Foreground {
            after: latencies.from(plan.warm_up)?,
            windows: latencies.each(),
            errors: latencies.errors(),
        },
    })
}

/// Until the end of the run, or of something that must not end before it.
async fn watch(
    plan: &Plan,
    begin: Instant,
    proxy: &mut Proxy,
    observer: &mut Observer,
    interrupt: &Interrupt,
) -> Result<()> {
    let end = begin + plan.length;
    let mut spoken = begin;
    while Instant::now() < end {
        tokio::select! {
            failed = observer.failed() => return failed.context("the observer ended"),
            () = tokio::time::sleep(Duration::from_millis(100).min(end.saturating_duration_since(Instant::now()))) => {}
        }
        proxy.still_runs()?;
        if interrupt.asked() {
            bail!("interrupted");
        }
        if spoken.elapsed() >= SPOKEN_EVERY
            && let Some(look) = observer.newest()
        {
            spoken += SPOKEN_EVERY;
            say(plan, &format!("{:3.0} s: lag {:.2} s, {} commits", look.at, look.lag, look.commits));
        }
    }
    Ok(())
}

/// Changes the replica's speed when the plan says so.
async fn slow_down(plan: &Plan, servers: &Servers, begin: Instant) -> Result<JoinSet<Result<()>>> {
    let mut tasks = JoinSet::new();
    let Some((from, to, share)) = plan.slowdown() else { return Ok(tasks) };
    let mut replica = direct(servers.replica()).await?;
    let full = plan.replica_rate;
    tasks.spawn(async move {
        tokio::time::sleep_until((begin + from).into()).await;
        set_rate(&mut replica, full * share).await?;
        tokio::time::sleep_until((begin + to).into()).await;
        set_rate(&mut replica, full).await
    });
    Ok(tasks)
}

fn say(plan: &Plan, text: &str) {
    eprintln!("storm: {}: {text}", plan.name());
}
