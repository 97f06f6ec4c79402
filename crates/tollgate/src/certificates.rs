//! Certificates that change on disk are taken up without a restart.

use std::sync::Arc;
use std::time::Duration;

use relay::shared::Shared;
use relay::tls::{Reload, TlsError};
use tracing::{error, info};

/// A second after the files, at the most; a look costs a few calls of `stat`.
const INTERVAL: Duration = Duration::from_secs(1);

pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut last_error = [None, None];
    loop {
        tokio::time::sleep(INTERVAL).await;
        let looked = Arc::clone(&shared);
        let results = tokio::task::spawn_blocking(move || {
            [looked.client_tls.reload_if_changed(), looked.upstream.tls.reload_if_changed()]
        });
        let Ok(results) = results.await else { continue };
        for ((result, leg), last_error) in results.into_iter().zip(["client", "upstream"]).zip(&mut last_error) {
            say(result, leg, last_error);
        }
    }
}

/// An error comes back at each look until it is mended; it is said once.
fn say(result: Result<Reload, TlsError>, leg: &str, last_error: &mut Option<String>) {
    match result {
        Ok(Reload::Unchanged) => *last_error = None,
        Ok(Reload::Reloaded) => {
            *last_error = None;
            info!(leg, "certificates reloaded");
        }
        Err(problem) => {
            let problem = problem.to_string();
            if last_error.as_ref() != Some(&problem) {
                error!(leg, %problem, "new certificates cannot be used; going on with the old ones");
            }
            *last_error = Some(problem);
        }
    }
}
