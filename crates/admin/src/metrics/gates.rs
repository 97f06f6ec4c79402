//! Gates, and everything that is measured whether or not a gate is on it.

use std::time::Instant;

use admission::Gatekeeper;
use admission::gates::{GateSeen, Seen, Took};
use health::{Aggregate, Flow, Reading, State};
use rules::Mode;

use super::text::{Kind, Text};

pub(super) fn put(text: &mut Text, keeper: &Gatekeeper, now: Instant) {
    put_gates(text, &keeper.gates().seen(), now);
    put_measured(text, &keeper.gates().measured(), now);
}

/// Of one gate: the name of the metric, what it is, and its value where there is one.
type Figure = (Kind, &'static str, &'static str, fn(&GateSeen, Instant) -> Option<f64>);

const FIGURES: [Figure; 11] = [
    (Kind::Gauge, "gate_value", "The gate's metric, in its unit; absent while it is not known.", |gate, _| match gate
        .aggregate
    {
        Aggregate::Known(value) => Some(value),
        Aggregate::Idle | Aggregate::Unknown(_) => None,
    }),
    (Kind::Gauge, "gate_threshold", "Over it nothing passes but the trickle.", |gate, _| Some(gate.settings.threshold)),
    (Kind::Gauge, "gate_age_seconds", "Since the oldest of what the gate goes by was measured.", |gate, now| {
        gate.sampled.map(|at| now.saturating_duration_since(at).as_secs_f64())
    }),
    (Kind::Gauge, "gate_enforced", "1 for a gate that is enforced, 0 for one that only warns.", |gate, _| {
        Some(if gate.mode == Mode::Enforce { 1.0 } else { 0.0 })
    }),
    (Kind::Gauge, "gate_waiting", "Statements and transactions that wait at the gate.", |gate, _| {
        Some(gate.waiting as f64)
    }),
    (Kind::Gauge, "gate_in_flight", "Statements that the gate concerns and that run upstream.", |gate, _| {
        Some(gate.in_flight)
    }),
    (
        Kind::Gauge,
        "gate_rate",
        "Transactions a second that pass, while the gate sets a pace or is closed.",
        |gate, _| match gate.flow {
            Flow::Paced(pace) => Some(pace.transactions_a_second()),
            Flow::Trickle(rate) => Some(rate),
            Flow::Open | Flow::AtOnce(_) | Flow::Waking => None,
        },
    ),
    (Kind::Gauge, "gate_permits", "Statements that may run at once, while the gate limits that.", |gate, _| match gate
        .flow
    {
        Flow::AtOnce(pool) => Some(pool),
        Flow::Open | Flow::Paced(_) | Flow::Trickle(_) | Flow::Waking => None,
    }),
    (Kind::Gauge, "gate_state_seconds", "For how long its state has been what it is.", |gate, now| {
        gate.since.map(|since| now.saturating_duration_since(since).as_secs_f64())
    }),
    (Kind::Counter, "gate_logins_stopped_total", "Logins that the gate stopped, or would have.", |gate, _| {
        Some(gate.logins_stopped as f64)
    }),
    (
        Kind::Counter,
        "gate_given_up_total",
        "How often the gate was closed for max_closed without getting better, and let everything pass: look at it.",
        |gate, _| Some(gate.given_up as f64),
    ),
];

fn put_gates(text: &mut Text, gates: &[GateSeen], now: Instant) {
    for (kind, name, help, value) in FIGURES {
        let mut metric = text.about(kind, name, help);
        for gate in gates {
            if let Some(value) = value(gate, now) {
                metric.put(&[("gate", &gate.settings.name)], value);
            }
        }
    }
    let mut metric = text.about(Kind::Gauge, "gate_state", "1 for the state that the gate is in, 0 for the others.");
    for gate in gates {
        for state in State::WORDS {
            let is_it = u8::from(gate.state.as_str() == state);
            metric.put(&[("gate", &gate.settings.name), ("state", state)], is_it);
        }
    }
}

fn put_measured(text: &mut Text, measured: &Seen, now: Instant) {
    let older = measured.since(now);
    let mut metric = text.about(Kind::Gauge, "metric_value", "What a server said last, in the metric's unit.");
    for seen in &measured.metrics {
        if let Reading::Value(value) = seen.reading {
            metric.put(&[("metric", &seen.metric), ("server", &seen.server)], value);
        }
    }
    let mut metric = text.about(Kind::Gauge, "metric_unknown", "1 while a server cannot tell, and why.");
    for seen in &measured.metrics {
        if let Reading::Unknown(why) = seen.reading {
            metric.put(&[("metric", &seen.metric), ("server", &seen.server), ("why", why.as_str())], 1);
        }
    }
    let mut metric = text.about(Kind::Gauge, "metric_age_seconds", "Since a server last said anything of it.");
    for seen in &measured.metrics {
        let age = (seen.age + older).as_secs_f64();
        metric.put(&[("metric", &seen.metric), ("server", &seen.server)], age);
    }
    let mut metric = text.about(Kind::Gauge, "server_read_only", "1 for a server that takes no writes.");
    for server in &measured.servers {
        metric.put(&[("server", &server.name), ("role", &server.role)], u8::from(server.read_only));
    }
    let help = "How long statements that ended in the last second took upstream.";
    let mut metric = text.about(Kind::Gauge, "statement_latency_seconds", help);
    for (class, took) in &measured.latencies {
        for (quantile, value) in quantiles(took) {
            metric.put(&[("class", class.as_str()), ("quantile", quantile)], value);
        }
    }
    let help = "How long COMMITs, and statements that committed by themselves, took upstream in the last second.";
    let mut metric = text.about(Kind::Gauge, "commit_delay_seconds", help);
    for (quantile, value) in measured.commits.iter().flat_map(quantiles) {
        metric.put(&[("quantile", quantile)], value);
    }
    text.about(Kind::Gauge, "probes_asleep", "1 while there is no traffic, and the servers are asked rarely.")
        .put(&[], u8::from(measured.asleep));
}

fn quantiles(took: &Took) -> [(&'static str, f64); 2] {
    [("0.5", took.p50), ("0.99", took.p99)]
}
