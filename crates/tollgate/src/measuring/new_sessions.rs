//! What the server does to new sessions: read by the probe, told to the relay.

use std::sync::Arc;
use std::time::Duration;

use config::Plan;
use probes::{Endpoint, Login};
use relay::shared::Shared;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::probe_settings::{endpoint, login};

/// Between two looks: who may change these settings may do anything, so that this is for mistakes.
const INTERVAL: Duration = Duration::from_secs(10);

/// `None`: there is no user to ask as.
pub(super) fn settings(plan: &Plan) -> Option<(Endpoint, Login)> {
    plan.probe.as_ref().map(|probe| (endpoint(&plan.upstream), login(probe)))
}

/// Keeps the relay informed for as long as it is polled. Until the first answer the worst is assumed.
pub(super) async fn publish((upstream, login): (Endpoint, Login), shared: Arc<Shared>) {
    shared.upstream.set_changes_sessions(true);
    let (sender, mut answers) = watch::channel(None);
    let watching = probes::watch_session_settings(upstream, login, INTERVAL, sender);
    let publishing = async {
        let mut before = false;
        while answers.changed().await.is_ok() {
            let Some(found) = answers.borrow_and_update().clone() else { continue };
            let changes = !found.is_empty();
            shared.upstream.set_changes_sessions(changes);
            if changes {
                warn!(
                    settings = found.join("; "),
                    "the server changes new sessions by itself: their statements are in doubt until they say SET NAMES"
                );
            } else if before {
                info!("the server changes new sessions no more");
            }
            before = changes;
        }
    };
    tokio::select! {
        never = watching => match never {},
        () = publishing => {}
    }
}
