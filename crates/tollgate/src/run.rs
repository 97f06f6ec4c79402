//! `tollgate run`: start, wait for a signal, drain.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use config::Plan;
use relay::admission::PassAll;
use relay::counters::Counter;
use relay::shared::Shared;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::proxy::Proxy;
use crate::{log, system_limits};

pub(crate) fn run(path: &Path) -> anyhow::Result<ExitCode> {
    let (plan, warnings) = match Plan::from_file_with_warnings(path) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    log::start(&plan.log);
    for warning in warnings {
        warn!(key = warning.key, "{}; {}", warning.what, warning.remedy);
    }
    system_limits::check(&plan);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(&plan))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(plan: &Plan) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    // Its default is to end the process, which nobody means who sends it to a server.
    let mut hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    let proxy = Proxy::start(plan, Arc::new(PassAll))?;
    if let Some(address) = plan.admin.http {
        let address = admin::start(address, Arc::clone(proxy.shared()))
            .with_context(|| format!("cannot listen on admin.http {address}; set another address, or `off`"))?;
        info!(http = %address, "health and metrics");
    }
    info!(upstream = %plan.upstream.address, "ready for clients");
    loop {
        tokio::select! {
            _ = terminate.recv() => break info!("SIGTERM: draining"),
            _ = interrupt.recv() => break info!("SIGINT: draining"),
            _ = hangup.recv() => warn!("SIGHUP: this version reads its configuration at start only; restart to apply a change"),
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
    Ok(())
}

/// What was counted, once more for the log: the HTTP port ends with the process.
fn log_counters(shared: &Shared) {
    let counted = Counter::ALL.iter().filter(|&&counter| shared.counters.value(counter) > 0);
    let text: Vec<_> =
        counted.map(|&counter| format!("{}={}", counter.name(), shared.counters.value(counter))).collect();
    info!(counters = text.join(" "), "ended");
}
