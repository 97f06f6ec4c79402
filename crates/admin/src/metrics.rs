use std::fmt::Write;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use relay::counters::Counter;
use relay::shared::Shared;

/// Everything that is counted, in Prometheus's text format.
pub(crate) async fn metrics(
    State(shared): State<Arc<Shared>>,
) -> ([(axum::http::HeaderName, &'static str); 1], String) {
    let mut text = String::new();
    for &counter in Counter::ALL {
        let (name, help, value) = (counter.name(), counter.help(), shared.counters.value(counter));
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "# HELP tollgate_{name}_total {help}\n# TYPE tollgate_{name}_total counter\ntollgate_{name}_total {value}\n"
        );
    }
    let sessions = shared.registry.len();
    let _ = write!(
        text,
        "# HELP tollgate_sessions Connections of clients, logged in or on their way.\n# TYPE tollgate_sessions gauge\n\
         tollgate_sessions {sessions}\n"
    );
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
