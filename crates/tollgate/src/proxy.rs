//! The proxy, put together from its plan: the only place that knows every crate.

use std::sync::Arc;
use std::time::Duration;

use admission::port::Admission;
use anyhow::Context;
use config::Plan;
use relay::counters::Counters;
use relay::limits::{ConnectionLimits, Limits};
use relay::listener::{ClientLegTls, ListenAddress, Listener, ListenerSettings};
use relay::password_exchange::ProxyKey;
use relay::proxy_protocol::Trusted;
use relay::registry::{Registry, Signal};
use relay::shared::{KillQuery, SessionSettings, Shared};
use relay::tls::{ClientTls, ClientTlsSettings, UpstreamTls, UpstreamTlsMode, UpstreamTlsSettings};
use relay::upstream::{Upstream, UpstreamAddress, UpstreamSettings};
use relay::workers::Workers;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::kill_query::ProbeUser;
use crate::{certificates, upstream_watch};

/// A running proxy. Must be started inside a tokio runtime, which accepts; the sessions run on threads of their own.
#[derive(Debug)]
pub struct Proxy {
    pub addresses: Vec<ListenAddress>,
    shared: Arc<Shared>,
    stop_accepting: watch::Sender<bool>,
    accepting: JoinSet<()>,
    /// Sessions end with their workers: kept until they have ended by themselves.
    _workers: Arc<Workers>,
    background: JoinSet<()>,
    drain: config::Drain,
}

impl Proxy {
    pub fn start(plan: &Plan, admission: Arc<dyn Admission>) -> anyhow::Result<Proxy> {
        let shared = Arc::new(shared(plan, admission)?);
        let count = match plan.workers {
            config::Workers::Auto => std::thread::available_parallelism().map_or(1, Into::into),
            config::Workers::Exactly(count) => count,
        };
        let workers = Arc::new(Workers::start(count).context("cannot start the worker threads")?);
        let (stop_accepting, stop) = watch::channel(false);
        let (mut addresses, mut accepting) = (Vec::new(), JoinSet::new());
        for settings in &plan.listen {
            let listener = Listener::bind(listener_settings(settings))
                .with_context(|| format!("cannot listen on {}", settings.address))?;
            addresses.push(listener.local_address());
            accepting.spawn(listener.accept(Arc::clone(&shared), Arc::clone(&workers), stop.clone()));
        }
        let mut background = JoinSet::new();
        background.spawn(certificates::watch(Arc::clone(&shared)));
        background.spawn(upstream_watch::watch(Arc::clone(&shared)));
        Ok(Proxy {
            addresses,
            shared,
            stop_accepting,
            accepting,
            _workers: workers,
            background,
            drain: plan.drain.clone(),
        })
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Still accepting for `drain.wait`, so that a load balancer can see that we are not ready; then no new
    /// connections, and those that are there end at a transaction boundary; at `drain.deadline` the rest is cut.
    pub async fn drain(mut self) {
        let begin = tokio::time::Instant::now();
        tokio::time::sleep(self.drain.wait).await;
        let _ = self.stop_accepting.send(true);
        while self.accepting.join_next().await.is_some() {}
        info!(sessions = self.shared.registry.len(), "draining");
        self.shared.registry.raise(Signal::Drain);
        let deadline = begin + self.drain.deadline.max(self.drain.wait);
        if tokio::time::timeout_at(deadline, self.until_empty()).await.is_err() {
            warn!(sessions = self.shared.registry.len(), "cutting the sessions that are left");
            self.shared.registry.raise(Signal::Cut);
            // Each says goodbye for a second at the most.
            let _ = tokio::time::timeout(Duration::from_secs(2), self.until_empty()).await;
        }
        self.background.abort_all();
    }

    async fn until_empty(&self) {
        while !self.shared.registry.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn shared(plan: &Plan, admission: Arc<dyn Admission>) -> anyhow::Result<Shared> {
    let counters = Arc::new(Counters::default());
    let limits = &plan.limits;
    let files = plan.tls.certificate.as_ref();
    let client_tls = ClientTls::new(ClientTlsSettings {
        certificate: files.map(|files| files.certificate.clone()),
        key: files.map(|files| files.key.clone()),
        client_ca: plan.tls.client_ca.clone(),
    })?;
    let killer = plan.probe.as_ref().map(|probe| {
        let killer: Arc<dyn KillQuery> = Arc::new(ProbeUser::new(&plan.upstream, probe));
        killer
    });
    Ok(Shared {
        settings: SessionSettings {
            login_time: limits.login_time,
            login_size: limits.login_size,
            inspect: limits.inspect,
        },
        upstream: upstream(plan, &counters)?,
        client_tls,
        key: ProxyKey::generate().context("cannot make a key for passwords")?,
        limits: Limits::new(ConnectionLimits {
            connections: limits.connections,
            unauthenticated: limits.unauthenticated,
            unauthenticated_per_address: limits.unauthenticated_per_address.unwrap_or(0),
            per_user: limits.per_user.unwrap_or(0),
            per_address: limits.per_address.unwrap_or(0),
        }),
        registry: Arc::new(Registry::default()),
        counters,
        admission,
        killer,
        draining: false.into(),
    })
}

fn upstream(plan: &Plan, counters: &Arc<Counters>) -> anyhow::Result<Upstream> {
    let from = &plan.upstream;
    let files = from.certificate.as_ref();
    let tls = UpstreamTls::new(UpstreamTlsSettings {
        mode: match from.tls {
            config::UpstreamTls::Disabled => UpstreamTlsMode::Disabled,
            config::UpstreamTls::Preferred => UpstreamTlsMode::Preferred,
            config::UpstreamTls::Required => UpstreamTlsMode::Required,
            config::UpstreamTls::VerifyCa => UpstreamTlsMode::VerifyCa,
            config::UpstreamTls::VerifyIdentity => UpstreamTlsMode::VerifyIdentity,
        },
        ca: from.ca.clone(),
        certificate: files.map(|files| files.certificate.clone()),
        key: files.map(|files| files.key.clone()),
        server_name: from.server_name.clone(),
    })?;
    let settings = UpstreamSettings {
        address: match &from.address {
            config::UpstreamAddress::Tcp { host, port } => UpstreamAddress::Tcp { host: host.clone(), port: *port },
            config::UpstreamAddress::Socket(path) => UpstreamAddress::Unix(path.clone()),
        },
        source_address: from.source_address,
        dial_timeout: from.dial_timeout,
        proxy_protocol: from.proxy_protocol == config::ProxyProtocol::V2,
        logins: plan.limits.upstream_logins,
    };
    Ok(Upstream::new(settings, tls, Arc::clone(counters)))
}

fn listener_settings(from: &config::Listener) -> ListenerSettings {
    ListenerSettings {
        name: from.name.clone(),
        address: match &from.address {
            config::ListenAddress::Tcp(address) => ListenAddress::Tcp(*address),
            config::ListenAddress::Socket(path) => ListenAddress::Unix(path.clone()),
        },
        tls: match from.tls {
            config::ClientTls::Disabled => ClientLegTls::Disabled,
            config::ClientTls::Optional => ClientLegTls::Optional,
            config::ClientTls::Required => ClientLegTls::Required,
        },
        proxy_protocol_from: Trusted { nets: from.proxy_protocol_from.clone() },
    }
}
