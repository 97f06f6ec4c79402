//! The replicas at work: what each still has to do of what was committed through us, and how long that will take it.

mod applier;
mod price;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::board::Replica;
use crate::metric::ServerName;
use crate::work::Work;

use applier::Applier;
pub use price::Price;

/// What can be seen at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Backlog<'a> {
    pub replicas: &'a [Replica],
    /// All that has been committed through us.
    pub work: Work,
    pub waiting: usize,
    /// Seconds.
    pub threshold: f64,
    /// Between two samples.
    pub interval: Duration,
    pub now: Instant,
}

#[derive(Debug, Default)]
pub struct Appliers {
    replicas: BTreeMap<ServerName, Applier>,
}

/// A replica that is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// What its time costs.
    pub price: Price,
    /// Seconds until what is committed now will be there.
    pub wait: f64,
}

impl Appliers {
    /// Those that are behind, as far as their speed is known.
    pub fn observe(&mut self, backlog: &Backlog<'_>) -> Vec<Late> {
        self.replicas.retain(|server, _| backlog.replicas.iter().any(|replica| replica.server == *server));
        let mut late = Vec::new();
        for replica in backlog.replicas {
            let Some(applied) = replica.applied else { continue };
            let applier = self.replicas.entry(replica.server.clone()).or_default();
            applier.observe(replica, applied, backlog);
            if let Some(price) = applier.price_behind() {
                late.push(Late { price, wait: price.of(backlog.work - applied) });
            }
        }
        late
    }

    pub fn any_behind(&self) -> bool {
        self.replicas.values().any(Applier::is_behind)
    }
}
