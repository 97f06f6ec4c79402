//! Where the log goes: standard error, as text or JSON.

use config::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

pub(crate) fn start(log: &Log) {
    let filter = EnvFilter::try_from_env("TOLLGATE_LOG").unwrap_or_else(|_| EnvFilter::new(log.level.as_str()));
    // A log that nobody takes any more is no reason to panic, as saying so on standard error would.
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    // A second start in one process, as tests do it, keeps the first.
    let _ = match log.format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
