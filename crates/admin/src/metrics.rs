//! `GET /metrics`: everything that is counted, in Prometheus's text format.

mod clients;
mod gates;
mod policy;
mod text;

use std::time::Instant;

use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
use relay::counters::Counter;

use crate::Sight;
use text::{Kind, Text};

pub(crate) async fn metrics(State(sight): State<Sight>) -> ([(HeaderName, &'static str); 1], String) {
    let now = Instant::now();
    let mut text = Text::default();
    for &counter in Counter::ALL {
        let name = format!("{}_total", counter.name());
        text.about(Kind::Counter, &name, counter.help()).put(&[], sight.shared.counters.value(counter));
    }
    text.about(Kind::Gauge, "sessions", "Connections of clients, logged in or on their way.")
        .put(&[], sight.shared.registry.len());
    policy::put(&mut text, &sight.keeper, &sight.file);
    clients::put(&mut text, &sight.keeper);
    gates::put(&mut text, &sight.keeper, now);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text.into_string())
}

#[cfg(test)]
mod tests;
