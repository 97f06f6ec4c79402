use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use relay::shared::Shared;
use serde_json::json;
use tokio::sync::Notify;

use crate::answer::{Answer, error};

/// Who may ask for the port, and what closes it.
#[derive(Debug, Clone)]
pub(crate) struct HandOver {
    pub(crate) shared: Arc<Shared>,
    pub(crate) close: Arc<Notify>,
}

/// `POST /hand-over`: a process that drains gives its HTTP port to its successor, which asks for it when it starts.
pub(crate) async fn hand_over(State(HandOver { shared, close }): State<HandOver>) -> Response {
    if !shared.is_draining() {
        return error(StatusCode::CONFLICT, "this proxy does not drain: stop it with SIGTERM first");
    }
    tracing::info!("the HTTP port goes to a successor");
    close.notify_one();
    Answer(Ok(json!({ "handed_over": true }))).into_response()
}
