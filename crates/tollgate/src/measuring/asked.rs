//! Whom to ask what, from the plan.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use config::{MetricQuestion, Plan};
use files::Helper;
use health::{MetricName, Unit};
use probes::{Ask, CustomMetric, Endpoint, Heartbeat, Host, MissingTable, On, Replicas, Settings, Tls};

use crate::probe_settings::{address, endpoint, login};

/// The metrics of the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Custom {
    pub(super) metrics: Arc<Vec<CustomMetric>>,
    pub(super) units: BTreeMap<MetricName, Unit>,
}

pub(crate) fn custom(policy: &config::Policy) -> Custom {
    let metric = |metric: &config::Metric| CustomMetric {
        name: metric.name.clone(),
        ask: match &metric.ask {
            MetricQuestion::Sql { sql, on } => Ask::Sql {
                sql: sql.clone(),
                on: match on {
                    config::On::Primary => On::Primary,
                    config::On::Replicas => On::Replicas,
                },
            },
            MetricQuestion::Http { url } => Ask::Http { url: url.clone() },
        },
        interval: metric.interval,
        timeout: metric.timeout,
    };
    Custom {
        metrics: Arc::new(policy.metrics.iter().map(metric).collect()),
        units: policy.metrics.iter().map(|metric| (metric.name.clone(), metric.unit)).collect(),
    }
}

/// `None`: there is no user to ask servers as.
pub(super) fn settings(plan: &Plan) -> Option<Settings> {
    let probe = plan.probe.as_ref()?;
    let upstream = &plan.upstream;
    let heartbeat = probe.heartbeat.as_ref().map(|heartbeat| Heartbeat {
        schema: heartbeat.table.schema.clone(),
        table: heartbeat.table.name.clone(),
        proxy: proxy_id(&plan.state_dir, plan),
        missing: if heartbeat.create { MissingTable::Create } else { MissingTable::SayHow },
    });
    Some(Settings {
        primary: endpoint(upstream),
        replicas: match &upstream.replicas {
            config::Replicas::Listed(listed) => {
                Replicas::Listed(listed.iter().map(|at| beside(upstream, at)).collect())
            }
            config::Replicas::Discover => Replicas::Discover,
        },
        login: login(probe),
        heartbeat,
        timeout: probe.timeout,
        host: host(upstream),
    })
}

pub(super) fn host(upstream: &config::Upstream) -> Host {
    if upstream.address.is_local() { Host::Here } else { Host::Elsewhere }
}

/// A replica: what holds for the upstream's certificate holds for its, but for the name.
fn beside(upstream: &config::Upstream, at: &config::UpstreamAddress) -> Endpoint {
    let of_upstream = endpoint(upstream);
    Endpoint { address: address(at), tls: Tls { server_name: None, ..of_upstream.tls } }
}

/// Far more than the proxy writes; somebody may have chosen a name.
const LONGEST_ID: u64 = 1024;

/// For a file that the start does not depend on.
pub(super) const START_TIME: Duration = Duration::from_secs(2);

/// Which row of the heartbeat table is ours. Kept, so that a restart does not leave rows behind; where that cannot be, the place
/// where clients connect tells two proxies apart.
fn proxy_id(state_dir: &Path, plan: &Plan) -> String {
    let path = state_dir.join("proxy-id");
    let work = path.clone();
    let kept = Helper::default().run(&path, START_TIME, move || read_or_make_id(&work));
    match (kept.ok().flatten(), plan.listen.first()) {
        (Some(id), _) => id,
        (None, Some(listener)) => listener.name.clone(),
        (None, None) => new_id(),
    }
}

/// `None`: it could not be kept.
fn read_or_make_id(path: &Path) -> Option<String> {
    let known = files::read(path, LONGEST_ID).ok().and_then(|content| String::from_utf8(content.bytes).ok());
    if let Some(known) = known.as_deref().map(str::trim).filter(|known| !known.is_empty()) {
        return Some(known.to_owned());
    }
    let made = new_id();
    files::create(path).and_then(|mut file| file.write_all(made.as_bytes())).ok().map(|()| made)
}

fn new_id() -> String {
    format!("{:016x}", rand::random::<u64>())
}
