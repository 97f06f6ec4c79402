//! `tollgate run`: start, wait for a signal, drain.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use admin::Sight;
use admin::control::Command;
use anyhow::Context;
use config::Plan;
use config::reload::Reloader;
use relay::counters::Counter;
use relay::shared::Shared;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::kill_query::ProbeUser;
use crate::proxy::Proxy;
use crate::steering::{Report, Steering};
use crate::{digests, log, measuring, system_limits};

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
    runtime.block_on(serve(&plan, steering))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(plan: &Plan, steering: Steering) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut hang_up = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    let (keeper, file, digests) = (steering.keeper(), steering.file(), steering.digests());
    let proxy = Proxy::start(plan, Arc::new(Arc::clone(&keeper)))?;
    measuring::start(plan, Arc::clone(&keeper), Arc::clone(proxy.shared()), steering.custom())?;
    let controller = steering.start()?;
    if let Some(address) = plan.admin.http {
        let sight = Sight { shared: Arc::clone(proxy.shared()), keeper: Arc::clone(&keeper), file };
        let address = admin::start(address, sight, controller.clone())
            .with_context(|| format!("cannot listen on admin.http {address}; set another address, or `off`"))?;
        info!(http = %address, "health and metrics");
    }
    if let Some(probe) = &plan.probe {
        tokio::spawn(digests::learn(digests, ProbeUser::new(&plan.upstream, probe)));
    }
    info!(upstream = %plan.upstream.address, "ready for clients");
    loop {
        tokio::select! {
            _ = terminate.recv() => break info!("SIGTERM: draining"),
            _ = interrupt.recv() => break info!("SIGINT: draining"),
            _ = hang_up.recv() => {
                // What came of it is logged where it is done.
                let _ = controller.ask(Command::Reload).await;
            }
        }
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

/// What was counted, once more for the log: the HTTP port ends with the process.
fn log_counters(shared: &Shared) {
    let counted = Counter::ALL.iter().filter(|&&counter| shared.counters.value(counter) > 0);
    let text: Vec<_> =
        counted.map(|&counter| format!("{}={}", counter.name(), shared.counters.value(counter))).collect();
    info!(counters = text.join(" "), "ended");
}
