//! The upstream's catalogue: read by the probe, published to admission.

use std::sync::Arc;

use admission::Gatekeeper;
use config::Plan;
use probes::{CatalogueSeen, CatalogueSettings};
use tokio::sync::watch;

use crate::probe_settings::{endpoint, login};

/// `None`: there is no user to read it as.
pub(super) fn settings(plan: &Plan) -> Option<CatalogueSettings> {
    let probe = plan.probe.as_ref()?;
    Some(CatalogueSettings {
        upstream: endpoint(&plan.upstream),
        login: login(probe),
        interval: probe.catalogue_interval,
    })
}

/// Publishes each snapshot for as long as it is polled.
pub(super) async fn publish(settings: CatalogueSettings, keeper: Arc<Gatekeeper>) {
    let (sender, mut snapshots) = watch::channel(CatalogueSeen::unknown());
    let reading = probes::watch_catalogue(settings, Arc::clone(keeper.catalog_wanted()), sender);
    let publishing = async {
        while snapshots.changed().await.is_ok() {
            let CatalogueSeen { catalog, from } = snapshots.borrow_and_update().clone();
            keeper.set_catalog(catalog, from);
        }
    };
    tokio::select! {
        never = reading => match never {},
        () = publishing => {}
    }
}
