use axum::extract::State;
use axum::http::StatusCode;

use crate::Sight;

/// Whether a load balancer should send clients here: not while draining, and not while the upstream is not reached.
pub(crate) async fn ready(State(Sight { shared, .. }): State<Sight>) -> (StatusCode, String) {
    if shared.is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned());
    }
    match shared.upstream.last_failure() {
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("the upstream cannot be reached: {why}\n")),
        None if shared.upstream.last_greeting().is_none() => {
            (StatusCode::SERVICE_UNAVAILABLE, "the upstream has not answered yet\n".to_owned())
        }
        None => (StatusCode::OK, "ready\n".to_owned()),
    }
}
