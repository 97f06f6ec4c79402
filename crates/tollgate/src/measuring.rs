//! How the database is doing: asks, adds up, and tells the gates; and lets those go who wait at them, at the pace of each gate.
//!
//! One thread does all of it, so that nothing here needs a lock and no session waits for it.

mod asked;
mod catalogue;
mod gate_log;
mod new_sessions;
mod own;
mod pace;
mod remembered;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admission::Gatekeeper;
use admission::gates::{Gates, MetricSeen, Moment, Seen, ServerSeen};
use anyhow::Context;
use config::{OnDemotion, Plan};
use health::{Board, BuiltIn, MetricName, Reading, Report, ServerName, Unit, WorkLog};
use probes::{Change, CustomMetric, Event, Pace, Probes};
use relay::shared::Shared;
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

pub(crate) use asked::{Custom, custom};

use gate_log::GateLog;
use own::Own;
use remembered::Remembered;
use traffic::Traffic;

/// Between two looks while there is traffic. Gates look less often, and a sudden crowd looks itself.
const TICK: Duration = Duration::from_millis(25);
/// While there is none.
const ASLEEP: Duration = Duration::from_millis(500);
/// Nobody is let go more finely than this.
const FINEST: Duration = Duration::from_millis(1);
/// How often what is known is put where others can see it.
const PUBLISH: Duration = Duration::from_millis(250);
/// Reports that may wait to be taken up.
const EVENTS: usize = 1024;

/// Starts the thread. It ends with the process.
pub(crate) fn start(
    plan: &Plan,
    keeper: Arc<Gatekeeper>,
    shared: Arc<Shared>,
    custom: watch::Receiver<Custom>,
) -> anyhow::Result<()> {
    let (probes, host) = (asked::settings(plan), asked::host(&plan.upstream));
    let (catalogue, new_sessions) = (catalogue::settings(plan), new_sessions::settings(plan));
    let idle = plan.probe.as_ref().map(|probe| (probe.idle_after, probe.idle_interval));
    let remembered = Remembered::open(&plan.state_dir);
    let on_demotion = plan.upstream.on_demotion;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measure = move || {
        runtime.block_on(async move {
            let (pace, paces) = watch::channel(Pace::of_all(health::Settings::INTERVAL));
            let (events, taken_up) = mpsc::channel(EVENTS);
            let (metrics, list) = watch::channel(Arc::new(Vec::new()));
            match probes {
                Some(settings) => {
                    let in_flight = Arc::clone(keeper.gates().in_flight());
                    let work = Arc::new(move || in_flight.work());
                    tokio::spawn(Probes::run(settings, paces, list, work, events));
                }
                None => {
                    tokio::spawn(Probes::run_without_servers(host, paces, list, events));
                }
            }
            if let Some(settings) = catalogue {
                tokio::spawn(catalogue::publish(settings, Arc::clone(&keeper)));
            }
            if let Some(settings) = new_sessions {
                tokio::spawn(new_sessions::publish(settings, Arc::clone(&shared)));
            }
            let traffic = Traffic::new(idle, keeper.gates().in_flight(), Instant::now());
            let measuring = Measuring {
                gates: Arc::clone(keeper.gates()),
                keeper,
                shared,
                on_demotion,
                board: Board::default(),
                log: WorkLog::default(),
                own: Own::default(),
                servers: BTreeMap::new(),
                traffic,
                pace,
                metrics,
                custom,
                asked_since: BTreeMap::new(),
                remembered,
                gate_log: GateLog::default(),
                published: None,
            };
            measuring.run(taken_up).await;
        });
    };
    std::thread::Builder::new()
        .name("measuring".to_owned())
        .spawn(measure)
        .context("cannot start the thread that measures")?;
    Ok(())
}

struct Measuring {
    keeper: Arc<Gatekeeper>,
    gates: Arc<Gates>,
    shared: Arc<Shared>,
    on_demotion: OnDemotion,
    board: Board,
    /// What had been committed when, for lag that no heartbeat tells.
    log: WorkLog,
    own: Own,
    servers: BTreeMap<ServerName, ServerSeen>,
    traffic: Traffic,
    pace: watch::Sender<Pace>,
    metrics: watch::Sender<Arc<Vec<CustomMetric>>>,
    custom: watch::Receiver<Custom>,
    /// Since when each metric of the configuration has its question.
    asked_since: BTreeMap<MetricName, Instant>,
    remembered: Remembered,
    gate_log: GateLog,
    published: Option<Instant>,
}

impl Measuring {
    async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        self.remembered.tell(&self.gates);
        self.take_up_custom();
        let (mut heard, mut steered) = (true, true);
        loop {
            let now = Instant::now();
            let released = self.tick(now);
            let tick = now + if self.traffic.is_asleep() { ASLEEP } else { TICK };
            let until = released.map_or(tick, |next| next.clamp(now + FINEST, tick));
            tokio::select! {
                event = events.recv(), if heard => match event {
                    Some(event) => self.take_up_all(event, &mut events),
                    // They end with the process, unless they have panicked.
                    None => heard = false,
                },
                () = self.gates.wanted() => self.traffic.somebody_waits(Instant::now()),
                changed = self.custom.changed(), if steered => match changed {
                    Ok(()) => self.take_up_custom(),
                    // Asked again, it would say so again at once.
                    Err(_) => steered = false,
                },
                () = tokio::time::sleep_until(until.into()) => {}
            }
        }
    }

    fn take_up_all(&mut self, first: Event, events: &mut mpsc::Receiver<Event>) {
        self.take_up(first);
        while let Ok(event) = events.try_recv() {
            self.take_up(event);
        }
    }

    fn take_up(&mut self, event: Event) {
        match event {
            Event::Report(report) => self.report(report),
            Event::Server(seen) => {
                let server = ServerSeen {
                    name: seen.name.clone(),
                    role: seen.role.to_string(),
                    version: format!("{} {}", seen.flavor, seen.version),
                    read_only: seen.read_only,
                    replication: seen.replication.map(|state| state.to_string()),
                };
                self.servers.insert(seen.name, server);
            }
            Event::Changed(change) => self.changed(&change),
            Event::Gone(server) => {
                info!(server = &*server, "a replica follows the primary no more");
                self.board.forget_server(&server);
                self.servers.remove(&server);
            }
        }
    }

    fn report(&mut self, mut report: Report) {
        if !self.is_asked(&report) {
            return;
        }
        if *report.metric == *BuiltIn::ReplicationLag.as_str()
            && report.applied.is_none()
            && let Reading::Value(lag) = report.reading
            && let Ok(lag) = Duration::try_from_secs_f64(lag)
            && let Some(then) = report.at.checked_sub(lag)
        {
            // Without a heartbeat: it is applying what was committed so long ago.
            report.applied = self.log.at(then);
        }
        self.board.report(report);
    }

    /// The upstream is another server, or another kind of server.
    fn changed(&mut self, change: &Change) {
        match change {
            Change::Promoted => info!("the upstream takes writes again"),
            Change::NewServer { .. } | Change::Demoted => {
                self.board.forget_all();
                self.log.forget();
                self.own.forget();
                self.gates.reset();
                self.keeper.catalog_wanted().notify_one();
                let ended = match self.on_demotion {
                    OnDemotion::Close => self.shared.registry.drain_present(),
                    OnDemotion::Keep => 0,
                };
                warn!(?change, sessions_ending = ended, "the upstream has changed: what was known of it is forgotten");
            }
        }
    }

    /// Of a metric that is gone, or asks something else or somebody else now, nothing that was said before counts.
    fn take_up_custom(&mut self) {
        let custom = self.custom.borrow_and_update().clone();
        let now = Instant::now();
        let was = self.metrics.send_replace(Arc::clone(&custom.metrics));
        let is_in = |list: &[CustomMetric], metric: &CustomMetric| {
            list.iter().any(|other| (&other.name, &other.ask) == (&metric.name, &metric.ask))
        };
        for gone in was.iter().filter(|metric| !is_in(&custom.metrics, metric)) {
            self.board.forget_metric(&gone.name);
            self.gates.reset_on(&gone.name);
            self.asked_since.remove(&gone.name);
        }
        for metric in custom.metrics.iter() {
            self.asked_since.entry(metric.name.clone()).or_insert(now);
        }
    }

    /// An answer may have been on its way when its question was taken back.
    fn is_asked(&self, report: &Report) -> bool {
        BuiltIn::named(&report.metric).is_some()
            || self.asked_since.get(&report.metric).is_some_and(|since| report.at >= *since)
    }

    /// When somebody who waits may go next.
    fn tick(&mut self, now: Instant) -> Option<Instant> {
        let in_flight = self.gates.in_flight();
        self.traffic.look(in_flight, self.keeper.waiting(), now);
        self.set_pace();
        self.log.note(now, in_flight.work());
        self.own.report(&self.keeper, &mut self.board, now);
        let moment = Moment { now, asleep: self.traffic.is_asleep(), awake_since: self.traffic.awake_since() };
        let glanced = self.gates.glance(now);
        let observed = self.gates.observe(&self.board, &moment);
        let gates = &self.gates;
        let lines = self.gate_log.look(glanced.into_iter().chain(observed), now, |gate| gates.is_there(gate));
        lines.iter().for_each(gate_log::Line::log);
        self.remembered.keep(&self.gates, now);
        if self.published.is_none_or(|last| now.saturating_duration_since(last) >= PUBLISH) {
            self.published = Some(now);
            self.gates.publish_measured(self.seen(now));
        }
        self.gates.release()
    }

    fn set_pace(&self) {
        let pace = pace::of(&self.gates, &self.traffic);
        self.pace.send_if_modified(|known| std::mem::replace(known, pace) != pace);
    }

    fn seen(&self, now: Instant) -> Seen {
        let custom = self.custom.borrow();
        let metrics = self.board.standings().map(|(metric, server, standing)| MetricSeen {
            metric: metric.clone(),
            unit: unit(metric, &custom),
            server: server.clone(),
            reading: standing.reading,
            age: now.saturating_duration_since(standing.at),
        });
        Seen {
            at: Some(now),
            metrics: metrics.collect(),
            servers: self.servers.values().cloned().collect(),
            asleep: self.traffic.is_asleep(),
            latencies: self.own.latencies(),
            commits: self.own.commits(),
        }
    }
}

fn unit(metric: &MetricName, custom: &Custom) -> Unit {
    let known = BuiltIn::named(metric).map(BuiltIn::unit);
    known.or_else(|| custom.units.get(metric).copied()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
