//! `tollgate run`: start, wait for a signal, drain.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use admin::Sight;
use admin::control::{Command, Controller};
use anyhow::Context as _;
use config::Plan;
use config::reload::Reloader;
use relay::counters::Counter;
use relay::shared::Shared;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::kill_query::ProbeUser;
use crate::proxy::Proxy;
use crate::steering::{Report, Steering};
use crate::{digests, log, measuring, predecessor, system_limits};

pub(crate) fn run(path: &Path) -> anyhow::Result<ExitCode> {
    let (reloader, warnings) = match Reloader::start(path) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let plan = Arc::clone(reloader.plan());
    log::start(&plan.log);
    for warning in warnings {
        warn!(key = warning.key, "{}; {}", warning.what, warning.remedy);
    }
    system_limits::check(&plan);
    let steering = Steering::new(reloader, rand::random());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(&plan, steering));
    // A dropped runtime would wait for calls into a file system that hangs.
    runtime.shutdown_background();
    served?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(plan: &Plan, steering: Steering) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let hang_up = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    let (keeper, file, digests) = (steering.keeper(), steering.file(), steering.digests());
    let proxy = Proxy::start(plan, Arc::new(Arc::clone(&keeper)))?;
    measuring::start(plan, Arc::clone(&keeper), Arc::clone(proxy.shared()), steering.custom())?;
    let controller = steering.start()?;
    if let Some(address) = plan.admin.http {
        let sight = Sight { shared: Arc::clone(proxy.shared()), keeper: Arc::clone(&keeper), file };
        let start = || admin::start(address, plan.admin.host_names.clone(), sight.clone(), controller.clone());
        let address = predecessor::start_behind(address, start).await?;
        info!(http = %address, "health and metrics");
    }
    if let Some(probe) = &plan.probe {
        tokio::spawn(digests::learn(digests, ProbeUser::new(&plan.upstream, probe)));
    }
    info!(upstream = %plan.upstream.address, "ready for clients");
    // On a task of its own: whatever a reload waits for, the signals that end the process are heard.
    tokio::spawn(reload_on(hang_up, controller));
    tokio::select! {
        _ = terminate.recv() => info!("SIGTERM: draining"),
        _ = interrupt.recv() => info!("SIGINT: draining"),
    }
    let shared = Arc::clone(proxy.shared());
    shared.set_draining();
    tokio::select! {
        () = proxy.drain() => {}
        // Asked twice: whoever asks does not want to wait.
        _ = interrupt.recv() => warn!("SIGINT again: ending at once"),
    }
    log_counters(&shared);
    Report::default().log(&keeper);
    Ok(())
}

/// Reads proxy.yaml again on each SIGHUP. Those that come while it is read count as one.
async fn reload_on(mut hang_up: Signal, controller: Controller) {
    while hang_up.recv().await.is_some() {
        // What came of it is logged where it is done.
        let _ = controller.ask(Command::Reload).await;
    }
}

/// What was counted, once more for the log: the HTTP port ends with the process.
fn log_counters(shared: &Shared) {
    let counted = Counter::ALL.iter().filter(|&&counter| shared.counters.value(counter) > 0);
    let text: Vec<_> =
        counted.map(|&counter| format!("{}={}", counter.name(), shared.counters.value(counter))).collect();
    info!(counters = text.join(" "), "ended");
}
