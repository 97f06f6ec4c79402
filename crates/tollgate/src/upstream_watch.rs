//! Whether the upstream is there, asked for as long as that is in doubt.
//!
//! A load balancer sends no clients while we are not ready, so readiness cannot wait for a client to try again.

use std::sync::Arc;
use std::time::Duration;

use relay::shared::Shared;
use relay::upstream::UpstreamError;
use tracing::{debug, info, warn};

/// Between two looks while it does not answer: from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// After it has answered: a server that closes many sessions is not asked for each of them.
const REST: Duration = Duration::from_secs(1);

/// Clients may come again first, which tells as much. A look is a login that the server denies, and the server counts and
/// logs each (`Aborted_connects`).
const CLIENTS_TURN: Duration = Duration::from_secs(1);

/// Greets the upstream before the first client comes, and again when a dial failed or a connection was lost.
pub(crate) async fn watch(shared: Arc<Shared>) {
    loop {
        until_it_answers(&shared).await;
        tokio::time::sleep(REST).await;
        until_it_is_in_doubt(&shared).await;
    }
}

/// Waits for a failed dial or a lost session after which no client has reached the upstream.
async fn until_it_is_in_doubt(shared: &Shared) {
    loop {
        shared.upstream.doubted().await;
        tokio::time::sleep(CLIENTS_TURN).await;
        if !shared.upstream.is_doubt_resolved() {
            return;
        }
        debug!("the upstream was in doubt, and has been reached since");
    }
}

/// Looks until a look succeeds, or until a client has reached the upstream between two looks.
async fn until_it_answers(shared: &Shared) {
    let mut pause = PAUSES.0;
    loop {
        match shared.upstream.learn().await {
            Ok(greeting) => {
                info!(version = %String::from_utf8_lossy(&greeting.version), "the upstream answers");
                return;
            }
            Err(error) => {
                warn!(%error, "the upstream does not answer");
                if let UpstreamError::Refused(_) = error {
                    // It is there, and full: a look more would only add to that.
                    pause = PAUSES.1;
                }
                tokio::time::sleep(pause).await;
                if shared.upstream.last_failure().is_none() {
                    info!("the upstream answers a client");
                    return;
                }
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}
