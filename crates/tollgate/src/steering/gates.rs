//! How the database is doing and what the gates make of it, as operators see it.

use std::time::{Duration, Instant};

use admin::control::{ControlError, ControlErrorKind, Reply};
use admission::gates::{GateSeen, MetricSeen, Seen, ServerSeen, Took};
use admission::policy::{Gate, Policy};
use health::history::Point;
use health::{Aggregate, Flow, Reading, State, Unknown};
use rules::Mode;
use serde_json::{Value as Json, json};

use super::Steering;

impl Steering {
    pub(super) fn describe_gates(&self) -> Json {
        let (gates, measured) = (self.keeper.gates().seen(), self.keeper.gates().measured());
        let mut json = sight(&gates, &measured, &self.keeper.policy(), Instant::now());
        if let Some(object) = json.as_object_mut() {
            object.insert("waiting".to_owned(), json!(self.keeper.waiting()));
            object.insert("probe".to_owned(), json!(self.reloader.plan().probe.is_some()));
        }
        json
    }

    pub(super) fn describe_history(&self, name: &str) -> Reply {
        let gates = self.keeper.gates();
        let (Some(points), Some(gate)) =
            (gates.history(name), gates.seen().into_iter().find(|gate| *gate.settings.name == *name))
        else {
            return Err(self.no_such_gate(name));
        };
        let now = Instant::now();
        let points: Vec<Json> = points.iter().map(|point| point_json(point, now)).collect();
        Ok(json!({
            "gate": name,
            "metric": *gate.settings.metric,
            "unit": gate.settings.unit.as_str(),
            "threshold": gate.settings.threshold,
            "points": points,
        }))
    }

    fn no_such_gate(&self, name: &str) -> ControlError {
        let policy = self.keeper.policy();
        let names: Vec<String> = policy.gates.iter().map(|placed| placed.name().to_string()).collect();
        let message = match (policy.gates.off().any(|gate| *gate.settings.name == *name), names.is_empty()) {
            (true, _) => format!("the gate `{name}` is off, and has no history"),
            (false, true) => format!("there is no gate `{name}`: proxy.yaml has none"),
            (false, false) => format!("there is no gate `{name}`; there are {}", names.join(", ")),
        };
        ControlError { kind: ControlErrorKind::NotFound, message }
    }
}

/// Everything that is measured, and every gate.
fn sight(gates: &[GateSeen], measured: &Seen, policy: &Policy, now: Instant) -> Json {
    let planned = |seen: &GateSeen| policy.gates.iter().map(|placed| &placed.gate).find(|gate| is_of(gate, seen));
    let at_work = gates.iter().map(|seen| gate_json(seen, planned(seen), now));
    let off = policy.gates.off().map(off_json);
    let mut gates: Vec<Json> = at_work.chain(off).collect();
    gates.sort_by_key(|gate| gate["gate"].as_str().unwrap_or_default().to_owned());
    let older = measured.since(now);
    let latency =
        |class: &str, took: &Took| json!({ "of": class, "count": took.count, "p50": took.p50, "p99": took.p99 });
    let latencies = measured.latencies.iter().map(|(class, took)| latency(class.as_str(), took));
    let latencies: Vec<Json> = latencies.chain(measured.commits.iter().map(|took| latency("commit", took))).collect();
    json!({
        "gates": gates,
        "metrics": measured.metrics.iter().map(|metric| metric_json(metric, older)).collect::<Vec<Json>>(),
        "servers": measured.servers.iter().map(server_json).collect::<Vec<Json>>(),
        "latencies": latencies,
        "asleep": measured.asleep,
    })
}

fn is_of(gate: &Gate, seen: &GateSeen) -> bool {
    gate.settings.name == seen.settings.name
}

fn gate_json(seen: &GateSeen, planned: Option<&Gate>, now: Instant) -> Json {
    let settings = &seen.settings;
    let (value, unknown) = match seen.aggregate {
        Aggregate::Known(value) => (Some(value), None),
        Aggregate::Idle => (None, None),
        Aggregate::Unknown(why) => (None, Some(why)),
    };
    let (rate, permits) = match seen.flow {
        Flow::Open | Flow::Waking => (None, None),
        Flow::Paced(pace) => (Some(pace.transactions_a_second()), None),
        Flow::Trickle(rate) => (Some(rate), None),
        Flow::AtOnce(pool) => (None, Some(pool)),
    };
    json!({
        "gate": *settings.name,
        "metric": *settings.metric,
        "unit": settings.unit.as_str(),
        "value": value,
        "idle": seen.aggregate == Aggregate::Idle,
        "unknown": unknown.map(Unknown::as_str),
        "means": means(seen, unknown),
        "threshold": settings.threshold,
        "age_ms": seen.sampled.map(|at| millis(now.saturating_duration_since(at))),
        "state": seen.state.as_str(),
        "state_for_ms": seen.since.map(|since| millis(now.saturating_duration_since(since))),
        "flow": seen.flow.to_string(),
        "rate": rate,
        "permits": permits,
        "mode": seen.mode.as_str(),
        "control": settings.control.as_str(),
        "on_stale": settings.on_stale.as_str(),
        "classes": planned.map(classes),
        "everybody": planned.map(|gate| gate.matching.is_none()),
        "waiting": seen.waiting,
        "in_flight": seen.in_flight,
        "logins_stopped": seen.logins_stopped,
        "given_up": seen.given_up,
    })
}

/// What a person should know about its state.
fn means(seen: &GateSeen, unknown: Option<Unknown>) -> Option<String> {
    match (seen.state, unknown) {
        (State::GivenUp, _) => {
            Some("Closed for `max_closed` without getting better: it lets everything pass.".to_owned())
        }
        (State::Stale(why), _) => Some(format!("{} `on_stale: {}` is done.", why.means(), seen.settings.on_stale)),
        (State::Waking, _) => Some("It waits for a first sample.".to_owned()),
        (State::Open | State::Limiting | State::Closed, unknown) => unknown.map(|why| why.means().to_owned()),
    }
}

fn off_json(gate: &Gate) -> Json {
    let settings = &gate.settings;
    json!({
        "gate": *settings.name,
        "metric": *settings.metric,
        "unit": settings.unit.as_str(),
        "threshold": settings.threshold,
        "state": Mode::Off.as_str(),
        "mode": Mode::Off.as_str(),
        "control": settings.control.as_str(),
        "classes": classes(gate),
        "everybody": gate.matching.is_none(),
    })
}

fn classes(gate: &Gate) -> Vec<&'static str> {
    gate.classes.iter().map(|class| class.as_str()).chain(gate.logins.then_some("login")).collect()
}

fn metric_json(seen: &MetricSeen, older: Duration) -> Json {
    let (value, state, means) = match seen.reading {
        Reading::Value(value) => (Some(value), "known", None),
        Reading::Idle => (None, "idle", Some("There is no traffic to measure it on.")),
        Reading::Delayed => (None, "delayed", Some("A replica that is behind on purpose does not count.")),
        Reading::Unknown(why) => (None, why.as_str(), Some(why.means())),
    };
    json!({
        "metric": *seen.metric,
        "server": *seen.server,
        "unit": seen.unit.as_str(),
        "value": value,
        "state": state,
        "means": means,
        "age_ms": millis(seen.age + older),
    })
}

fn server_json(server: &ServerSeen) -> Json {
    json!({
        "server": *server.name,
        "role": server.role,
        "version": server.version,
        "read_only": server.read_only,
        "replication": server.replication,
    })
}

fn point_json(point: &Point, now: Instant) -> Json {
    let age = now.saturating_duration_since(point.since).as_secs_f64();
    json!({
        "age": (age * 10.0).round() / 10.0,
        "low": point.values.map(|values| values.low),
        "high": point.values.map(|values| values.high),
        "last": point.values.map(|values| values.last),
        "state": point.state.as_str(),
        "waiting": point.waiting,
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
