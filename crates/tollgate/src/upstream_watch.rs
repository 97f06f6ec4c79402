//! Whether the upstream is there, asked for as long as that is in doubt.
//!
//! A load balancer sends no clients while we are not ready, so readiness cannot wait for a client to try again.

use std::sync::Arc;
use std::time::Duration;

use relay::shared::Shared;
use tracing::{info, warn};

/// Between two looks while it does not answer: from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// After it has answered: a server that closes many sessions is not asked for each of them.
const REST: Duration = Duration::from_secs(1);

/// Greets the upstream before the first client comes, and again when a dial failed or a connection was lost.
pub(crate) async fn watch(shared: Arc<Shared>) {
    loop {
        until_it_answers(&shared).await;
        tokio::time::sleep(REST).await;
        shared.upstream.doubted().await;
    }
}

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
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}
